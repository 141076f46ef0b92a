//! Optimistic or pessimistic: the same sale in each mode, over points of contention that differ in how many rows are wanted
//! and how long the work between reading and writing takes.
//!
//!     tests/with-servers --durable cargo bench -p diesel_occ_server_benches --bench choice [-- --quick]
//!
//! Eight processes each; figures are sales a second, medians of the runs, and the least served worker's part of an even share.
//! There is no bar: the table of the guide comes from here. What no mode may do is lose a sale.

#[path = "../../contention/figures.rs"]
mod figures;
#[allow(dead_code, reason = "here every worker is a process")]
#[path = "../../contention/fleet.rs"]
mod fleet;
#[path = "../../support/product.rs"]
mod product;
#[path = "../../support/report.rs"]
mod report;
#[allow(dead_code, reason = "here no program in C sells")]
#[path = "../../contention/selling.rs"]
mod selling;

mod place;
mod worker;

use figures::{Figures, Runs};
use fleet::{WORKERS, processes};
use place::Place;
use report::{Bar, Report, Scale, print_machine};
use std::time::Duration;
use worker::{Order, Side};

/// How much is wanted at once: rows, and milliseconds of work between reading and writing.
const POINTS: [(u32, u64); 6] = [(1, 0), (1, 2), (1, 20), (100, 0), (100, 2), (10_000, 0)];

const NONE: Bar = 0.0..=0.0;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.first().is_some_and(|arg| arg == fleet::WORKER) {
        return fleet::be_a_worker(&args[1..]);
    }
    let (scale, rest) = Scale::from_args();
    if !rest.is_empty() {
        eprintln!("{rest:?}: there is --quick, and nothing else");
        std::process::exit(2);
    }
    let (runs, time) = match scale {
        Scale::Full => (5, 1_000),
        Scale::Quick => (1, 300),
        Scale::Smoke => (1, 30),
    };
    let mut report = Report::new(scale);
    for place in Place::all() {
        print_machine(&place.settings());
        for (rows, think) in POINTS {
            let mut figures = Side::ALL.map(|_| Runs(Vec::new()));
            for run in 0..runs {
                for turn in 0..Side::ALL.len() {
                    let side = (turn + run) % Side::ALL.len();
                    let order = Order {
                        side: Side::ALL[side],
                        url: place.url().to_owned(),
                        rows,
                        think: Duration::from_millis(think),
                        time: Duration::from_millis(time),
                    };
                    figures[side].0.push(one_run(&place, &order));
                }
            }
            for (side, runs) in Side::ALL.into_iter().zip(&figures) {
                let name = format!(
                    "choice/{}/{WORKERS}_processes/{rows}_rows/{think}_ms {}",
                    place.name(),
                    side.name()
                );
                let rate = runs.median(|run| run.rate);
                let (lost, exhausted) = (runs.most(|run| run.lost), runs.most(|run| run.exhausted));
                let text = format!(
                    "{name} {rate:.0}/s {} lost {lost} exhausted {exhausted}",
                    runs.shares()
                );
                report.line(&text, lost, Some(NONE));
            }
        }
        println!();
    }
    report.end();
}

fn one_run(place: &Place, order: &Order) -> Figures {
    place.fill(order.rows);
    let tallies = processes(order);
    let (sold, versions) = place.sold();
    Figures::of(&tallies, sold, versions)
}
