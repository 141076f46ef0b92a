//! The facts of each failure: table, key, versions, counts. Never the value of a column.

use super::redact::Redacted;
use crate::fault::Fault;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// A lost race for one row: which row, what the writer expected, what is there now.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[error("{table} {key}: expected version {expected}, {}", self.found())]
#[non_exhaustive]
pub struct Conflict {
    /// The table of the row.
    pub table: &'static str,
    /// The primary key of the row, as its `Debug` prints it.
    pub key: String,
    /// The version that the writer had read.
    pub expected: String,
    /// The version of the row now; `None` when no row is there.
    pub actual: Option<String>,
    /// What has happened to the row.
    pub kind: ConflictKind,
}

/// What has happened to the row that a writer had read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub enum ConflictKind {
    /// Another writer has moved its version.
    Modified,
    /// It is gone, or marked as deleted.
    Deleted,
}

impl Conflict {
    /// Whether the same work on freshly read data can succeed: yes after [`Modified`](ConflictKind::Modified); a deleted
    /// row stays deleted.
    pub fn is_retryable(&self) -> bool {
        self.kind == ConflictKind::Modified
    }

    fn found(&self) -> String {
        match (self.kind, &self.actual) {
            (ConflictKind::Modified, Some(actual)) => format!("found {actual}"),
            (ConflictKind::Deleted, Some(actual)) => {
                format!("marked as deleted at version {actual}")
            }
            (_, None) => "the row is deleted".into(),
        }
    }
}

/// No row has this key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{table} {key}: no such row")]
#[non_exhaustive]
pub struct NotFound {
    /// The table that was searched.
    pub table: &'static str,
    /// The primary key, as its `Debug` prints it.
    pub key: String,
}

/// The row is there, and the condition of a guarded write does not hold for it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{table} {key} at version {version}: the guard does not hold")]
#[non_exhaustive]
pub struct GuardFailed {
    /// The table of the row.
    pub table: &'static str,
    /// The primary key, as its `Debug` prints it.
    pub key: String,
    /// The version of the row when the guard was looked at.
    pub version: String,
}

/// A write that hit no row although nothing of ours explains it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{table} {key} at version {version}: a trigger, rule, view or policy kept the row from being written"
)]
#[non_exhaustive]
pub struct Suppressed {
    /// The table of the row.
    pub table: &'static str,
    /// The primary key, as its `Debug` prints it.
    pub key: String,
    /// The version of the row, before and after.
    pub version: String,
}

/// One key that several rows have: the primary key of `table!` is not unique in the database.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{table} {key}: {rows} rows where one was expected{}", if *.written { "; they were written" } else { "" })]
#[non_exhaustive]
pub struct TooManyRows {
    /// The table of the rows.
    pub table: &'static str,
    /// The primary key, as its `Debug` prints it.
    pub key: String,
    /// How many rows there are.
    pub rows: usize,
    /// Whether the statement has written them. Then the transaction that it ran in must be rolled back: a
    /// [`Tx`](crate::Tx) does so by itself, whatever its closure makes of the error.
    pub written: bool,
}

/// A version that has no successor.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{table} {key}: version {version} is the largest of its type")]
#[non_exhaustive]
pub struct VersionOverflow {
    /// The table of the row.
    pub table: &'static str,
    /// The primary key, as its `Debug` prints it.
    pub key: String,
    /// The version that cannot grow.
    pub version: String,
}

/// Changes that set the version column, which is the statement's own to move.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{table} {key}: the changes set the version column {column} themselves; leave it out of them"
)]
#[non_exhaustive]
pub struct VersionInChanges {
    /// The table of the row.
    pub table: &'static str,
    /// The primary key, as its `Debug` prints it.
    pub key: String,
    /// The version column.
    pub column: &'static str,
}

/// A soft delete whose changes mark nothing: they leave the column alone, or the model names none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{table} {key}: {}", match .column {
    Some(column) => format!("the changes leave the column {column} alone"),
    None => "the model names no column by #[versioned(soft_delete = ..)]".to_owned(),
})]
#[non_exhaustive]
pub struct NoSoftDelete {
    /// The table of the row.
    pub table: &'static str,
    /// The primary key, as its `Debug` prints it.
    pub key: String,
    /// The column that marks a row as deleted, if the model names one.
    pub column: Option<&'static str>,
}

