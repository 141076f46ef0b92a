//! MySQL's and MariaDB's failures that Diesel does not type, in English. Other languages are not matched, hence not retried.

use super::{Fault, Row};

pub(crate) const TABLE: &[Row] = &[
    Row::transaction(
        "1213 ER_LOCK_DEADLOCK",
        "Deadlock found when trying to get lock",
        Fault::Deadlock,
    ),
    Row::transaction(
        "1020 ER_CHECKREAD",
        "Record has changed since last read",
        Fault::Serialization,
    ),
    Row::statement(
        "1205 ER_LOCK_WAIT_TIMEOUT",
        "Lock wait timeout exceeded",
        Fault::LockTimeout,
    ),
];
