//! The open transaction as a Diesel connection: it sees every error before anybody wraps it, and refuses to go on once the
//! transaction is over.

use super::locks::Locks;
use super::seen::{Ended, Suspect, TxState};
use super::timer::Timer;
use super::turn::Turns;
use super::tx_connection::TxManager;
use crate::backend::{Bundle, Checkup, Driver, Limit, LockedRows, Turn, depth, diagnose};
use crate::error::{Error, Result};
use crate::fault::Fault;
use diesel::connection::TransactionManager;
use diesel::result::{Error as DieselError, QueryResult};
use std::time::{Duration, Instant};

/// An open transaction, and a Diesel connection: plain Diesel queries, `tx.transaction(..)` and everything of
/// [`VersionedConnection`](crate::VersionedConnection) work on it.
///
/// It remembers what went wrong in it, so that a swallowed error is not lost: a race that was lost is what makes
/// [`transact`](crate::VersionedConnection::transact) run the closure again when the closure ends in an error, whatever
/// that error has become. Once the server has ended the transaction, no further statement is sent: it would be committed
/// at once and alone. Each answers [`Error::Poisoned`] then, and so does `transact`.
///
/// On PostgreSQL every failed statement aborts the transaction until it goes back to a savepoint: what is sent meanwhile is
/// answered with [`Error::Poisoned`], whose source is the first failure. On MySQL and MariaDB a statement that did not get its
/// lock in time is missing from what a COMMIT would store, so `transact` refuses to send one, unless the closure goes back to
/// a savepoint or says [`handled`](Tx::handled). A [`Lock`](crate::Lock) that is refused as it asked to be spoils nothing.
///
/// # Drop
///
/// A `Tx` is lent to the closure and cannot be kept. `transact` commits or rolls back when the closure returns; when it
/// panics, everything is rolled back before the panic goes on.
pub struct Tx<'a, C: Driver> {
    pub(super) conn: &'a mut C,
    pub(super) state: TxState,
    turns: &'a mut Turns<C>,
    /// Of the outermost transaction, which gives the locks back.
    locks: Option<(Locks, &'a dyn Timer)>,
}

