//! All that differs between servers: one file each, and nobody else asks which server it is.

mod ask;
mod begin;
mod checkup;
#[cfg(feature = "mysql")]
mod flavor;
mod lock;
mod multi;
#[cfg(feature = "mysql")]
mod mysql;
#[cfg(feature = "r2d2")]
mod pool;
#[cfg(feature = "postgres")]
mod postgres;
mod send;
#[cfg(feature = "sqlite")]
pub mod sqlite;

pub use begin::{Begin, Bundle, IsolationLevel};
pub use checkup::{Checkup, Warning, check};
pub(crate) use lock::{Kept, Strength, Wait};
pub use lock::{Limit, Lock, LockClause};
pub(crate) use send::{diagnose, noted, read, write};

use crate::error::{Error, Result};
use crate::fault::Row;
use begin::BeginSql;
use diesel::backend::Backend;
use diesel::connection::{Connection, LoadConnection, TransactionManager};
use diesel::result::{DatabaseErrorKind, Error as DieselError, QueryResult};
use lock::LockSql;
use std::fmt;
use std::time::{Duration, Instant};

/// What one kind of server does and how it says it.
///
/// The same value whether a connection is a plain one, a pooled one, or one variant of a `MultiConnection`.
#[derive(Debug)]
pub struct Server {
    pub(crate) name: &'static str,
    /// What stands around an identifier.
    pub(crate) quote: &'static str,
    /// BEGIN, where it can be said with the intent to write, and the guard savepoint behind it.
    pub(crate) begin: BeginSql,
    /// A statement that succeeds only where no transaction is open; `None` where Diesel's connection is told by the server.
    pub(crate) only_outside: Option<&'static str>,
    /// Whether a statement of the user's may end the transaction: a reason to ask. `None` where there is nothing to ask.
    pub(crate) may_end: Option<fn(&str) -> bool>,
    /// The guard's release, and COMMIT.
    pub(crate) commit: &'static str,
    /// COMMIT alone, where it can be tried again.
    pub(crate) commit_alone: &'static str,
    /// Back to the guard, and ROLLBACK.
    pub(crate) roll_back: &'static str,
    /// ROLLBACK alone, and whatever else a transaction that ended otherwise may have left behind.
    pub(crate) roll_back_alone: &'static str,
    /// What ROLLBACK says where the transaction is already gone, if that is an error there.
    pub(crate) nothing_to_roll_back: Option<&'static str>,
    /// Whether a COMMIT that found the database busy left the transaction open, so that COMMIT can be sent again.
    pub(crate) commit_can_be_tried_again: bool,
    /// Whether a failed statement aborts the transaction, until it is rolled back to a savepoint.
    pub(crate) any_error_aborts: bool,
    /// Whether UPDATE and DELETE may count rows of their own table in a subquery.
    pub(crate) counts_its_own_rows: bool,
    /// What makes a SELECT read the rows that a write in the same transaction has met, where a plain one shows those of an
    /// older snapshot.
    pub(crate) current_read: Option<&'static str>,
    /// The SQL for a lock on the rows of a SELECT.
    pub(crate) lock: LockSql,
    /// Whether BEGIN, as this crate sends it, takes the one lock that there is.
    pub(crate) locks_at_begin: bool,
    /// Whether a SELECT of several tables can lock the rows of one (`FOR UPDATE OF`).
    pub(crate) locks_one_table: bool,
    pub(crate) faults: &'static [Row],
}

impl Server {
    /// The server's name, as its makers write it.
    pub fn name(&self) -> &'static str {
        self.name
    }
}

/// A Diesel backend that this crate writes SQL for: `Sqlite`, `Pg`, `Mysql`, and the backend of a `MultiConnection` by
/// [`impl_multi_connection!`](crate::impl_multi_connection).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a backend that diesel_occ writes SQL for",
    note = "turn on the feature of its server: `sqlite`, `postgres` or `mysql`",
    note = "for a `#[derive(MultiConnection)]` enum write `diesel_occ::impl_multi_connection!(..)` beside it"
)]
pub trait Dialect: Backend + 'static {
    /// How `versioned_update_returning` gets the row: [`Returning`] or [`Reread`].
    #[doc(hidden)]
    type Fetch;

    /// The server that a value of this backend stands for.
    #[doc(hidden)]
    fn server(backend: &Self) -> &'static Server;

    /// An empty builder for that server.
    #[doc(hidden)]
    fn query_builder(backend: &Self) -> Self::QueryBuilder;
}

/// The server answers a write with the row.
#[doc(hidden)]
#[derive(Debug)]
pub struct Returning;

/// The row is read again after the write.
#[doc(hidden)]
#[derive(Debug)]
pub struct Reread;

/// A connection that this crate can work on: Diesel's own, a pooled one, a [`Tx`](crate::Tx), and a `MultiConnection` by
/// [`impl_multi_connection!`](crate::impl_multi_connection). Its methods are in
/// [`VersionedConnection`](crate::VersionedConnection).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a connection that diesel_occ knows",
    note = "it works on `SqliteConnection`, `PgConnection`, `MysqlConnection` (each behind its feature), on a pooled one of them, and on a `Tx`",
    note = "for a `#[derive(MultiConnection)]` enum write `diesel_occ::impl_multi_connection!(..)` beside it"
)]
pub trait Driver: LoadConnection<Backend: Dialect> {
    /// The backend as a value, which for a `MultiConnection` says which variant it is.
    #[doc(hidden)]
    fn backend(&mut self) -> Self::Backend;

