//! The locks that a transaction holds, for its report.

use super::observer::HeldLock;
use super::run::Run;
use super::timer::Timer;
use crate::backend::LockedRows;
use std::time::Instant;

/// What a transaction has locked, and since when.
#[derive(Debug)]
pub(super) struct Locks {
    /// Whether anybody will be told.
    observed: bool,
    /// When BEGIN was sent, and when it was answered.
    begun: (Instant, Instant),
    held: Vec<(HeldLock, Instant)>,
}

impl Locks {
    /// Of a transaction that is open now.
    pub(super) fn new(run: &Run<'_>, asked: Instant) -> Self {
        Locks {
            observed: run.is_observed(),
            begun: (asked, run.clock().now()),
            held: Vec::new(),
        }
    }

    /// Rows are locked, by a statement of their own or by BEGIN.
    pub(super) fn add(&mut self, rows: &LockedRows<'_>, at_begin: bool, clock: &dyn Timer) {
        if !self.observed {
            return;
        }
        let (asked, had) = match at_begin {
            true => self.begun,
            false => (rows.asked, clock.now()),
        };
        let lock = HeldLock {
            table: rows.table,
            key: rows.key.map(|key| format!("{key:?}")),
            rows: rows.rows,
            waited: had.saturating_duration_since(asked),
            held: Default::default(),
        };
        self.held.push((lock, had));
    }

    /// The transaction is over.
    pub(super) fn release(self, run: &Run<'_>) {
        if self.held.is_empty() {
            return;
        }
        let now = run.clock().now();
        let released: Vec<_> = self
            .held
            .into_iter()
            .map(|(lock, since)| HeldLock {
                held: now.saturating_duration_since(since),
                ..lock
            })
            .collect();
        run.tell_released(&released);
    }
}