impl<'a, C: Driver> Tx<'a, C> {
    pub(super) fn new(
        conn: &'a mut C,
        state: TxState,
        turns: &'a mut Turns<C>,
        locks: Option<(Locks, &'a dyn Timer)>,
    ) -> Self {
        Tx {
            conn,
            state,
            turns,
            locks,
        }
    }

    pub(super) fn into_parts(mut self) -> (TxState, Option<Locks>) {
        self.ask();
        (self.state, self.locks.map(|(locks, _)| locks))
    }

    /// The connection itself, for code that wants `&mut SqliteConnection`, or for what Diesel implements on concrete
    /// connections only. Errors of statements that run on it are not seen by the transaction.
    ///
    /// # Errors
    ///
    /// [`Error::Poisoned`] and [`Error::TransactionEnded`] when the transaction is over.
    pub fn conn(&mut self) -> Result<&mut C> {
        self.open()?;
        self.state.may_have_ended(true);
        Ok(self.conn)
    }

    /// Says that the closure has dealt with what went wrong so far: an error that it returns from here on is final and
    /// does not make the closure run again, and a statement that is missing for want of a lock does not keep the rest from being
    /// committed. An error that ended or aborted the transaction cannot be undone by it.
    pub fn handled(&mut self) {
        if self.state.ended.is_none() {
            self.state.handled();
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
    pub(super) fn open(&mut self) -> QueryResult<()> {
        self.ask();
        let suspect = self.state.suspect.take();
        if self.state.ended.is_none() && self.is_over(suspect)? {
            let ended = suspect.map_or(Ended::Unaccounted, |suspect| suspect.verdict());
            self.state.ended = Some(ended);
            self.state.server_ended = true;
        }
        match self.state.ended {
            None => Ok(()),
            Some(ended) => Err(DieselError::QueryBuilderError(Box::new(
                self.state.error(ended),
            ))),
        }
    }

    /// Whether no transaction is open any more.
    fn is_over(&mut self, suspect: Option<Suspect>) -> QueryResult<bool> {
        // PostgreSQL's connection is told so with every answer.
        if matches!(depth(self.conn), Ok(0)) {
            return Ok(true);
        }
        let (Some(_), Some(probe)) = (suspect, self.state.server.only_outside) else {
            return Ok(false);
        };
        if self.conn.batch_execute(probe).is_err() {
            return Ok(false);
        }
        self.conn.batch_execute(self.state.server.roll_back_alone)?;
        Ok(true)
    }

    /// Sends a statement, and remembers what became of it.
    pub(super) fn watched<T>(
        &mut self,
        statement: impl FnOnce(&mut C) -> QueryResult<T>,
    ) -> QueryResult<T> {
        self.open()?;
        self.sent(statement)
    }

    /// The same for a transaction that is known to be open.
    pub(super) fn sent<T>(
        &mut self,
        statement: impl FnOnce(&mut C) -> QueryResult<T>,
    ) -> QueryResult<T> {
        let depth = depth(self.conn)?;
        match statement(self.conn) {
            Ok(value) => {
                self.state.succeeded();
                Ok(value)
            }
            Err(error) => {
                let error = self.state.instead_of(error);
                let verdict = diagnose(self.conn, &error);
                self.state.see(&error, verdict, depth);
                Err(error)
            }
        }
    }

    /// After a failed SELECT, as long as the connection was lent to its rows: asks the server what the failure was, where its
    /// words did not tell, and tells the connection.
    fn ask(&mut self) {
        if let Some((error, depth)) = self.state.unasked.take() {
            let verdict = diagnose(self.conn, &error);
            self.state.see(&error, verdict, depth);
        }
        if std::mem::take(&mut self.state.load_failed) {
            self.conn.load_failed();
        }
    }
}

impl<C: Driver> Driver for Tx<'_, C> {
    fn backend(&mut self) -> C::Backend {
        self.conn.backend()
    }

    fn begin(&mut self, _: &str, _: &mut dyn FnMut(&DieselError) -> bool) -> QueryResult<Bundle> {
        Err(DieselError::AlreadyInTransaction)
    }

    fn number_of(&mut self, message: &str) -> QueryResult<Option<u32>> {
        self.conn.number_of(message)
    }

    fn is_watched(&self) -> bool {
        true
    }

    fn current_read(&mut self) -> QueryResult<Option<&'static str>> {
        match self.state.reads_what_is_committed() {
            true => Ok(None),
            false => self.conn.current_read(),
        }
    }

    fn limit(&mut self, limit: Duration) -> QueryResult<Option<Limit>> {
        self.watched(|conn| conn.limit(limit))
    }

    fn began_with_lock(&self) -> bool {
        self.locks.is_some() || self.conn.began_with_lock()
    }

    fn now(&self) -> Instant {
        match &self.locks {
            Some((_, clock)) => clock.now(),
            None => self.conn.now(),
        }
    }

    fn locked(&mut self, rows: &LockedRows<'_>) {
        match &mut self.locks {
            Some((locks, clock)) => locks.add(rows, self.state.server.locks_at_begin, *clock),
            None => self.conn.locked(rows),
        }
    }

    fn may_be_refused(&mut self) {
        self.state.may_be_refused();
        self.conn.may_be_refused();
    }

    fn was_refused(&mut self) {
        self.state.was_refused();
        self.conn.was_refused();
    }

    fn examine(&mut self) -> QueryResult<Checkup> {
        self.watched(C::examine)
    }

    fn note(&mut self, error: &Error) {
        self.state.note(error);
        self.conn.note(error);
    }

    fn lost(&mut self, row: impl Turn<C::Backend>) {
        self.turns.lost(row.clone());
        // It is for the outermost one to run again.
        self.conn.lost(row);
    }

    fn forget(&mut self) {
        self.handled();
    }
}
