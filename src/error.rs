//! The one error type. Every cause has its own variant, and a cause that a retry may answer is a struct of its own, so that
//! `source()` finds it through any wrapper of the user's.

mod facts;
mod redact;

pub use facts::{
    Conflict, ConflictKind, GuardFailed, KeyChanged, LockTimeout, LockUnavailable, NoSoftDelete,
    NotFound, OutcomeUnknown, Poisoned, RetriesExhausted, Suppressed, TooManyRows,
    TransactionEnded, Unsupported, VersionInChanges, VersionOverflow,
};

use std::fmt;

/// What every operation of this crate answers.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why an operation of this crate did not do what it was asked for.
///
/// No variant shows the value of a column: keys and versions are named, and what a server itself wrote about a failed
/// statement is kept behind [`source`](std::error::Error::source). [`Fault::of`](crate::Fault::of) says of any error,
/// wrapped or not, what kind of failure it was and whether the whole transaction may be run again.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Another writer was there first. Nothing was written. Worth a retry on freshly read data when
    /// [`Conflict::is_retryable`] says so.
    #[error("another writer was there first")]
    Conflict(#[source] Conflict),
    /// No row has this key, and the caller never showed that there was one. Nothing was written.
    #[error("no such row")]
    NotFound(#[source] NotFound),
    /// The row is there, and what the write asks of it does not hold. Not a conflict; nothing was written.
    #[error("the guard of the write does not hold")]
    GuardFailed(#[source] GuardFailed),
    /// The statement hit no row although the row is there at the expected version: a trigger, a rule or a policy of the
    /// database refuses it. Nothing was written, unless the table is a view whose INSTEAD OF trigger writes, which SQLite
    /// does not count. Trying again changes nothing.
    #[error("the database kept the row from being written")]
    Suppressed(#[source] Suppressed),
    /// One key led to several rows. Nothing was written: see [`TooManyRows`] for the one exception.
    #[error("a write of one row met several")]
    TooManyRows(#[source] TooManyRows),
    /// The version is at the largest number of its type. Nothing was written.
    #[error("the version cannot grow any more")]
    VersionOverflow(#[source] VersionOverflow),
    /// The changes name the version column themselves. No statement was sent.
    #[error("the changes must leave the version alone")]
    VersionInChanges(#[source] VersionInChanges),
    /// A soft delete that would mark nothing. No statement was sent.
    #[error("nothing marks the row as deleted")]
    NoSoftDelete(#[source] NoSoftDelete),
    /// The closure of `modify` gave the row another primary key. Nothing was written.
    #[error("the key of a row cannot be modified")]
    KeyChanged(#[source] KeyChanged),
    /// Somebody else holds the row, and the caller did not want to wait ([`Lock::no_wait`](crate::Lock::no_wait)). Nothing is
    /// locked, and the transaction can go on. No retry runs it again.
    #[error("somebody else holds the lock")]
    LockUnavailable(#[source] LockUnavailable),
    /// The lock was not to be had in the time that the caller gave: [`Lock::within`](crate::Lock::within), or on SQLite the
    /// policy's deadline for the lock of the database. Nothing is locked or written, and a transaction that was open can go
    /// on. No retry runs it again.
    #[error("the lock was not free in time")]
    LockTimeout(#[source] LockTimeout),
    /// The policy's attempts or its time are used up; every attempt was rolled back.
    #[error("gave up trying")]
    RetriesExhausted(#[source] RetriesExhausted),
    /// COMMIT, or a write outside a transaction, was sent and its answer never came: the work may be stored or not. Never
    /// retried.
    #[error("it is not known whether the work was committed")]
    OutcomeUnknown(#[source] OutcomeUnknown),
    /// An earlier error has ended this transaction, or stands in the way of its COMMIT. Everything is rolled back.
    #[error("the transaction has already failed")]
    Poisoned(#[source] Poisoned),
    /// The transaction was over before its closure was: a COMMIT, a ROLLBACK or a schema change was sent as SQL inside.
    /// Parts of the work may be stored. Never retried.
    #[error("the transaction was ended inside its closure")]
    TransactionEnded(#[source] TransactionEnded),
    /// The operation only means something inside a transaction. No statement was sent.
    #[error("this needs an open transaction")]
    NotInTransaction,
    /// This server cannot do that. No statement was sent.
    #[error("the server cannot do this")]
    Unsupported(#[source] Unsupported),
    /// The pool had no connection to give in time. No statement was sent.
    #[cfg(feature = "r2d2")]
    #[error("no connection from the pool")]
    Pool(#[source] diesel::r2d2::PoolError),
    /// The database refused a statement for a reason that is none of the above.
    #[error("the database refused a statement")]
    Database(#[source] diesel::result::Error),
}

impl From<diesel::result::Error> for Error {
    /// Keeps a typed error of ours that travelled through Diesel, as when changes that set the version are found out
    /// while the statement is built.
    fn from(error: diesel::result::Error) -> Self {
        match error {
            diesel::result::Error::QueryBuilderError(inner) => match inner.downcast::<Error>() {
                Ok(ours) => *ours,
                Err(inner) => Error::Database(diesel::result::Error::QueryBuilderError(inner)),
            },
            other => Error::Database(other),
        }
    }
}

impl fmt::Debug for Error {
    /// As derived, but for the server's own words: what stands in quotes there may be a value of a column.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let facts: &dyn fmt::Debug = match self {
            Error::Conflict(facts) => facts,
            Error::NotFound(facts) => facts,
            Error::GuardFailed(facts) => facts,
            Error::Suppressed(facts) => facts,
            Error::TooManyRows(facts) => facts,
            Error::VersionOverflow(facts) => facts,
            Error::VersionInChanges(facts) => facts,
            Error::NoSoftDelete(facts) => facts,
            Error::KeyChanged(facts) => facts,
            Error::LockUnavailable(facts) => facts,
            Error::LockTimeout(facts) => facts,
            Error::RetriesExhausted(facts) => facts,
            Error::OutcomeUnknown(facts) => facts,
            Error::Poisoned(facts) => facts,
            Error::TransactionEnded(facts) => facts,
            Error::NotInTransaction => return f.write_str("NotInTransaction"),
            Error::Unsupported(facts) => facts,
            #[cfg(feature = "r2d2")]
            Error::Pool(_) => return f.write_str("Pool"),
            Error::Database(error) => {
                return f
                    .debug_tuple("Database")
                    .field(&redact::Redacted(error))
                    .finish();
            }
        };
        facts.fmt(f)
    }
}
