//! `Tx` as a Diesel connection: each statement goes through its watch.

use super::seen::TxState;
use super::tx::Tx;
use crate::backend::{Dialect, Driver, depth};
use diesel::connection::{
    CacheSize, Connection, Instrumentation, LoadConnection, SimpleConnection,
    TransactionDepthChange, TransactionManager, TransactionManagerStatus,
};
use diesel::expression::QueryMetadata;
use diesel::query_builder::{Query, QueryBuilder, QueryFragment, QueryId};
use diesel::result::{Error as DieselError, QueryResult};

/// The nodes of Diesel's whose text begins as its own code says, whatever the user has put into them.
const STATEMENTS: [&str; 6] = [
    "diesel::query_builder::select_statement::",
    "diesel::query_builder::insert_statement::",
    "diesel::query_builder::update_statement::",
    "diesel::query_builder::delete_statement::",
    "diesel::query_builder::combination_clause::",
    "diesel_occ::",
];

impl<C: Driver> Tx<'_, C> {
    /// Whether a query may end the transaction. What is known to be a SELECT or a write is not rendered once more.
    fn may_end<T>(&mut self, source: &T) -> bool
    where
        T: QueryFragment<C::Backend> + QueryId,
    {
        let Some(may_end) = self.state.server.may_end else {
            return false;
        };
        let name = std::any::type_name::<T>().trim_start_matches('&');
        if STATEMENTS.iter().any(|known| name.starts_with(known)) {
            return false;
        }
        let backend = self.conn.backend();
        let mut sql = C::Backend::query_builder(&backend);
        // What cannot be shown is asked about.
        source.to_sql(&mut sql, &backend).is_err() || may_end(&sql.finish())
    }
}

impl<C: Driver> SimpleConnection for Tx<'_, C> {
    fn batch_execute(&mut self, query: &str) -> QueryResult<()> {
        self.open()?;
        let an_end = self
            .state
            .server
            .may_end
            .is_some_and(|may_end| may_end(query));
        self.state.may_have_ended(an_end);
        self.sent(|conn| conn.batch_execute(query))
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
        let an_end = self.may_end(source);
        let result = self.watched(|conn| conn.execute_returning_count(source));
        self.state.may_have_ended(an_end);
        result
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
    depth: u32,
}

impl<T, I: Iterator<Item = QueryResult<T>>> Iterator for TxCursor<'_, I> {
    type Item = QueryResult<T>;

    fn next(&mut self) -> Option<Self::Item> {
        let row = self.rows.next();
        if let Some(Err(error)) = &row {
            self.state.see_unasked(error, self.depth);
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
        let an_end = self.may_end(&source);
        self.state.may_have_ended(an_end);
        let depth = depth(self.conn)?;
        let state = &mut self.state;
        match LoadConnection::<B>::load(&mut *self.conn, source) {
            Ok(rows) => {
                state.succeeded();
                Ok(TxCursor { rows, state, depth })
            }
            Err(error) => {
                let error = state.instead_of(error);
                state.see_unasked(&error, depth);
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
            Ok(()) => {
                tx.watched(C::TransactionManager::rollback_transaction)?;
                let depth = depth(tx.conn)?;
                tx.state.went_back_to(depth);
                Ok(())
            }
            Err(_) => leave_savepoint(tx.conn),
        }
    }

    fn commit_transaction(tx: &mut Tx<'_, C>) -> QueryResult<()> {
        if let Err(error) = tx.open() {
            leave_savepoint(tx.conn)?;
            return Err(error);
        }
        let depth = depth(tx.conn)?;
        match tx.state.spoils(depth) {
            None => tx.watched(C::TransactionManager::commit_transaction),
            Some(error) => {
                Self::rollback_transaction(tx)?;
                Err(DieselError::QueryBuilderError(Box::new(error)))
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
