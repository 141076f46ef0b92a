//! The open transaction as a Diesel connection: it sees every error before anybody wraps it, and refuses to go on once the
//! transaction is over.

use super::attempt::Seen;
use crate::backend::{Driver, Server};
use crate::error::{Error, Poisoned, Result, TooManyRows, TransactionEnded};
use crate::fault::{Fault, classify};
use diesel::connection::{
    CacheSize, Connection, Instrumentation, LoadConnection, SimpleConnection,
    TransactionDepthChange, TransactionManager, TransactionManagerStatus,
};
use diesel::expression::QueryMetadata;
use diesel::query_builder::{Query, QueryFragment, QueryId};
use diesel::result::{Error as DieselError, QueryResult};

/// An open transaction, and a Diesel connection: plain Diesel queries, `tx.transaction(..)` and everything of
/// [`VersionedConnection`](crate::VersionedConnection) work on it.
///
/// It remembers what went wrong in it, so that a swallowed error is not lost: a race that was lost is what makes
/// [`transact`](crate::VersionedConnection::transact) run the closure again when the closure ends in an error, whatever
/// that error has become. Once the server has ended the transaction, no further statement is sent: it would be committed
/// at once and alone. Each answers [`Error::Poisoned`] then, and so does `transact`.
///
/// # Drop
///
/// A `Tx` is lent to the closure and cannot be kept. `transact` commits or rolls back when the closure returns; when it
/// panics, everything is rolled back before the panic goes on.
pub struct Tx<'a, C: Driver> {
    conn: &'a mut C,
    state: TxState,
}

/// What a transaction has seen.
#[doc(hidden)]
#[derive(Debug)]
pub struct TxState {
    server: &'static Server,
    pub(super) seen: Seen,
    pub(super) ended: Option<Ended>,
    /// Something has happened that may have ended the transaction; the database is asked before the next statement.
    pub(super) suspect: Option<Suspect>,
}

/// How a transaction was over before its closure was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    /// The server ended it with this failure.
    By(Fault),
    /// Nobody knows by what: a statement of the user's may have committed it.
    Unaccounted,
}

/// What may have ended a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Suspect {
    Error(Fault),
    Batch,
}

impl Suspect {
    /// Who ended the transaction, given that it is over. A busy database does not undo what a COMMIT of the user's has
    /// stored: what a retry might answer is not blamed without being sure.
    pub(super) fn verdict(self) -> Ended {
        match self {
            Suspect::Error(fault) if !fault.is_retryable() => Ended::By(fault),
            _ => Ended::Unaccounted,
        }
    }
}

impl TxState {
    fn see(&mut self, error: &DieselError) {
        let verdict = classify(self.server.faults, error);
        if verdict.fault.is_retryable() || verdict.fault == Fault::ConnectionLost {
            self.seen.fault = Some(verdict.fault);
        }
        if verdict.ends {
            self.ended.get_or_insert(Ended::By(verdict.fault));
        }
        if self.server.begins_only_outside.is_some() && self.suspect != Some(Suspect::Batch) {
            self.suspect = Some(Suspect::Error(verdict.fault));
        }
    }

    pub(super) fn error(ended: Ended, seen: &Seen) -> Error {
        match ended {
            Ended::By(fault) => Error::Poisoned(Poisoned { fault }),
            Ended::Unaccounted => Error::TransactionEnded(TransactionEnded { first: seen.fault }),
        }
    }
}

impl<'a, C: Driver> Tx<'a, C> {
    pub(super) fn new(conn: &'a mut C, server: &'static Server) -> Self {
        Tx {
            conn,
            state: TxState {
                server,
                seen: Seen::default(),
                ended: None,
                suspect: None,
            },
        }
    }

    pub(super) fn into_parts(self) -> (&'a mut C, TxState) {
        (self.conn, self.state)
    }

    /// The connection itself, for code that wants `&mut SqliteConnection`, or for what Diesel implements on concrete
    /// connections only. Errors of statements that run on it are not seen by the transaction.
    ///
    /// # Errors
    ///
    /// [`Error::Poisoned`] and [`Error::TransactionEnded`] when the transaction is over.
    pub fn conn(&mut self) -> Result<&mut C> {
        self.open()?;
        Ok(self.conn)
    }

    /// Says that the closure has dealt with what went wrong so far: an error that it returns from here on is final and
    /// does not make the closure run again. An error that ended the transaction cannot be undone by it.
    pub fn handled(&mut self) {
        if self.state.ended.is_none() {
            self.state.seen = Seen::default();
            self.conn.forget();
        }
    }

    /// The last failure that a retry may answer, if one was seen and not [`handled`](Tx::handled).
    pub fn fault(&self) -> Option<Fault> {
        self.state.seen.fault
    }

