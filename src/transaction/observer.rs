//! Who is told what a retry goes through.

use crate::error::{Conflict, RetriesExhausted};
use crate::fault::Fault;
use std::time::Duration;

/// Is told of every conflict, every retry and every end of the policy's patience: for metrics and logs. It runs on the
/// thread of the work, while no transaction is open; it must not block. It is shown no column values.
pub trait Observer: Send + Sync {
    /// An attempt lost a race that this crate detected.
    fn conflict(&self, _conflict: &Conflict) {}

    /// The work is about to be run again, after a wait.
    fn retry(&self, _retry: &RetryEvent) {}

    /// The policy gives up.
    fn exhausted(&self, _exhausted: &RetriesExhausted) {}

    /// A transaction has ended, and with it a lock that it had asked for by [`Lock`](crate::Lock). One event for each time that
    /// it asked.
    fn lock_released(&self, _lock: &HeldLock) {}
}

/// One more attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RetryEvent {
    /// The number of attempts so far.
    pub attempts: u32,
    /// What ended the last one.
    pub fault: Fault,
    /// How long the wait before the next one is.
    pub delay: Duration,
}

/// A lock that a transaction held until its end.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct HeldLock {
    /// The table of the rows; of a join the first one.
    pub table: &'static str,
    /// The primary key, as its `Debug` prints it, where one row was locked by its key.
    pub key: Option<String>,
    /// How many rows were locked.
    pub rows: usize,
    /// How long the transaction waited for it; on SQLite, how long BEGIN took.
    pub waited: Duration,
    /// From the moment that it was had to the end of the transaction, COMMIT or ROLLBACK included; on SQLite from BEGIN.
    pub held: Duration,
}

#[cfg(feature = "tracing")]
#[derive(Debug)]
struct TracingObserver;

#[cfg(feature = "tracing")]
impl Observer for TracingObserver {
    fn conflict(&self, conflict: &Conflict) {
        tracing::debug!(
            table = conflict.table,
            key = conflict.key,
            expected = conflict.expected,
            actual = conflict.actual,
            kind = ?conflict.kind,
            "conflict"
        );
    }

    fn retry(&self, retry: &RetryEvent) {
        tracing::debug!(attempts = retry.attempts, fault = %retry.fault, delay = ?retry.delay, "retry");
    }

    fn lock_released(&self, lock: &HeldLock) {
        tracing::debug!(
            table = lock.table,
            key = lock.key,
            rows = lock.rows,
            waited = ?lock.waited,
            held = ?lock.held,
            "lock released"
        );
    }

    fn exhausted(&self, exhausted: &RetriesExhausted) {
        tracing::warn!(
            attempts = exhausted.attempts,
            elapsed = ?exhausted.elapsed,
            fault = %exhausted.last,
            "retries exhausted"
        );
    }
}

#[cfg(feature = "tracing")]
const ALWAYS: &[&dyn Observer] = &[&TracingObserver];
#[cfg(not(feature = "tracing"))]
const ALWAYS: &[&dyn Observer] = &[];

/// Whether anybody is told of anything.
pub(super) fn anybody(observer: Option<&dyn Observer>) -> bool {
    observer.is_some() || !ALWAYS.is_empty()
}

/// Tells the policy's observer, and those that a feature adds.
pub(super) fn tell(observer: Option<&dyn Observer>, event: impl Fn(&dyn Observer)) {
    ALWAYS.iter().copied().chain(observer).for_each(event);
}
