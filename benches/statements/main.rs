//! What a checked write costs: this crate, hand-written Diesel and the C interface of SQLite side by side.
//!
//!     cargo bench -p diesel_occ_benches --bench statements [-- --quick] [WORKLOAD]..
//!
//! A harness of its own, since only ratios of one moment mean anything: the sides take turns in batches of a millisecond,
//! where Criterion would measure one after the other while the machine drifts. It needs nothing else to be built. A bar that
//! is missed is printed, and decides nothing: the exit code is 0 all the same.
//!
//! With `OCC_BENCH_ROWID` in the environment the key of the table is an `INTEGER PRIMARY KEY`, where C has least to do.
//!
//! `in_tx` is a connection in Diesel's `transaction`, `in_transact` a `Tx` in our `transact`, both in memory; `durable` is
//! a file, each statement committed by itself.

#[path = "../support/c.rs"]
mod c;
#[path = "../support/product.rs"]
mod product;
#[path = "../support/report.rs"]
mod report;

mod by_hand;
mod in_c;
mod measure;
mod ours;
mod prepares;
mod text;
mod work;

use by_hand::ByHand;
use diesel::connection::SimpleConnection;
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{Integer, Text};
use diesel::sqlite::SqliteConnection;
use diesel_occ::{Retry, VersionedConnection};
use in_c::InC;
use measure::{Plan, Side, interleaved};
use ours::Ours;
use prepares::{Count, watched};
use report::{Bar, Report, Scale, median, spread};
use work::{Workload, create};

const DURABLE: &str = "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL";

/// How much is run where a commit costs nothing, and where it costs a write to the disk.
fn plans(scale: Scale) -> (Plan, Plan) {
    let plan = |rounds, passes, batch| Plan {
        rounds,
        passes,
        batch,
    };
    match scale {
        Scale::Full => (plan(15, 40, 100), plan(15, 10, 5)),
        Scale::Quick => (plan(9, 40, 100), plan(7, 6, 4)),
        Scale::Smoke => (plan(1, 2, 10), plan(1, 2, 1)),
    }
}

fn main() {
    let (scale, names) = Scale::from_args();
    let known = |name: &String| Workload::ALL.iter().any(|work| work.name() == name);
    if let Some(unknown) = names.iter().find(|name| !known(name)) {
        let all = Workload::ALL.map(Workload::name).join(" ");
        eprintln!("no workload {unknown}; there are {all}, and --quick");
        std::process::exit(2);
    }
    let workloads: Vec<_> = Workload::ALL
        .into_iter()
        .filter(|work| names.is_empty() || names.iter().any(|name| name == work.name()))
        .collect();
    let (fast, slow) = plans(scale);
    let folder = tempfile::tempdir().expect("a folder");

    report::print_machine(&format!("sqlite {}", c::version()));
    let key = if work::rowid_is_key() {
        "INTEGER"
    } else {
        "BIGINT"
    };
    println!("id {key} PRIMARY KEY");
    println!(
        "in_tx, in_transact: {}, rounds of {} batches of {}",
        settings(&mut open(":memory:", "")),
        fast.passes,
        fast.batch
    );
    println!(
        "durable: {}, in {}, rounds of {} batches of {}\n",
        settings(&mut open(&file(&folder, "settings"), DURABLE)),
        std::env::temp_dir().display(),
        slow.passes,
        slow.batch
    );

    let mut report = Report::new(scale);
    in_a_transaction(fast, &workloads, &mut report);
    durable(slow, &workloads, &folder, &mut report);
    count_prepares(&workloads, &folder, &mut report);
    report.end();
}

fn file(folder: &tempfile::TempDir, name: &str) -> String {
    let path = folder.path().join(name).with_extension("db");
    path.to_str().expect("a path in UTF-8").to_owned()
}

fn open(path: &str, settings: &str) -> SqliteConnection {
    let mut conn = SqliteConnection::establish(path).expect("a connection");
    conn.batch_execute(settings).expect("settings");
    conn.batch_execute(&create()).expect("a table");
    conn
}

/// As the connection answers them, not as it was told.
fn settings(conn: &mut SqliteConnection) -> String {
    let journal: String = sql::<Text>("PRAGMA journal_mode")
        .get_result(conn)
        .expect("a journal mode");
    let synchronous: i32 = sql::<Integer>("PRAGMA synchronous")
        .get_result(conn)
        .expect("a synchronous mode");
    let synchronous = ["off", "normal", "full", "extra"]
        .get(usize::try_from(synchronous).expect("a mode"))
        .expect("a known mode");
    format!("journal {journal}, synchronous {synchronous}")
}

/// Opens a transaction on both connections and runs the work in the two at once.
fn within<T>(
    plain: &mut SqliteConnection,
    hand: &mut SqliteConnection,
    work: impl FnOnce(&mut SqliteConnection, &mut SqliteConnection) -> T,
) -> T {
    plain
        .transaction(|plain| hand.transaction(|hand| QueryResult::Ok(work(plain, hand))))
        .expect("a transaction")
}