    /// Begins, with the guard savepoint; while it fails and `again` says so, once more. Diesel is not told. Answers how the
    /// other statements around this transaction are to be sent.
    #[doc(hidden)]
    fn begin(
        &mut self,
        sql: &str,
        again: &mut dyn FnMut(&DieselError) -> bool,
    ) -> QueryResult<Bundle> {
        loop {
            match self.batch_execute(sql) {
                Err(error) if again(&error) => {}
                result => return result.map(|()| Bundle::Batch),
            }
        }
    }

    /// Sends the statements at the end of a transaction.
    #[doc(hidden)]
    fn end(&mut self, sql: &str, _bundle: Bundle) -> QueryResult<()> {
        self.batch_execute(sql)
    }

    /// The server's own number for the failure that it has answered last, if it tells one. An error when it does not answer.
    #[doc(hidden)]
    fn number_of(&mut self, _message: &str) -> QueryResult<Option<u32>> {
        Ok(None)
    }

    /// Whether the server still answers.
    #[doc(hidden)]
    fn answers(&mut self) -> bool {
        match self.batch_execute("SELECT 1") {
            Err(DieselError::DatabaseError(kind, _)) => !matches!(
                kind,
                DatabaseErrorKind::ClosedConnection | DatabaseErrorKind::UnableToSendCommand
            ),
            other => other.is_ok(),
        }
    }

    /// Whether what this connection has seen decides about its transaction: only a `Tx` does that.
    #[doc(hidden)]
    fn is_watched(&self) -> bool {
        false
    }

    /// What a SELECT ends in that is to read what a write would meet now.
    #[doc(hidden)]
    fn current_read(&mut self) -> QueryResult<Option<&'static str>> {
        Ok(match depth(self)? {
            0 => None,
            _ => self.server().current_read,
        })
    }

    /// Limits the time of the next statement of the transaction; `None` where a locking statement says its limit itself.
    #[doc(hidden)]
    fn limit(&mut self, _limit: Duration) -> QueryResult<Option<Limit>> {
        Ok(None)
    }

    /// A SELECT has failed.
    #[doc(hidden)]
    fn load_failed(&mut self) {}

    /// Whether the transaction has begun with the lock, where that is the server's one lock. Only a `Tx` knows.
    #[doc(hidden)]
    fn began_with_lock(&self) -> bool {
        false
    }

    /// The time, by the clock of the policy that the transaction runs by.
    #[doc(hidden)]
    fn now(&self) -> Instant {
        Instant::now()
    }

    /// The transaction has locked rows that it asked for at this time. A `Tx` reports it when it ends.
    #[doc(hidden)]
    fn locked(&mut self, _rows: &LockedRows<'_>) {}

    /// A lock is about to be asked for that may be refused.
    #[doc(hidden)]
    fn may_be_refused(&mut self) {}

    /// It was refused; nothing but the lock is missing.
    #[doc(hidden)]
    fn was_refused(&mut self) {}

    /// Looks at the server and the session, for [`check`](crate::check).
    #[doc(hidden)]
    fn examine(&mut self) -> QueryResult<Checkup>;

    /// An operation of ours ends with this error. A `Tx` remembers it.
    #[doc(hidden)]
    fn note(&mut self, _error: &Error) {}

    /// A write of this row has lost its race. A `Tx` remembers it for the next run.
    #[doc(hidden)]
    fn lost(&mut self, _row: impl Turn<Self::Backend>) {}

    /// What was noted is dealt with.
    #[doc(hidden)]
    fn forget(&mut self) {}

    /// The server behind this connection. Sends nothing.
    fn server(&mut self) -> &'static Server {
        let backend = self.backend();
        Dialect::server(&backend)
    }
}

/// Rows that a transaction has locked, for its report.
#[doc(hidden)]
pub struct LockedRows<'l> {
    pub(crate) table: &'static str,
    /// The key, where it is one row.
    pub(crate) key: Option<&'l dyn fmt::Debug>,
    pub(crate) rows: usize,
    pub(crate) asked: Instant,
}

/// A row for which a run can wait until its writers are done.
#[doc(hidden)]
pub trait Turn<DB: Dialect>: Clone + Send + 'static {
    /// Table and key, in an order that is the same for everybody.
    fn name(&self) -> (&'static str, String);

    /// Waits for the writers of the row, and takes its lock.
    fn take<C: Driver<Backend = DB>>(&self, conn: &mut C) -> Result<()>;
}

/// How many transactions are open on the connection, savepoints counted, as far as Diesel knows.
pub(crate) fn depth<C: Connection>(conn: &mut C) -> QueryResult<u32> {
    let status = C::TransactionManager::transaction_manager_status_mut(conn);
    Ok(status.transaction_depth()?.map_or(0, |depth| depth.get()))
}
