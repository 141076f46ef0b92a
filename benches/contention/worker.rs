//! One worker: sells the one product, a piece at a time, until it is sold out or the time is up.

use crate::c::{Database, Statement};
use crate::product::{Product, products};
use crate::selling::{Conflicts, Refused, Sale, Tally, sell_all, take_one};
use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;
use diesel_occ::sqlite::{Setup, Synchronous};
use diesel_occ::{Mode, Retry, Versioned, VersionedConnection};
use libsqlite3_sys::SQLITE_ROW;
use std::time::Duration;

/// A way to sell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Modify,
    Transact,
    GuardedUpdate,
    Pessimistic,
    /// In C: SELECT and UPDATE, each committed by itself.
    CAutocommit,
    /// In C: the same between BEGIN IMMEDIATE and COMMIT.
    CImmediate,
}

impl Side {
    pub const ALL: [Side; 6] = [
        Side::Modify,
        Side::Transact,
        Side::GuardedUpdate,
        Side::Pessimistic,
        Side::CAutocommit,
        Side::CImmediate,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Side::Modify => "modify",
            Side::Transact => "transact",
            Side::GuardedUpdate => "guarded_update",
            Side::Pessimistic => "pessimistic",
            Side::CAutocommit => "c_autocommit",
            Side::CImmediate => "c_immediate",
        }
    }

    pub fn named(name: &str) -> Option<Side> {
        Side::ALL.into_iter().find(|side| side.name() == name)
    }

    /// Whether it reads with the lock of the database, and is asked to.
    pub fn locks(self) -> bool {
        matches!(self, Side::Pessimistic | Side::CImmediate)
    }

    pub fn is_ours(self) -> bool {
        !matches!(self, Side::CAutocommit | Side::CImmediate)
    }
}

/// What a worker is told.
#[derive(Debug, Clone)]
pub struct Order {
    pub side: Side,
    pub path: String,
    pub durable: bool,
    pub busy_timeout: Duration,
    /// It begins no sale after that time.
    pub time: Duration,
}

impl Order {
    /// For a process that is a worker.
    pub fn to_args(&self) -> Vec<String> {
        vec![
            self.side.name().to_owned(),
            self.path.clone(),
            self.durable.to_string(),
            self.busy_timeout.as_millis().to_string(),
            self.time.as_millis().to_string(),
        ]
    }

    pub fn from_args(args: &[String]) -> Self {
        let [side, path, durable, busy_timeout, time] = args else {
            panic!("a worker was told {args:?}")
        };
        let milliseconds = |text: &str| Duration::from_millis(text.parse().expect("a number"));
        Order {
            side: Side::named(side).expect("a side"),
            path: path.clone(),
            durable: durable == "true",
            busy_timeout: milliseconds(busy_timeout),
            time: milliseconds(time),
        }
    }
}

/// Gets ready, and sells when `start` has returned.
pub fn work(order: &Order, start: impl FnOnce()) -> Tally {
    if order.side.is_ours() {
        work_with_us(order, start)
    } else {
        work_in_c(order, start)
    }
}

fn work_with_us(order: &Order, start: impl FnOnce()) -> Tally {
    let mut conn = SqliteConnection::establish(&order.path).expect("a connection");
    let synchronous = match order.durable {
        true => Synchronous::Full,
        false => Synchronous::Normal,
    };
    Setup::default()
        .synchronous(synchronous)
        .busy_timeout(order.busy_timeout)
        .apply(&mut conn)
        .expect("settings");
    let conflicts = Conflicts::default();
    let retry = Retry::default().observer(conflicts.clone());
    start();
    let mut tally = sell_all(order.time, || {
        let sold = match order.side {
            Side::Transact => conn.transact(&retry, |tx| {
                let mut product = tx.fetch::<Product>(1)?;
                take_one(&mut product)?;
                tx.save(&product)?;
                Ok(())
            }),
            Side::GuardedUpdate => {
                let taken = products::stock.eq(products::stock - 1);
                // In a transaction, so that it waits for the lock by our own tries.
                conn.transact(&retry, |tx| {
                    tx.guarded_update(Product::key(1), products::stock.ge(1), taken)
                })
                .map_err(Refused::from)
            }
            _ => {
                let mode = match order.side {
                    Side::Pessimistic => Mode::pessimistic(),
                    _ => Mode::optimistic(),
                };
                let mode = mode.retry(retry.clone());
                conn.modify(1, mode, take_one).map(drop)
            }
        };
        match sold {
            Ok(()) => Sale::Accepted,
            Err(Refused::SoldOut) => Sale::SoldOut,
            Err(Refused::GaveUp) => Sale::GaveUp,
        }
    });
    tally.conflicts += conflicts.seen();
    tally
}

fn work_in_c(order: &Order, start: impl FnOnce()) -> Tally {
    let db = Database::open(&order.path);
    let synchronous = if order.durable { "FULL" } else { "NORMAL" };
    let busy_timeout = order.busy_timeout.as_millis();
    db.batch(&format!(
        "PRAGMA busy_timeout = {busy_timeout}; PRAGMA synchronous = {synchronous}"
    ));
    let mut select = db.prepare("SELECT stock, version FROM products WHERE id = 1");
    let mut update = db.prepare(
        "UPDATE products SET stock = ?, version = version + 1 WHERE id = 1 AND version = ?",
    );
    let [mut begin, mut commit, mut rollback] =
        ["BEGIN IMMEDIATE", "COMMIT", "ROLLBACK"].map(|sql| db.prepare(sql));
    start();
    let tally = sell_all(order.time, || {
        if order.side == Side::CAutocommit {
            return sell_in_c(&mut select, &mut update);
        }
        if begin.execute().is_err() {
            return Sale::GaveUp;
        }
        match sell_in_c(&mut select, &mut update) {
            Sale::Accepted if commit.execute().is_ok() => Sale::Accepted,
            sale => {
                rollback.execute().expect("a rollback");
                match sale {
                    Sale::Accepted => Sale::GaveUp,
                    refused => refused,
                }
            }
        }
    });
    // A connection closes after its statements.
    drop((select, update, begin, commit, rollback));
    tally
}

fn sell_in_c(select: &mut Statement, update: &mut Statement) -> Sale {
    let row = (select.step() == SQLITE_ROW).then(|| (select.integer(0), select.integer(1)));
    select.reset();
    let Some((stock, version)) = row else {
        return Sale::GaveUp;
    };
    if stock == 0 {
        return Sale::SoldOut;
    }
    update.bind(1, stock - 1);
    update.bind(2, version);
    match update.execute() {
        Ok(1) => Sale::Accepted,
        Ok(_) => Sale::Conflict,
        Err(_) => Sale::GaveUp,
    }
}
