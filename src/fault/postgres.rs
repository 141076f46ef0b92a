//! PostgreSQL's failures that Diesel does not type, in English. Other languages are not matched, hence not retried.

use super::{Fault, Row};

pub(crate) const TABLE: &[Row] = &[
    Row::transaction(
        "40P01 deadlock_detected",
        "deadlock detected",
        Fault::Deadlock,
    ),
    Row::statement(
        "55P03 lock_not_available",
        "could not obtain lock on",
        Fault::LockTimeout,
    ),
    Row::statement(
        "55P03 lock_not_available",
        "canceling statement due to lock timeout",
        Fault::LockTimeout,
    ),
];
