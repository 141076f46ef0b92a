//! What happens on one row that everybody wants: eight workers sell one product, a piece at a time.
//!
//!     cargo bench -p diesel_occ_benches --bench contention [-- --quick] [--busy-timeout MS] [SIDE]..
//!
//! Nothing may be lost and nobody may give up; the worker that was served least is to get half of an eighth, and the rate to
//! be 0.7 of the better of two programs in C, which wait in SQLite's busy handler; of a locked read, of the one that locks. Sides take turns, in the reverse order
//! each other run; figures are medians of the runs. A bar that is missed is printed, and decides nothing.
//!
//! `--busy-timeout` is that of our sides: by default none for `modify`, and 5 s for the others and for the programs in C.

#[path = "../support/c.rs"]
mod c;
#[path = "../support/product.rs"]
mod product;
#[path = "../support/report.rs"]
mod report;

mod figures;
mod fleet;
mod selling;
mod worker;

use figures::{Figures, Runs};
use fleet::{WORKERS, be_a_worker, processes, threads};
use report::{Bar, Report, Scale, median, spread};
use std::time::Duration;
use worker::{Order, Side};

const AT_LEAST_HALF: Bar = 0.5..=f64::INFINITY;
const RATE: Bar = 0.7..=f64::INFINITY;
const NONE: Bar = 0.0..=0.0;

/// What is sold in the cases that end by time.
const PLENTY: u64 = 2_000_000_000;

struct Case {
    processes: bool,
    durable: bool,
    /// Until sold out; else until the time is up.
    pieces: Option<u64>,
    time: Duration,
}

impl Case {
    fn all(scale: Scale) -> Vec<Case> {
        let (pieces, durable_time, time) = match scale {
            Scale::Full => (2_000, 2_000, 1_000),
            Scale::Quick => (200, 400, 200),
            Scale::Smoke => (40, 20, 20),
        };
        let mut cases = Vec::new();
        for durable in [true, false] {
            for pieces in [Some(pieces), None] {
                for processes in [false, true] {
                    let time = match pieces {
                        Some(_) => Duration::from_secs(60),
                        None => Duration::from_millis(if durable { durable_time } else { time }),
                    };
                    cases.push(Case {
                        processes,
                        durable,
                        pieces,
                        time,
                    });
                }
            }
        }
        cases
    }

    fn name(&self) -> String {
        let workers = if self.processes {
            "processes"
        } else {
            "threads"
        };
        let synchronous = if self.durable { "full" } else { "normal" };
        let end = match self.pieces {
            Some(pieces) => format!("{pieces}_pieces"),
            None => format!("{}_ms", self.time.as_millis()),
        };
        format!("hot/sqlite/{WORKERS}_{workers}/{synchronous}/{end}")
    }

    /// Whether rate and shares mean anything: a few hundred pieces, or a few thousand without a write to the disk, are gone
    /// before the workers have met.
    fn is_long_enough(&self) -> bool {
        self.pieces
            .is_none_or(|pieces| self.durable && pieces >= 2_000)
    }

    fn run(&self, side: Side, busy_timeout: Option<Duration>) -> Figures {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("shop.db");
        let path = path.to_str().expect("a path in UTF-8").to_owned();
        let db = c::Database::open(&path);
        let stock = self.pieces.unwrap_or(PLENTY);
        db.batch("PRAGMA journal_mode = WAL");
        db.batch(product::CREATE);
        db.batch(&format!(
            "INSERT INTO products (id, name, stock) VALUES (1, 'tea', {stock})"
        ));
        let order = Order {
            side,
            path,
            durable: self.durable,
            busy_timeout: match side {
                // As the guide advises for a hot row: with a busy handler `modify` waits in it.
                Side::Modify => busy_timeout.unwrap_or(Duration::ZERO),
                side if side.is_ours() => busy_timeout.unwrap_or(BUSY_TIMEOUT),
                _ => BUSY_TIMEOUT,
            },
            time: self.time,
        };
        let tallies = if self.processes {
            processes(&order)
        } else {
            threads(&order)
        };
        let mut row = db.prepare("SELECT stock, version FROM products");
        row.step();
        let (left, version) = (row.integer(0), row.integer(1));
        drop(row);
        let sold = i64::try_from(stock).expect("a stock") - left;
        Figures::of(&tallies, sold, version)
    }
}