    /// Runs the closure behind a savepoint: its error takes back what it did, and the transaction goes on. The same type
    /// of handle, so that helpers may call each other to any depth.
    ///
    /// Two statements more. A failure that ended the whole transaction ends it here too.
    ///
    /// ```
    /// # use diesel::prelude::*;
    /// # use diesel_occ::prelude::*;
    /// # diesel::table! { products (id) { id -> BigInt, stock -> Integer, version -> BigInt, } }
    /// # #[derive(Debug, Clone, Queryable, Versioned)] #[diesel(table_name = products)]
    /// # struct Product { id: i64, stock: i32, version: i64 }
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let mut conn = SqliteConnection::establish(":memory:")?;
    /// # diesel::sql_query("CREATE TABLE products (id BIGINT PRIMARY KEY, stock INTEGER NOT NULL, version BIGINT NOT NULL)").execute(&mut conn)?;
    /// # diesel::sql_query("INSERT INTO products VALUES (1, 5, 7)").execute(&mut conn)?;
    /// conn.transact(&Retry::default(), |tx| -> diesel_occ::Result<()> {
    ///     let gift: diesel_occ::Result<()> = tx.savepoint(|tx| {
    ///         tx.touch(Product::at(1, 7))?;
    ///         tx.fetch::<Product>(2)?; // there is none
    ///         Ok(())
    ///     });
    ///     assert!(gift.is_err());
    ///     tx.verify(Product::at(1, 7)) // the touch is taken back
    /// })?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The closure's own; [`Error::Poisoned`] and [`Error::TransactionEnded`] when the transaction is over.
    pub fn savepoint<T, E>(&mut self, f: impl FnOnce(&mut Self) -> Result<T, E>) -> Result<T, E>
    where
        E: From<Error>,
    {
        struct Unwind<'t, 'a, C: Driver>(Option<&'t mut Tx<'a, C>>);
        impl<C: Driver> Drop for Unwind<'_, '_, C> {
            fn drop(&mut self) {
                if let Some(tx) = self.0.take() {
                    // The panic is what there is to report.
                    let _ = TxManager::rollback_transaction(tx);
                }
            }
        }

        TxManager::begin_transaction(self).map_err(Error::from)?;
        let mut unwind = Unwind(Some(self));
        let result = match &mut unwind.0 {
            Some(tx) => f(tx),
            None => return Err(Error::NotInTransaction.into()),
        };
        let Some(tx) = unwind.0.take() else {
            return Err(Error::NotInTransaction.into());
        };
        match result {
            Ok(value) => {
                TxManager::commit_transaction(tx).map_err(Error::from)?;
                Ok(value)
            }
            Err(error) => {
                TxManager::rollback_transaction(tx).map_err(Error::from)?;
                Err(error)
            }
        }
    }

    /// Whether a statement may still be sent. Asks the database where an error does not tell whether it has ended the
    /// transaction.
    fn open(&mut self) -> QueryResult<()> {
        if let (None, Some(suspect)) = (self.state.ended, self.state.suspect.take())
            && let Some(probe) = self.state.server.begins_only_outside
            && self.conn.batch_execute(probe).is_ok()
        {
            self.state.ended = Some(suspect.verdict());
            self.conn.batch_execute("ROLLBACK")?;
        }
        match self.state.ended {
            None => Ok(()),
            Some(ended) => Err(DieselError::QueryBuilderError(Box::new(TxState::error(
                ended,
                &self.state.seen,
            )))),
        }
    }

    fn watched<T>(&mut self, statement: impl FnOnce(&mut C) -> QueryResult<T>) -> QueryResult<T> {
        self.open()?;
        let result = statement(self.conn);
        if let Err(error) = &result {
            self.state.see(error);
        }
        result
    }
}

impl<C: Driver> Driver for Tx<'_, C> {
    fn backend(&mut self) -> C::Backend {
        self.conn.backend()
    }

    fn begin_to_write(&mut self) -> QueryResult<()> {
        Err(DieselError::AlreadyInTransaction)
    }

    fn note(&mut self, error: &Error) {
        match error {
            Error::Conflict(conflict) => {
                if conflict.is_retryable() {
                    self.state.seen.fault = Some(Fault::Conflict);
                }
                self.state.seen.conflict = Some(conflict.clone());
            }
            Error::LockUnavailable(_) | Error::LockTimeout(_) => {
                self.state.seen.fault = Some(Fault::LockTimeout)
            }
            // Found before any statement was sent.
            Error::Database(error @ DieselError::BrokenTransactionManager) => self.state.see(error),
            Error::TooManyRows(TooManyRows { written: true, .. }) => {
                self.state.ended.get_or_insert(Ended::By(Fault::Permanent));
            }
            _ => {}
        }
        self.conn.note(error);
    }

    fn forget(&mut self) {
        self.handled();
    }
}

/// Whether a batch may contain a statement that ends the transaction. Only a reason to ask the database.
fn mentions_an_end(sql: &str) -> bool {
    let sql = sql.to_ascii_uppercase();
    ["COMMIT", "ROLLBACK", "END"]
        .iter()
        .any(|word| sql.contains(word))
}

