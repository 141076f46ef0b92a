//! What a failure means: one classifier for every server. A typed kind of Diesel's decides where there is one; the server's
//! text is looked up only for the kind `Unknown`, and text that no table knows is not worth a retry.

mod table;

#[cfg(feature = "mysql")]
pub(crate) mod mysql;
#[cfg(feature = "postgres")]
pub(crate) mod postgres;
#[cfg(feature = "sqlite")]
pub(crate) mod sqlite;

pub(crate) use table::{Row, Verdict, by_number, classify, look_up};

use crate::error::{
    Conflict, LockTimeout, LockUnavailable, OutcomeUnknown, Poisoned, RetriesExhausted,
    TransactionEnded,
};
use diesel::result::Error as DieselError;
use std::error::Error as StdError;
use std::fmt;

/// The kind of a failure, and with it whether running the whole transaction again can help.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Fault {
    /// A lost race that this crate detected: the row has another version.
    Conflict,
    /// The server gave up a serializable or snapshot transaction (SQLSTATE 40001, MariaDB 1020).
    Serialization,
    /// The server ended a cycle of waiting transactions and chose this one.
    Deadlock,
    /// A lock was not free in time.
    LockTimeout,
    /// SQLite: another connection holds the lock that a statement or COMMIT needed.
    Busy,
    /// The connection is gone. A new one can run the work again, if COMMIT was not sent.
    ConnectionLost,
    /// The disk is full, or the storage failed.
    Storage,
    /// Anything else: the same work will fail again.
    Permanent,
}

impl Fault {
    /// Whether the same work, on freshly read data and the same connection, can succeed.
    pub fn is_retryable(self) -> bool {
        matches!(
            self,
            Fault::Conflict
                | Fault::Serialization
                | Fault::Deadlock
                | Fault::LockTimeout
                | Fault::Busy
        )
    }

    /// The kind of any error, found through wrappers by their [`source`](StdError::source).
    ///
    /// For code outside a [`Tx`](crate::Tx), which sees each error before it is wrapped. An error that flattens its source
    /// to text is [`Permanent`](Fault::Permanent).
    ///
    /// ```
    /// # use diesel_occ::Fault;
    /// let error = diesel::result::Error::DatabaseError(
    ///     diesel::result::DatabaseErrorKind::Unknown,
    ///     Box::new("database is locked".to_string()),
    /// );
    /// let wrapped = anyhow::Error::from(diesel_occ::Error::from(error)).context("while selling");
    /// assert_eq!(Fault::of(wrapped.as_ref()), Fault::Busy);
    /// ```
    pub fn of(error: &(dyn StdError + 'static)) -> Fault {
        let mut next = Some(error);
        while let Some(error) = next {
            if let Some(fault) = Fault::of_one(error) {
                return fault;
            }
            next = error.source();
        }
        Fault::Permanent
    }

    fn of_one(error: &(dyn StdError + 'static)) -> Option<Fault> {
        if let Some(conflict) = error.downcast_ref::<Conflict>() {
            return Some(if conflict.is_retryable() {
                Fault::Conflict
            } else {
                Fault::Permanent
            });
        }
        if error.is::<LockUnavailable>() || error.is::<LockTimeout>() {
            return Some(Fault::LockTimeout);
        }
        if let Some(poisoned) = error.downcast_ref::<Poisoned>() {
            return Some(poisoned.fault);
        }
        // What may be stored already is not run again, nor is what was given up, whatever stands behind it.
        if error.is::<OutcomeUnknown>()
            || error.is::<TransactionEnded>()
            || error.is::<RetriesExhausted>()
        {
            return Some(Fault::Permanent);
        }
        match error.downcast_ref::<DieselError>()? {
            // Where a typed error of ours travels through Diesel.
            DieselError::QueryBuilderError(_) => None,
            error => Some(classify(table::every(), error).fault),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Fault::Conflict => "a lost race",
            Fault::Serialization => "a serialization failure",
            Fault::Deadlock => "a deadlock",
            Fault::LockTimeout => "a lock timeout",
            Fault::Busy => "a busy database",
            Fault::ConnectionLost => "a lost connection",
            Fault::Storage => "a storage failure",
            Fault::Permanent => "an error that no retry answers",
        })
    }
}
