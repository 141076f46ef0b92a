//! One worker: sells a piece of a product that it draws, again and again, until the time is up.

use crate::place::open;
use crate::product::{Product, products};
use crate::selling::{Conflicts, Refused, Sale, Tally, sell_all, take_one};
use diesel::prelude::*;
use diesel_occ::{Mode, Retry, Versioned, VersionedConnection};
use std::time::Duration;

/// A way to sell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Optimistic,
    Pessimistic,
    /// The condition in the write: the work comes before it, and is done on nothing that was read.
    Guarded,
}

impl Side {
    pub const ALL: [Side; 3] = [Side::Optimistic, Side::Pessimistic, Side::Guarded];

    pub fn name(self) -> &'static str {
        match self {
            Side::Optimistic => "optimistic",
            Side::Pessimistic => "pessimistic",
            Side::Guarded => "guarded",
        }
    }
}

/// What a worker is told.
#[derive(Debug, Clone)]
pub struct Order {
    pub side: Side,
    pub url: String,
    /// How many products it draws from.
    pub rows: u32,
    /// How long the work between reading and writing takes.
    pub think: Duration,
    /// It begins no sale after that time.
    pub time: Duration,
}

impl Order {
    /// For a process that is a worker.
    pub fn to_args(&self) -> Vec<String> {
        vec![
            self.side.name().to_owned(),
            self.url.clone(),
            self.rows.to_string(),
            self.think.as_millis().to_string(),
            self.time.as_millis().to_string(),
        ]
    }

    pub fn from_args(args: &[String]) -> Self {
        let [side, url, rows, think, time] = args else {
            panic!("a worker was told {args:?}")
        };
        let named = Side::ALL.into_iter().find(|known| known.name() == side);
        let milliseconds = |text: &str| Duration::from_millis(text.parse().expect("a number"));
        Order {
            side: named.expect("a side"),
            url: url.clone(),
            rows: rows.parse().expect("a number"),
            think: milliseconds(think),
            time: milliseconds(time),
        }
    }
}

/// Gets ready, and sells when `start` has returned.
pub fn work(order: &Order, start: impl FnOnce()) -> Tally {
    let mut conn = open(&order.url);
    let conflicts = Conflicts::default();
    let retry = Retry::default().observer(conflicts.clone());
    let think = || match order.think {
        Duration::ZERO => {}
        time => std::thread::sleep(time),
    };
    start();
    let mut tally = sell_all(order.time, || {
        let id = i64::from(fastrand::u32(1..=order.rows));
        let sold = match order.side {
            Side::Guarded => {
                think();
                let taken = products::stock.eq(products::stock - 1);
                // In a transaction, so that on SQLite it waits for the lock by our own tries.
                conn.transact(&retry, |tx| {
                    tx.guarded_update(Product::key(id), products::stock.ge(1), taken)
                })
                .map_err(Refused::from)
            }
            side => {
                let mode = match side {
                    Side::Pessimistic => Mode::pessimistic(),
                    _ => Mode::optimistic(),
                };
                conn.modify(id, mode.retry(retry.clone()), |product: &mut Product| {
                    think();
                    take_one(product)
                })
                .map(drop)
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
