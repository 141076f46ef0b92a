//! One order, taken from the stock in each of the ways that an application may choose. This is the file to read: the rest
//! of the example makes many workers do it at once, and counts.

use crate::connection::AnyConnection;
use crate::database::{Product, products};
use crate::failure::{Failure, chain};
use crate::workload::{Order, Units};
use diesel::prelude::*;
use diesel_occ::prelude::*;
use diesel_occ::{Error, Observer, RetryEvent};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How the stock is protected between reading and writing it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// Not at all: the bug.
    Unchecked,
    /// By the version: whoever read an old row reads again.
    Optimistic,
    /// By the lock of the row: whoever wants it waits.
    Pessimistic,
    /// By a condition on the stock itself, in the write.
    Guarded,
}

impl Way {
    pub const ALL: [Way; 4] = [
        Way::Unchecked,
        Way::Optimistic,
        Way::Pessimistic,
        Way::Guarded,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Way::Unchecked => "unchecked",
            Way::Optimistic => "optimistic",
            Way::Pessimistic => "pessimistic",
            Way::Guarded => "guarded",
        }
    }

    pub fn named(name: &str) -> Option<Way> {
        Way::ALL.into_iter().find(|way| way.name() == name)
    }
}

/// Why an order was not accepted.
#[derive(Debug, thiserror::Error)]
enum Refusal {
    #[error("out of stock")]
    OutOfStock,
    #[error(transparent)]
    Occ(#[from] Error),
    #[error(transparent)]
    Diesel(#[from] diesel::result::Error),
}

/// The products of an order as they are now, in the sequence of its lines.
fn read<C>(conn: &mut C, order: &Order) -> diesel_occ::Result<Vec<Product>>
where
    C: VersionedConnection,
    Product: Record<C::Backend>,
{
    let lines = order.lines().iter();
    lines.map(|line| conn.fetch(line.product)).collect()
}

/// Takes the lines from products that were read.
fn take(products: &mut [Product], order: &Order) -> Result<(), Refusal> {
    for (product, line) in products.iter_mut().zip(order.lines()) {
        if product.stock < line.quantity {
            return Err(Refusal::OutOfStock);
        }
        product.stock -= line.quantity;
    }
    Ok(())
}

/// Read, compute, write, as it is written every day. Nothing is wrong with any one line of it, and all writes of an order
/// are one transaction; but between the reading and the writing others have sold the same units, and they are sold again.
fn unchecked(conn: &mut AnyConnection, order: &Order, retry: &Retry) -> Result<(), Refusal> {
    let mut products = read(conn, order)?;
    take(&mut products, order)?;
    conn.transact(retry, |tx| {
        for product in &products {
            diesel::update(products::table.find(product.id))
                .set(products::stock.eq(product.stock))
                .execute(tx)?;
        }
        Ok(())
    })
}

/// The same, with each write checked by the version that was read. What was read before the transaction may be stale, as
/// what a customer has on the screen may be; then the order is run again, and reads inside. A refusal by what was read
/// first stands: nobody puts anything back into this stock.
fn optimistic(conn: &mut AnyConnection, order: &Order, retry: &Retry) -> Result<(), Refusal> {
    let mut seen = Some(read(conn, order)?);
    conn.transact(retry, |tx| {
        let mut products = match seen.take() {
            Some(seen) => seen,
            None => read(tx, order)?,
        };
        take(&mut products, order)?;
        for product in &products {
            tx.save(product)?;
        }
        Ok(())
    })
}

/// Each product is read with its lock, and the others wait for it until COMMIT: nobody loses a race, and nothing is worked in
/// vain. The lines are in one sequence for everybody, so that no two orders wait for each other in a circle. On SQLite the lock
/// is the whole database from BEGIN, and every order waits for every other.
fn pessimistic(conn: &mut AnyConnection, order: &Order, retry: &Retry) -> Result<(), Refusal> {
    conn.transact(retry, |tx| {
        let lines = order.lines().iter();
        let products: diesel_occ::Result<Vec<_>> = lines
            .map(|line| tx.fetch_locked::<Product>(line.product, Lock::for_update()))
            .collect();
        let mut products = products?;
        take(&mut products, order)?;
        for product in &products {
            tx.save(product)?;
        }
        Ok(())
    })
}

/// Reads nothing: the write itself says what must hold. Orders of the same product do not conflict, and it is the server
/// that subtracts. One line would do without the transaction; with it, who waits on SQLite waits for the lock as `transact`
/// does, where everybody has a fair chance, and not for the turn that SQLite's own busy handler may never give.
fn guarded(conn: &mut AnyConnection, order: &Order, retry: &Retry) -> Result<(), Refusal> {
    let sold = conn.transact(retry, |tx| {
        order.lines().iter().try_for_each(|line| {
            let enough = products::stock.ge(line.quantity);
            let less = products::stock.eq(products::stock - line.quantity);
            tx.guarded_update(Product::key(line.product), enough, less)
        })
    });
    sold.map_err(|error| match error {
        Error::GuardFailed(_) => Refusal::OutOfStock,
        other => Refusal::Occ(other),
    })
}

/// What became of the orders of a worker, or of all of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sales {
    pub accepted: u64,
    pub refused: u64,
    pub units: Units,
    pub conflicts: u64,
    pub retries: u64,
}

/// Hears of conflicts and retries.
#[derive(Debug, Default)]
struct Tally {
    conflicts: AtomicU64,
    retries: AtomicU64,
}

struct Listener(Arc<Tally>);

impl Observer for Listener {
    fn conflict(&self, _: &Conflict) {
        self.0.conflicts.fetch_add(1, Ordering::Relaxed);
    }

    fn retry(&self, _: &RetryEvent) {
        self.0.retries.fetch_add(1, Ordering::Relaxed);
    }
}

/// What is to be done in one way: the workers of `threads` and of `processes` get the same.
#[derive(Debug, Clone, Copy)]
pub struct Shift<'a> {
    pub url: &'a str,
    pub way: Way,
    pub orders: &'a [Order],
    pub workers: usize,
}

/// A worker: its connection, its way of selling, and its sales so far.
pub struct Seller {
    conn: AnyConnection,
    way: Way,
    retry: Retry,
    tally: Arc<Tally>,
    sales: Sales,
}

impl Seller {
    pub fn new(conn: AnyConnection, way: Way) -> Self {
        let tally = Arc::new(Tally::default());
        Seller {
            conn,
            way,
            // The defaults, and an ear.
            retry: Retry::default().observer(Listener(Arc::clone(&tally))),
            tally,
            sales: Sales::default(),
        }
    }

    pub fn sell(&mut self, order: &Order) -> Result<(), Failure> {
        let sold = match self.way {
            Way::Unchecked => unchecked(&mut self.conn, order, &self.retry),
            Way::Optimistic => optimistic(&mut self.conn, order, &self.retry),
            Way::Pessimistic => pessimistic(&mut self.conn, order, &self.retry),
            Way::Guarded => guarded(&mut self.conn, order, &self.retry),
        };
        match sold {
            Ok(()) => {
                self.sales.accepted += 1;
                self.sales.units.add_order(order);
                Ok(())
            }
            Err(Refusal::OutOfStock) => {
                self.sales.refused += 1;
                Ok(())
            }
            Err(error) => Err(Failure::Broken(format!(
                "{}: an order failed: {}",
                self.way.name(),
                chain(&error)
            ))),
        }
    }

    pub fn sales(self) -> Sales {
        Sales {
            conflicts: self.tally.conflicts.load(Ordering::Relaxed),
            retries: self.tally.retries.load(Ordering::Relaxed),
            ..self.sales
        }
    }
}
