//! Eight workers on one row, threads and processes: nothing may be lost, nobody may give up, and the rate is held against the
//! better of two programs in C that try again at once, that of a locked read against one that locks. The bars are for `modify`,
//! which does the same statements.

use crate::figures::{Figures, Runs};
use crate::fleet::{WORKERS, processes, threads};
use crate::report::{Bar, Report, Scale, median, spread};
use crate::server::{Place, STOCK, Server};
use crate::worker::{Order, Side};
use diesel::prelude::*;
use diesel::sql_types::BigInt;
use std::time::Duration;

const AT_LEAST_HALF: Bar = 0.5..=f64::INFINITY;
const NONE: Bar = 0.0..=0.0;

/// What the rate of a `modify` is to be of that of C.
fn rate(server: Server, side: Side) -> Bar {
    match server {
        _ if side.locks() => 0.9..=f64::INFINITY,
        Server::Postgres => 1.2..=f64::INFINITY,
        Server::Mysql => 0.9..=f64::INFINITY,
    }
}

pub fn run(place: &Place, sides: &[Side], scale: Scale, durable: bool, report: &mut Report) {
    let (runs, time) = match scale {
        Scale::Full => (9, 1_000),
        Scale::Quick => (1, 500),
        Scale::Smoke => (1, 30),
    };
    let setting = if durable { "durable" } else { "not_durable" };
    for with_processes in [false, true] {
        let mut figures: Vec<_> = sides.iter().map(|_| Runs(Vec::new())).collect();
        for run in 0..runs {
            for turn in 0..sides.len() {
                let side = if run % 2 == 0 {
                    turn
                } else {
                    sides.len() - 1 - turn
                };
                let order = Order {
                    side: sides[side],
                    url: place.url.clone(),
                    time: Duration::from_millis(time),
                };
                figures[side].0.push(one_run(place, &order, with_processes));
            }
        }
        let workers = if with_processes {
            "processes"
        } else {
            "threads"
        };
        let name = format!("hot/{}/{WORKERS}_{workers}/{setting}", place.server.name());
        tell(report, place.server, durable, &name, sides, &figures);
    }
}

fn one_run(place: &Place, order: &Order, with_processes: bool) -> Figures {
    place.fill(1, STOCK);
    let tallies = match with_processes {
        true => processes(order),
        false => threads(order),
    };
    let (left, version) = row(place);
    Figures::of(&tallies, i64::from(STOCK) - left, version)
}

#[derive(QueryableByName)]
struct Row {
    #[diesel(sql_type = BigInt)]
    stock: i64,
    #[diesel(sql_type = BigInt)]
    version: i64,
}

fn row(place: &Place) -> (i64, i64) {
    let row: Row = match place.server {
        Server::Postgres => {
            let mut conn = PgConnection::establish(&place.url).expect("PostgreSQL");
            let sql = "SELECT stock::bigint AS stock, version FROM products";
            diesel::sql_query(sql).get_result(&mut conn)
        }
        Server::Mysql => {
            let mut conn = MysqlConnection::establish(&place.url).expect("MariaDB");
            let sql = "SELECT CAST(stock AS SIGNED) AS stock, version FROM products";
            diesel::sql_query(sql).get_result(&mut conn)
        }
    }
    .expect("the row");
    (row.stock, row.version)
}

fn tell(
    report: &mut Report,
    server: Server,
    durable: bool,
    name: &str,
    sides: &[Side],
    figures: &[Runs],
) {
    let of = |runs: &Runs| runs.median(|run| run.rate);
    let best_in_c = |locks: bool| {
        sides
            .iter()
            .copied()
            .zip(figures)
            .filter(|(side, _)| !side.is_ours() && side.locks() == locks)
            .max_by(|(_, a), (_, b)| of(a).total_cmp(&of(b)))
    };
    for (side, runs) in sides.iter().copied().zip(figures) {
        let start = format!("{name} {} {:.0}/s", side.name(), of(runs));
        let (lost, exhausted) = (runs.most(|run| run.lost), runs.most(|run| run.exhausted));
        if !side.is_ours() {
            let text = format!("{start} {} lost {lost}", runs.shares());
            report.line(&text, 0.0, None);
            continue;
        }
        let Some((better, theirs)) = best_in_c(side.locks()) else {
            report.line(&format!("{start} {}", runs.shares()), 0.0, None);
            continue;
        };
        let ratios: Vec<f64> = runs
            .each(|run| run.rate)
            .into_iter()
            .zip(theirs.each(|run| run.rate))
            .map(|(ours, theirs)| ours / theirs)
            .collect();
        let text = format!(
            "{start} {} {:.0}/s ratio {}",
            better.name(),
            of(theirs),
            spread(&ratios)
        );
        let is_modify = matches!(side, Side::Modify | Side::Pessimistic);
        let bar = (durable && is_modify).then(|| rate(server, side));
        report.line(&text, median(&ratios), bar);
        let least = runs.median(|run| run.least);
        let text = format!("{start} {}", runs.shares());
        report.line(&text, least, durable.then_some(AT_LEAST_HALF));
        let text = format!("{start} lost {lost} exhausted {exhausted}");
        report.line(&text, lost + exhausted, Some(NONE));
    }
}