fn in_a_transaction(plan: Plan, workloads: &[Workload], report: &mut Report) {
    let [mut plain, mut managed, mut hand] = [(); 3].map(|()| open(":memory:", ""));
    let mut c = InC::new(":memory:", "");
    c.db.batch("BEGIN");
    within(&mut plain, &mut hand, |plain, hand| {
        let done = managed.transact(&Retry::never(), |tx| -> diesel_occ::Result<()> {
            let (mut plain, mut tx) = (Ours::new(plain), Ours::new(tx));
            let mut hand = ByHand::new(hand);
            for &workload in workloads {
                let sides: &mut [Side<'_>] = &mut [
                    &mut |times| workload.run(&mut plain, times),
                    &mut |times| workload.run(&mut tx, times),
                    &mut |times| workload.run(&mut hand, times),
                    &mut |times| workload.run(&mut c, times),
                ];
                let figures = interleaved(plan, sides);
                let [plain, tx, hand, c] = &figures[..] else {
                    unreachable!("a figure for each side")
                };
                for (setting, ours) in [("in_tx", plain), ("in_transact", tx)] {
                    compare(report, workload, setting, ours, hand, c);
                }
            }
            Ok(())
        });
        done.expect("a transaction");
    });
    c.db.batch("COMMIT");
}

fn durable(plan: Plan, workloads: &[Workload], folder: &tempfile::TempDir, report: &mut Report) {
    let mut ours = open(&file(folder, "ours"), DURABLE);
    let mut hand = open(&file(folder, "hand"), DURABLE);
    let mut c = InC::new(&file(folder, "c"), DURABLE);
    let (mut ours, mut hand) = (Ours::new(&mut ours), ByHand::new(&mut hand));
    for &workload in workloads {
        let sides: &mut [Side<'_>] = &mut [
            &mut |times| workload.run(&mut ours, times),
            &mut |times| workload.run(&mut hand, times),
            &mut |times| workload.run(&mut c, times),
        ];
        let figures = interleaved(plan, sides);
        let [ours, hand, c] = &figures[..] else {
            unreachable!("a figure for each side")
        };
        compare(report, workload, "durable", ours, hand, c);
    }
}

/// The bars: against hand-written Diesel, and against C.
fn bars(workload: Workload, setting: &str) -> (Option<Bar>, Option<Bar>) {
    match (workload, setting) {
        (_, "durable") => (None, None),
        (Workload::CheckedUpdate, _) => (Some(0.0..=0.6), Some(0.0..=2.2)),
        (Workload::Save, _) => (None, Some(0.0..=1.8)),
        _ => (None, None),
    }
}

fn compare(
    report: &mut Report,
    workload: Workload,
    setting: &str,
    ours: &[f64],
    hand: &[f64],
    c: &[f64],
) {
    let (to_hand, to_c) = bars(workload, setting);
    for (name, theirs, bar) in [("diesel", hand, to_hand), ("c", c, to_c)] {
        let ratios: Vec<f64> = ours.iter().zip(theirs).map(|(a, b)| a / b).collect();
        let text = format!(
            "{}/sqlite/{setting} ours {:.2} us {name} {:.2} us ratio {}",
            workload.name(),
            median(ours),
            median(theirs),
            spread(&ratios),
        );
        report.line(&text, median(&ratios), bar);
    }
}

/// In steady state: each row has been written once, and the statements are where they stay.
fn count_prepares(workloads: &[Workload], folder: &tempfile::TempDir, report: &mut Report) {
    const TIMES: usize = 200;
    let [mut plain, mut managed, mut hand] = watched(|| [(); 3].map(|()| open(":memory:", "")));
    let mut durable = watched(|| open(&file(folder, "prepares"), "PRAGMA synchronous = OFF"));
    let mut durable = Ours::new(&mut durable);

    /// Runs the work once before it counts.
    macro_rules! count {
        ($side:expr, $workload:expr) => {{
            $workload.run(&mut $side, TIMES / 2);
            let count = Count::default();
            $side.conn.set_instrumentation(count.clone());
            $workload.run(&mut $side, TIMES);
            count
        }};
    }

    within(&mut plain, &mut hand, |plain, hand| {
        let done = managed.transact(&Retry::never(), |tx| -> diesel_occ::Result<()> {
            let (mut plain, mut tx) = (Ours::new(plain), Ours::new(tx));
            let mut hand = ByHand::new(hand);
            for workload in workloads {
                let hand = count!(hand, workload);
                for (setting, ours) in [
                    ("in_tx", count!(plain, workload)),
                    ("in_transact", count!(tx, workload)),
                    ("durable", count!(durable, workload)),
                ] {
                    let text = format!(
                        "{}/sqlite/{setting} prepares ours {} of {} diesel {} of {}",
                        workload.name(),
                        ours.prepares(),
                        ours.queries(),
                        hand.prepares(),
                        hand.queries()
                    );
                    report.line(&text, ours.prepares() as f64, Some(0.0..=0.0));
                }
            }
            Ok(())
        });
        done.expect("a transaction");
    });
}
