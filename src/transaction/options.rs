//! What a transaction is to be: its isolation level and access mode, with the policy that runs it again.

use super::retry::Retry;
use crate::backend::{Begin, IsolationLevel};

/// A transaction other than the server's default one: taken by [`transact`](crate::VersionedConnection::transact) and
/// `retry_on` in place of a [`Retry`].
///
/// The settings hold for the one transaction; on a pooled connection nothing is left behind. By default it is what the
/// server begins by itself, with [`Retry::default`].
///
/// ```
/// # use diesel::prelude::*;
/// # use diesel_occ::prelude::*;
/// use diesel_occ::{IsolationLevel, TxOptions};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let mut conn = SqliteConnection::establish(":memory:")?;
/// let serializable = TxOptions::default()
///     .isolation(IsolationLevel::Serializable)
///     .retry(Retry::default().attempts(50));
/// let two = conn.transact(&serializable, |tx| -> diesel_occ::Result<i32> {
///     Ok(diesel::select(diesel::dsl::sql::<diesel::sql_types::Integer>("1 + 1")).get_result(tx)?)
/// })?;
/// assert_eq!(two, 2);
///
/// // SQLite has one kind of transaction.
/// let refused = conn.transact(&TxOptions::default().read_only(), |_| diesel_occ::Result::Ok(()));
/// assert!(matches!(refused, Err(diesel_occ::Error::Unsupported(_))));
/// # Ok(())
/// # }
/// ```
///
/// | | PostgreSQL | MySQL, MariaDB | SQLite |
/// |---|---|---|---|
/// | every isolation level | yes | yes | `Serializable`, which all its transactions are |
/// | read only | yes | yes | `Unsupported` |
/// | deferrable | yes | `Unsupported` | `Unsupported` |
///
/// Inside an open transaction none of them can be set any more: anything but the default is
/// [`Error::Unsupported`](crate::Error::Unsupported), before any SQL.
#[derive(Debug, Clone, Default)]
pub struct TxOptions {
    retry: Retry,
    begin: Begin,
}

impl TxOptions {
    /// What the transaction may see of the others. Default: as the server or the session is set.
    pub fn isolation(mut self, level: IsolationLevel) -> Self {
        self.begin.isolation = Some(level);
        self
    }

    /// The server refuses every write: `Error::Database` with Diesel's `ReadOnlyTransaction`. Default: reads and writes.
    pub fn read_only(mut self) -> Self {
        self.begin.read_only = true;
        self
    }

    /// PostgreSQL: with `Serializable` and [`read_only`](TxOptions::read_only) it waits at its first statement for a snapshot
    /// that no other transaction can spoil, and is never refused afterwards. Without both it has no effect.
    /// <https://www.postgresql.org/docs/current/sql-set-transaction.html>. Default: not deferrable.
    pub fn deferrable(mut self) -> Self {
        self.begin.deferrable = true;
        self
    }

    /// How often and how long the work is run again. Default: [`Retry::default`].
    pub fn retry(mut self, retry: Retry) -> Self {
        self.retry = retry;
        self
    }
}

/// What [`transact`](crate::VersionedConnection::transact) runs by: a [`Retry`] or [`TxOptions`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say how a transaction is to be run",
    label = "neither a `Retry` nor `TxOptions`",
    note = "pass `&Retry::default()`, or `&TxOptions::default().isolation(..)`"
)]
pub trait Policy {
    #[doc(hidden)]
    fn retries(&self) -> &Retry;

    #[doc(hidden)]
    fn begins(&self) -> Begin;
}

impl Policy for Retry {
    fn retries(&self) -> &Retry {
        self
    }

    fn begins(&self) -> Begin {
        Begin::default()
    }
}

impl Policy for TxOptions {
    fn retries(&self) -> &Retry {
        &self.retry
    }

    fn begins(&self) -> Begin {
        self.begin
    }
}