impl<C: Driver> SimpleConnection for Tx<'_, C> {
    fn batch_execute(&mut self, query: &str) -> QueryResult<()> {
        self.open()?;
        if self.state.server.begins_only_outside.is_some() && mentions_an_end(query) {
            self.state.suspect = Some(Suspect::Batch);
        }
        let result = self.conn.batch_execute(query);
        if let Err(error) = &result {
            self.state.see(error);
        }
        result
    }
}

// Diesel seals `Connection`; this is the door that `#[derive(MultiConnection)]` goes through.
impl<C: Driver> diesel::internal::derives::multiconnection::ConnectionSealed for Tx<'_, C> {}

impl<C: Driver> Connection for Tx<'_, C> {
    type Backend = C::Backend;
    type TransactionManager = TxManager;

    fn establish(_: &str) -> diesel::ConnectionResult<Self> {
        Err(diesel::ConnectionError::BadConnection(
            "a transaction is begun on a connection, not established".into(),
        ))
    }

    fn execute_returning_count<T>(&mut self, source: &T) -> QueryResult<usize>
    where
        T: QueryFragment<C::Backend> + QueryId,
    {
        self.watched(|conn| conn.execute_returning_count(source))
    }

    fn transaction_state(&mut self) -> &mut TxState {
        &mut self.state
    }

    fn instrumentation(&mut self) -> &mut dyn Instrumentation {
        self.conn.instrumentation()
    }

    fn set_instrumentation(&mut self, instrumentation: impl Instrumentation) {
        self.conn.set_instrumentation(instrumentation);
    }

    fn set_prepared_statement_cache_size(&mut self, size: CacheSize) {
        self.conn.set_prepared_statement_cache_size(size);
    }
}

/// The rows of a query: an error between two of them is seen too.
#[doc(hidden)]
pub struct TxCursor<'c, I> {
    rows: I,
    state: &'c mut TxState,
}

impl<T, I: Iterator<Item = QueryResult<T>>> Iterator for TxCursor<'_, I> {
    type Item = QueryResult<T>;

    fn next(&mut self) -> Option<Self::Item> {
        let row = self.rows.next();
        if let Some(Err(error)) = &row {
            self.state.see(error);
        }
        row
    }
}

impl<C: Driver + LoadConnection<B>, B> LoadConnection<B> for Tx<'_, C> {
    type Cursor<'conn, 'query>
        = TxCursor<'conn, <C as LoadConnection<B>>::Cursor<'conn, 'query>>
    where
        Self: 'conn;
    type Row<'conn, 'query>
        = <C as LoadConnection<B>>::Row<'conn, 'query>
    where
        Self: 'conn;

    fn load<'conn, 'query, T>(
        &'conn mut self,
        source: T,
    ) -> QueryResult<Self::Cursor<'conn, 'query>>
    where
        T: Query + QueryFragment<Self::Backend> + QueryId + 'query,
        Self::Backend: QueryMetadata<T::SqlType>,
    {
        self.open()?;
        let state = &mut self.state;
        match LoadConnection::<B>::load(&mut *self.conn, source) {
            Ok(rows) => Ok(TxCursor { rows, state }),
            Err(error) => {
                state.see(&error);
                Err(error)
            }
        }
    }
}

/// Savepoints inside a [`Tx`].
#[doc(hidden)]
#[derive(Debug)]
pub struct TxManager;

impl<C: Driver> TransactionManager<Tx<'_, C>> for TxManager {
    type TransactionStateData = TxState;

    fn begin_transaction(tx: &mut Tx<'_, C>) -> QueryResult<()> {
        tx.watched(C::TransactionManager::begin_transaction)
    }

    /// Where the server has ended everything there is no savepoint left to go back to; saying so would hide why.
    fn rollback_transaction(tx: &mut Tx<'_, C>) -> QueryResult<()> {
        match tx.open() {
            Ok(()) => tx.watched(C::TransactionManager::rollback_transaction),
            Err(_) => leave_savepoint(tx.conn),
        }
    }

    fn commit_transaction(tx: &mut Tx<'_, C>) -> QueryResult<()> {
        match tx.open() {
            Ok(()) => tx.watched(C::TransactionManager::commit_transaction),
            Err(error) => {
                leave_savepoint(tx.conn)?;
                Err(error)
            }
        }
    }

    fn transaction_manager_status_mut<'s>(
        tx: &'s mut Tx<'_, C>,
    ) -> &'s mut TransactionManagerStatus {
        C::TransactionManager::transaction_manager_status_mut(tx.conn)
    }
}

/// Tells Diesel that the innermost savepoint is gone, unless it knows: SQLite's connection notices by itself after a batch.
fn leave_savepoint<C: Connection>(conn: &mut C) -> QueryResult<()> {
    match C::TransactionManager::transaction_manager_status_mut(conn) {
        TransactionManagerStatus::Valid(status) if status.transaction_depth().is_some() => {
            status.change_transaction_depth(TransactionDepthChange::DecreaseDepth)
        }
        _ => Ok(()),
    }
}
