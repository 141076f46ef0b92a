//! After a lost race the next run waits for its turn: it takes the lock of the row that it lost before the closure reads.
//!
//! A server lets the writers of a row wait for each other, and each finds a new version when it is let in. Where commits take
//! long, a run that reads without the lock loses again and again, and the one that has just committed wins. The server's
//! queue is fair. SQLite needs none of this: its transactions begin with the lock.

use crate::backend::{Driver, Turn};
use crate::error::Result;
use std::collections::BTreeMap;

/// More rows than that are not one hot row.
const MOST: usize = 64;

type TakeTurn<C> = Box<dyn Fn(&mut C) -> Result<()> + Send>;

/// The rows that earlier runs have lost, in one order for everybody, so that two who wait for several do not deadlock.
pub(crate) struct Turns<C>(BTreeMap<(&'static str, String), TakeTurn<C>>);

impl<C: Driver> Turns<C> {
    pub(crate) fn new() -> Self {
        Turns(BTreeMap::new())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A write of this row has lost its race.
    pub(super) fn lost(&mut self, row: impl Turn<C::Backend>) {
        if self.0.len() < MOST {
            self.0
                .insert(row.name(), Box::new(move |conn| row.take(conn)));
        }
    }

    /// Waits for every row; a statement each.
    pub(super) fn take(&self, conn: &mut C) -> Result<()> {
        self.0.values().try_for_each(|take| take(conn))
    }

    pub(super) fn forget(&mut self) {
        self.0.clear();
    }
}
