//! One worker: what a statement costs in an open transaction, and what `modify` and `transact` cost on a durable server.

use crate::floor::Floor;
use crate::libmariadb::Libmariadb;
use crate::libpq::Libpq;
use crate::measure::{self, Plan, interleaved};
use crate::product::Product;
use crate::report::{Bar, Report, Scale, median, spread};
use crate::server::{Place, ROWS, STOCK, Server};
use crate::sides::{ByHand, InC, InCAlone, Ours, Rows, Side};
use diesel::connection::Connection;
use diesel::{MysqlConnection, PgConnection};

/// One way to do the work, with its name.
type Way = (&'static str, Box<dyn FnMut(usize)>);

/// A side on rows of its own: the first one says which.
fn way<S: Side + 'static>(name: &'static str, mut side: S, first: i64, work: Work<S>) -> Way {
    let mut rows = Rows::from(first);
    let repeat = move |times| (0..times).for_each(|_| work(&mut side, rows.next()));
    (name, Box::new(repeat))
}

type Work<S> = fn(&mut S, &mut Product);

pub fn run(place: &Place, scale: Scale, durable: bool, report: &mut Report) {
    match place.server {
        Server::Postgres => measure::<PgConnection, Libpq>(place, scale, durable, report),
        Server::Mysql => measure::<MysqlConnection, Libmariadb>(place, scale, durable, report),
    }
}

fn measure<C, F>(place: &Place, scale: Scale, durable: bool, report: &mut Report)
where
    C: Connection + 'static,
    F: Floor + 'static,
    Ours<C>: Side,
    ByHand<C>: Side,
{
    let plan = |batch| {
        let (rounds, passes) = match scale {
            Scale::Full => (15, 10),
            Scale::Quick => (5, 4),
            Scale::Smoke => (1, 2),
        };
        Plan {
            rounds,
            passes,
            batch,
        }
    };
    let connect = || C::establish(&place.url).expect("a connection");
    let begun = || {
        let mut conn = connect();
        conn.begin_test_transaction().expect("a transaction");
        conn
    };
    let floor = || F::connect(&place.url);
    let floor_begun = || {
        let mut floor = floor();
        floor.batch("BEGIN");
        floor
    };

    let update = || {
        [
            way("ours", Ours(begun()), 0, Side::checked_update),
            way("diesel", ByHand(begun()), ROWS, Side::checked_update),
            way("c", InC(floor_begun()), 2 * ROWS, Side::checked_update),
        ]
    };
    compare(
        report,
        place,
        "checked_update/in_tx",
        plan(100),
        update,
        &[Some(0.0..=0.6), None],
    );
    let save = || {
        [
            way("ours", Ours(begun()), 0, Side::save),
            way("diesel", ByHand(begun()), ROWS, Side::save),
            way("c", InC(floor_begun()), 2 * ROWS, Side::save),
        ]
    };
    compare(report, place, "save/in_tx", plan(100), save, &[None, None]);

    // At least 0.9 of the rate of C is at most 1 / 0.9 of its time.
    let (setting, rate) = match durable {
        true => ("durable", Some(0.0..=1.0 / 0.9)),
        false => ("not durable", None),
    };
    let modify = || {
        [
            way("ours", Ours(connect()), 0, Side::modify),
            way("diesel", ByHand(connect()), ROWS, Side::modify),
            way("c", InC(floor()), 2 * ROWS, Side::modify),
            way("c_alone", InCAlone(floor()), 3 * ROWS, Side::modify),
        ]
    };
    compare(
        report,
        place,
        &format!("modify/{setting}"),
        plan(40),
        modify,
        &[None, rate, None],
    );
    let transact = || {
        [
            way("ours", Ours(connect()), 0, Side::transact),
            way("diesel", ByHand(connect()), ROWS, Side::transact),
            way("c", InC(floor()), 2 * ROWS, Side::transact),
        ]
    };
    compare(
        report,
        place,
        &format!("transact/{setting}"),
        plan(40),
        transact,
        &[None, None],
    );
    let locked = || {
        [
            way("ours", Ours(connect()), 0, Side::locked),
            way("diesel", ByHand(connect()), ROWS, Side::locked),
            way("c", InC(floor()), 2 * ROWS, Side::locked),
        ]
    };
    compare(
        report,
        place,
        &format!("locked/{setting}"),
        plan(40),
        locked,
        &[None, None],
    );
}

/// Ours, the first one, against each of the others; with a bar for each of these. The ways are made when the table is there,
/// and are gone with their transactions before the next ones.
fn compare<const N: usize>(
    report: &mut Report,
    place: &Place,
    name: &str,
    plan: measure::Plan,
    ways: impl FnOnce() -> [Way; N],
    bars: &[Option<Bar>],
) {
    place.fill(4 * ROWS, STOCK);
    let mut ways = ways();
    let mut sides: Vec<measure::Side<'_>> = Vec::new();
    let names = ways.each_ref().map(|(name, _)| *name);
    for (_, way) in &mut ways {
        sides.push(way);
    }
    let figures = interleaved(plan, &mut sides);
    let ours = &figures[0];
    for ((name_of_other, theirs), bar) in names.iter().zip(&figures).skip(1).zip(bars) {
        let ratios: Vec<f64> = ours.iter().zip(theirs).map(|(a, b)| a / b).collect();
        let text = format!(
            "{name}/{} ours {:.1} us {name_of_other} {:.1} us ratio {}",
            place.server.name(),
            median(ours),
            median(theirs),
            spread(&ratios)
        );
        report.line(&text, median(&ratios), bar.clone());
    }
}