const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.first().is_some_and(|arg| arg == fleet::WORKER) {
        return be_a_worker(&args[1..]);
    }
    let (scale, rest) = Scale::from_args();
    let (busy_timeout, chosen) = options(&rest).unwrap_or_else(|wrong| {
        let all = Side::ALL.map(Side::name).join(" ");
        eprintln!("{wrong}; there are --quick, --busy-timeout MS, and the sides {all}");
        std::process::exit(2);
    });
    let runs = match scale {
        Scale::Full => 5,
        Scale::Quick | Scale::Smoke => 1,
    };

    report::print_machine(&format!("sqlite {}", c::version()));
    let ours = match busy_timeout {
        Some(time) => format!("{time:?}"),
        None => format!("{BUSY_TIMEOUT:?}, none for modify"),
    };
    println!(
        "journal wal, in {}; busy timeout of ours {ours}, in C {BUSY_TIMEOUT:?}; {runs} runs\n",
        std::env::temp_dir().display()
    );
    let mut report = Report::new(scale);
    for case in Case::all(scale) {
        let mut figures: Vec<_> = chosen.iter().map(|_| Runs(Vec::new())).collect();
        for run in 0..runs {
            for turn in 0..chosen.len() {
                let side = if run % 2 == 0 {
                    turn
                } else {
                    chosen.len() - 1 - turn
                };
                figures[side].0.push(case.run(chosen[side], busy_timeout));
            }
        }
        tell(&mut report, &case, &chosen, &figures);
    }
    report.end();
}

/// The busy timeout of ours, and the sides.
fn options(args: &[String]) -> Result<(Option<Duration>, Vec<Side>), String> {
    let (mut busy_timeout, mut chosen) = (None, Vec::new());
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        if arg == "--busy-timeout" {
            let milliseconds = args.next().and_then(|text| text.parse().ok());
            let milliseconds: u64 = milliseconds.ok_or("--busy-timeout needs milliseconds")?;
            busy_timeout = Some(Duration::from_millis(milliseconds));
        } else {
            chosen.push(Side::named(arg).ok_or_else(|| format!("{arg} is no side"))?);
        }
    }
    if chosen.is_empty() {
        chosen = Side::ALL.to_vec();
    }
    Ok((busy_timeout, chosen))
}

fn tell(report: &mut Report, case: &Case, sides: &[Side], figures: &[Runs]) {
    let name = case.name();
    let best_in_c = |side: Side| {
        let in_c = sides.iter().copied().zip(figures);
        in_c.filter(|(known, _)| !known.is_ours() && (!side.locks() || known.locks()))
            .max_by(|(_, a), (_, b)| {
                a.median(|run| run.rate)
                    .total_cmp(&b.median(|run| run.rate))
            })
    };
    for (side, runs) in sides.iter().copied().zip(figures) {
        let (rate, lost) = (runs.median(|run| run.rate), runs.most(|run| run.lost));
        let (side_name, exhausted) = (side.name(), runs.most(|run| run.exhausted));
        let start = format!("{name} {side_name}");
        if !side.is_ours() {
            let shares = runs.shares();
            let text = format!("{start} {rate:.0}/s {shares} lost {lost} exhausted {exhausted}");
            report.line(&text, 0.0, None);
            continue;
        }
        if let Some((better, theirs)) = best_in_c(side) {
            let ratios: Vec<f64> = runs
                .each(|run| run.rate)
                .into_iter()
                .zip(theirs.each(|run| run.rate))
                .map(|(ours, theirs)| ours / theirs)
                .collect();
            let text = format!(
                "{start} {rate:.0}/s {} {:.0}/s ratio {}",
                better.name(),
                theirs.median(|run| run.rate),
                spread(&ratios)
            );
            report.line(
                &text,
                median(&ratios),
                case.is_long_enough().then_some(RATE),
            );
        }
        let least = runs.median(|run| run.least);
        let bar = case.is_long_enough().then_some(AT_LEAST_HALF);
        report.line(&format!("{start} {}", runs.shares()), least, bar);
        let text = format!("{start} lost {lost} exhausted {exhausted}");
        report.line(&text, lost + exhausted, Some(NONE));
    }
}
