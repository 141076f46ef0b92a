//! One worker on one hot row of a server.

use crate::floor::Floor;
use crate::libmariadb::Libmariadb;
use crate::libpq::Libpq;
use crate::product::{Product, products};
use crate::selling::{Conflicts, Refused, Sale, Tally, sell_all, take_one};
use diesel::prelude::*;
use diesel_occ::{Mode, Retry, Versioned, VersionedConnection};
use std::time::Duration;

/// A way to sell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Modify,
    Transact,
    GuardedUpdate,
    Pessimistic,
    /// In C: SELECT and UPDATE, each committed by itself; after a lost race at once again.
    CAutocommit,
    /// In C: the same between BEGIN and COMMIT.
    CTransaction,
    /// In C: BEGIN, SELECT with the lock, UPDATE, COMMIT.
    CLocked,
}

impl Side {
    pub const ALL: [Side; 7] = [
        Side::Modify,
        Side::Transact,
        Side::GuardedUpdate,
        Side::Pessimistic,
        Side::CAutocommit,
        Side::CTransaction,
        Side::CLocked,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Side::Modify => "modify",
            Side::Transact => "transact",
            Side::GuardedUpdate => "guarded_update",
            Side::Pessimistic => "pessimistic",
            Side::CAutocommit => "c_autocommit",
            Side::CTransaction => "c_transaction",
            Side::CLocked => "c_locked",
        }
    }

    pub fn named(name: &str) -> Option<Side> {
        Side::ALL.into_iter().find(|side| side.name() == name)
    }

    pub fn is_ours(self) -> bool {
        !matches!(self, Side::CAutocommit | Side::CTransaction | Side::CLocked)
    }

    /// Whether it reads the row with its lock.
    pub fn locks(self) -> bool {
        matches!(self, Side::Pessimistic | Side::CLocked)
    }
}

/// What a worker is told.
#[derive(Debug, Clone)]
pub struct Order {
    pub side: Side,
    pub url: String,
    /// It begins no sale after that time.
    pub time: Duration,
}

impl Order {
    /// For a process that is a worker.
    pub fn to_args(&self) -> Vec<String> {
        let time = self.time.as_millis().to_string();
        vec![self.side.name().to_owned(), self.url.clone(), time]
    }

    pub fn from_args(args: &[String]) -> Self {
        let [side, url, time] = args else {
            panic!("a worker was told {args:?}")
        };
        Order {
            side: Side::named(side).expect("a side"),
            url: url.clone(),
            time: Duration::from_millis(time.parse().expect("a number")),
        }
    }
}

/// Gets ready, and sells when `start` has returned.
pub fn work(order: &Order, start: impl FnOnce()) -> Tally {
    match (order.url.starts_with("mysql:"), order.side.is_ours()) {
        (false, true) => work_with_us::<PgConnection>(order, start),
        (true, true) => work_with_us::<MysqlConnection>(order, start),
        (false, false) => work_in_c::<Libpq>(order, start),
        (true, false) => work_in_c::<Libmariadb>(order, start),
    }
}

/// The three ways of this crate, by a connection that is known.
trait Sells: Connection {
    fn sell(&mut self, side: Side, retry: &Retry) -> Result<(), Refused>;
}

macro_rules! sells {
    ($connection:ty) => {
        impl Sells for $connection {
            fn sell(&mut self, side: Side, retry: &Retry) -> Result<(), Refused> {
                match side {
                    Side::Transact => self.transact(retry, |tx| {
                        let mut product = tx.fetch::<Product>(1)?;
                        take_one(&mut product)?;
                        tx.save(&product)?;
                        Ok(())
                    }),
                    Side::GuardedUpdate => {
                        let taken = products::stock.eq(products::stock - 1);
                        Ok(self.guarded_update(Product::key(1), products::stock.ge(1), taken)?)
                    }
                    _ => {
                        let mode = match side.locks() {
                            true => Mode::pessimistic(),
                            false => Mode::optimistic(),
                        };
                        let mode = mode.retry(retry.clone());
                        self.modify(1, mode, take_one).map(drop)
                    }
                }
            }
        }
    };
}

sells!(PgConnection);
sells!(MysqlConnection);

fn work_with_us<C: Sells>(order: &Order, start: impl FnOnce()) -> Tally {
    let mut conn = C::establish(&order.url).expect("a connection");
    let conflicts = Conflicts::default();
    let retry = Retry::default().observer(conflicts.clone());
    start();
    let mut tally = sell_all(order.time, || match conn.sell(order.side, &retry) {
        Ok(()) => Sale::Accepted,
        Err(Refused::SoldOut) => Sale::SoldOut,
        Err(Refused::GaveUp) => Sale::GaveUp,
    });
    tally.conflicts += conflicts.seen();
    tally
}

fn work_in_c<F: Floor>(order: &Order, start: impl FnOnce()) -> Tally {
    let mut floor = F::connect(&order.url);
    start();
    sell_all(order.time, || {
        let in_transaction = order.side != Side::CAutocommit;
        if in_transaction {
            floor.batch("BEGIN");
        }
        let mut product = match order.side.locks() {
            true => floor.load_locked(1),
            false => floor.load(1),
        };
        let sale = match product.stock {
            0 => Sale::SoldOut,
            stock => {
                product.stock = stock - 1;
                match floor.save(&product) {
                    Some(1) => Sale::Accepted,
                    _ => Sale::Conflict,
                }
            }
        };
        if in_transaction {
            floor.batch(match sale {
                Sale::Accepted => "COMMIT",
                _ => "ROLLBACK",
            });
        }
        sale
    })
}