/// A closure that gave its row another primary key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{table} {key}: the closure changed the primary key to {changed}")]
#[non_exhaustive]
pub struct KeyChanged {
    /// The table of the row.
    pub table: &'static str,
    /// The key that was asked for.
    pub key: String,
    /// The key that the closure left.
    pub changed: String,
}

/// A row that somebody else holds.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{table} {key}: locked by another transaction")]
#[non_exhaustive]
pub struct LockUnavailable {
    /// The table of the row.
    pub table: &'static str,
    /// The primary key, as its `Debug` prints it.
    pub key: String,
}

/// A lock that stayed taken for too long.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} was not free within {waited:?}")]
#[non_exhaustive]
pub struct LockTimeout {
    /// What was waited for: table and key, or the write lock of the database.
    pub what: String,
    /// How long: what the caller had allowed, or what passed by the policy's clock.
    pub waited: Duration,
}

/// The end of a retry policy.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RetriesExhausted {
    /// How many times the work was run.
    pub attempts: u32,
    /// How long that took, sleeps included, by the policy's clock.
    pub elapsed: Duration,
    /// What ended the last attempt.
    pub last: Fault,
    /// The lost race of the last attempt, when it was one that this crate detected.
    pub conflict: Option<Box<Conflict>>,
}

impl fmt::Display for RetriesExhausted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RetriesExhausted {
            attempts,
            elapsed,
            last,
            ..
        } = self;
        write!(
            f,
            "gave up after {attempts} attempts in {elapsed:?}, the last one ended by {last}"
        )
    }
}

impl std::error::Error for RetriesExhausted {
    /// The conflict itself and not its box: who looks for one by its type is to find it.
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.conflict.as_deref().map(|conflict| conflict as _)
    }
}

/// A COMMIT without an answer, or a write without one that is its own COMMIT, since no transaction was open.
#[derive(thiserror::Error)]
#[error("{fault} came in place of the answer")]
#[non_exhaustive]
pub struct OutcomeUnknown {
    /// What happened instead.
    pub fault: Fault,
    /// The error that Diesel reported.
    pub source: diesel::result::Error,
}

impl fmt::Debug for OutcomeUnknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OutcomeUnknown")
            .field("fault", &self.fault)
            .field("source", &Redacted(&self.source))
            .finish()
    }
}

/// A transaction that an earlier error has ended or spoiled.
#[derive(Clone)]
#[non_exhaustive]
pub struct Poisoned {
    /// What the first error that spoiled it was.
    pub fault: Fault,
    /// That error, as the server said it; `None` where this crate itself ended the transaction.
    pub source: Option<Arc<diesel::result::Error>>,
}

impl fmt::Display for Poisoned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "spoiled by {}; only rolling back is left", self.fault)
    }
}

impl fmt::Debug for Poisoned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Poisoned")
            .field("fault", &self.fault)
            .field("source", &self.source.as_deref().map(Redacted))
            .finish()
    }
}

impl std::error::Error for Poisoned {
    /// Diesel's error itself and not its `Arc`: who looks for one by its type is to find it.
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}

/// A transaction that was over before its closure was.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a COMMIT, ROLLBACK or schema change sent as SQL ended it; what was written may be stored")]
#[non_exhaustive]
pub struct TransactionEnded {
    /// The first failure that was seen inside, if there was one.
    pub first: Option<Fault>,
}

/// Something that this server cannot do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{server} has no {what}")]
#[non_exhaustive]
pub struct Unsupported {
    /// The server's name.
    pub server: &'static str,
    /// What was asked of it.
    pub what: &'static str,
}

#[cfg(test)]
mod tests {
    use super::*;
    use diesel::result::{DatabaseErrorKind, Error as DieselError};

    #[test]
    fn an_unknown_outcome_shows_no_quoted_text_and_is_permanent() {
        let source = DieselError::DatabaseError(
            DatabaseErrorKind::ClosedConnection,
            Box::new("lost 'ann'".to_owned()),
        );
        let error = crate::Error::OutcomeUnknown(OutcomeUnknown {
            fault: Fault::ConnectionLost,
            source,
        });
        assert!(!format!("{error:?}").contains("ann"), "{error:?}");
        assert_eq!(Fault::of(&error), Fault::Permanent);
    }
}
