//! All that differs between servers: one file each, and nobody else asks which server it is.

mod multi;
#[cfg(feature = "mysql")]
mod mysql;
#[cfg(feature = "r2d2")]
mod pool;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "sqlite")]
pub mod sqlite;

use crate::error::{Error, Result};
use crate::fault::Row;
use diesel::backend::Backend;
use diesel::connection::{Connection, LoadConnection, TransactionManager};
use diesel::result::{Error as DieselError, QueryResult};

/// What one kind of server does and how it says it.
///
/// The same value whether a connection is a plain one, a pooled one, or one variant of a `MultiConnection`.
#[derive(Debug)]
pub struct Server {
    pub(crate) name: &'static str,
    /// What stands around an identifier.
    pub(crate) quote: &'static str,
    /// BEGIN with the intent to write, and the guard savepoint behind it.
    pub(crate) begin: &'static str,
    /// A statement that succeeds only where no transaction is open.
    pub(crate) begins_only_outside: Option<&'static str>,
    /// What ROLLBACK says where the transaction is already gone, if that is an error there.
    pub(crate) nothing_to_roll_back: Option<&'static str>,
    /// Whether a COMMIT that found the database busy left the transaction open, so that COMMIT can be sent again.
    pub(crate) commit_can_be_tried_again: bool,
    /// Whether UPDATE and DELETE may count rows of their own table in a subquery.
    pub(crate) counts_its_own_rows: bool,
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

    /// BEGIN with the intent to write, and the guard savepoint; while it fails and `again` says so, once more. Diesel is not
    /// told.
    #[doc(hidden)]
    fn begin_to_write(&mut self, again: &mut dyn FnMut(&DieselError) -> bool) -> QueryResult<()> {
        let begin = self.server().begin;
        loop {
            match self.batch_execute(begin) {
                Err(error) if again(&error) => {}
                result => return result,
            }
        }
    }

    /// An operation of ours ends with this error. A `Tx` remembers it.
    #[doc(hidden)]
    fn note(&mut self, _error: &Error) {}

    /// What was noted is dealt with.
    #[doc(hidden)]
    fn forget(&mut self) {}

    /// The server behind this connection. Sends nothing.
    fn server(&mut self) -> &'static Server {
        let backend = self.backend();
        Dialect::server(&backend)
    }
}

/// How many transactions are open on the connection, savepoints counted, as far as Diesel knows.
pub(crate) fn depth<C: Connection>(conn: &mut C) -> QueryResult<u32> {
    let status = C::TransactionManager::transaction_manager_status_mut(conn);
    Ok(status.transaction_depth()?.map_or(0, |depth| depth.get()))
}

/// Lets a `Tx` know how an operation ended.
pub(crate) fn noted<C: Driver, T>(
    conn: &mut C,
    operation: impl FnOnce(&mut C) -> Result<T>,
) -> Result<T> {
    let result = operation(conn);
    if let Err(error) = &result {
        conn.note(error);
    }
    result
}
