//! `SELECT .. FOR UPDATE`, on anything that Diesel can select.

use super::patience::{within, without_waiting};
use super::run::Own;
use super::words::{first_table, last_identifier};
use crate::backend::{
    Dialect, Driver, Kept, Lock, LockClause, LockedRows, Server, Strength, Wait, depth, noted, read,
};
use crate::error::{Error, LockTimeout, LockUnavailable, Result, Unsupported};
use diesel::RunQueryDsl;
use diesel::backend::Backend;
use diesel::query_builder::{AsQuery, AstPass, Query, QueryBuilder, QueryFragment, QueryId};
use diesel::query_dsl::methods::LoadQuery;
use diesel::query_source::QuerySource;
use diesel::result::{Error as DieselError, QueryResult};
use std::rc::Rc;
use std::time::Duration;

/// Locks the rows of a query until the end of the transaction, on anything that Diesel can select: a table, a `filter`, a join,
/// with an order and a limit.
pub trait LockRows: AsQuery + Sized {
    /// The query, with a lock on each row that it finds. Nothing is sent before [`load`](LockedQuery::load).
    ///
    /// ```
    /// # use diesel::prelude::*;
    /// # use diesel_occ::prelude::*;
    /// # diesel::table! { jobs (id) { id -> BigInt, done -> Bool, version -> BigInt, } }
    /// # #[derive(Debug, Clone, Queryable, Versioned)] #[diesel(table_name = jobs)]
    /// # struct Job { id: i64, done: bool, version: i64 }
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let mut conn = SqliteConnection::establish(":memory:")?;
    /// # diesel::sql_query("CREATE TABLE jobs (id BIGINT PRIMARY KEY, done BOOLEAN NOT NULL, version BIGINT NOT NULL)").execute(&mut conn)?;
    /// # diesel::sql_query("INSERT INTO jobs VALUES (1, 0, 0), (2, 0, 0)").execute(&mut conn)?;
    /// let open = jobs::table.filter(jobs::done.eq(false)).order(jobs::id).limit(1);
    ///
    /// conn.transact(&Retry::default(), |tx| -> diesel_occ::Result<()> {
    ///     let next = open.lock_rows(Lock::for_update().skip_locked());
    ///     for job in next.load::<Job>(tx)? {
    ///         tx.versioned_update(&job, jobs::done.eq(true))?;
    ///     }
    ///     Ok(())
    /// })?;
    /// # assert_eq!(jobs::table.filter(jobs::done.eq(true)).select(jobs::id).load::<i64>(&mut conn)?, [1]);
    /// # Ok(())
    /// # }
    /// ```
    fn lock_rows(self, lock: Lock) -> LockedQuery<Self::Query> {
        LockedQuery {
            query: self.as_query(),
            lock,
            of: AllTables,
        }
    }
}

impl<Q: AsQuery> LockRows for Q {}

/// A query that locks the rows it finds, by [`lock_rows`](LockRows::lock_rows).
#[derive(Debug, Clone, Copy)]
#[must_use = "a query does nothing until it is loaded"]
pub struct LockedQuery<Q, F = AllTables> {
    query: Q,
    lock: Lock,
    of: F,
}

impl<Q> LockedQuery<Q> {
    /// Locks the rows of this table alone (`FOR UPDATE OF`): PostgreSQL locks no row of the nullable side of an outer join, and
    /// says so. [`Error::Unsupported`] on MySQL and MariaDB, which lock the rows of every table that the query reads; on
    /// SQLite there is nothing smaller to lock.
    ///
    /// ```
    /// # #[cfg(feature = "postgres")] {
    /// # use diesel::prelude::*;
    /// # use diesel_occ::prelude::*;
    /// # diesel::table! { products (id) { id -> BigInt, stock -> Integer, } }
    /// # diesel::table! { notes (id) { id -> BigInt, product_id -> BigInt, } }
    /// # diesel::joinable!(notes -> products (product_id));
    /// # diesel::allow_tables_to_appear_in_same_query!(products, notes);
    /// # fn look(conn: &mut PgConnection) -> Result<(), Box<dyn std::error::Error>> {
    /// let stock = products::table.left_join(notes::table).select((products::stock, notes::id.nullable()));
    /// let rows = conn.transact(&Retry::default(), |tx| {
    ///     stock.lock_rows(Lock::for_update()).of(products::table).load::<(i32, Option<i64>)>(tx)
    /// })?;
    /// # let _ = rows;
    /// # Ok(())
    /// # }
    /// # }
    /// ```
    pub fn of<T: QuerySource>(self, table: T) -> LockedQuery<Q, T::FromClause> {
        LockedQuery {
            query: self.query,
            lock: self.lock,
            of: table.from_clause(),
        }
    }
}

impl<Q, F> LockedQuery<Q, F> {
    /// Answers the rows, which are locked until the transaction ends. One statement; on PostgreSQL three with
    /// [`no_wait`](Lock::no_wait) and four with [`within`](Lock::within), so that a refusal leaves the transaction usable.
    ///
    /// # Errors
    ///
    /// - [`Error::NotInTransaction`], before any SQL: the locks would be gone at once.
    /// - [`Error::Unsupported`], before any SQL: the server has no such lock. On SQLite also inside a transaction of Diesel's own,
    ///   which has not begun with the lock.
    /// - [`Error::LockUnavailable`] with `no_wait`, and [`Error::LockTimeout`] with `within`: somebody else holds one of the
    ///   rows. Neither is run again by a [`Retry`](crate::Retry). The rows that come before it stay locked on MySQL and MariaDB,
    ///   where only the end of the transaction gives a lock back; PostgreSQL has given them back.
    /// - [`Error::Database`]: the server refused the statement, or its own lock timeout or a deadlock ended it.
    pub fn load<'query, U>(self, conn: &mut impl Loads<'query, Q, U, F>) -> Result<Vec<U>> {
        let query = Again(Rc::new(self.query));
        noted(conn, |conn| {
            let server = ready(conn, self.lock)?;
            let of = conn.name(&self.of)?;
            if of.is_some() && !server.locks_one_table && !server.locks_at_begin {
                return Err(lacks(server, "FOR UPDATE OF"));
            }
            let (asked, table) = (conn.now(), first_table::<Q>());
            let send = |conn: &mut _, wait: Wait| {
                let clause = clause(server, Lock { wait, ..self.lock }).map_err(in_diesel)?;
                let (query, of) = (Again(Rc::clone(&query.0)), of.clone());
                Loads::load_locked(conn, Locked { query, clause, of })
            };
            let whole = || "(a query)".to_owned();
            let rows = match self.lock.wait {
                Wait::AsTheServerDoes | Wait::Skip => {
                    read(conn, |conn| send(conn, self.lock.wait))?
                }
                Wait::No => without_waiting(conn, |conn| send(conn, Wait::No))?
                    .ok_or_else(|| unavailable(table, whole()))?,
                Wait::Within(Duration::ZERO) => without_waiting(conn, |conn| send(conn, Wait::No))?
                    .ok_or_else(|| timeout(table, whole(), Duration::ZERO))?,
                Wait::Within(_) => {
                    let limit = self.lock.limit().unwrap_or_default();
                    let answer = within(conn, limit, |conn, left| send(conn, Wait::Within(left)))?;
                    answer.ok_or_else(|| timeout(table, whole(), limit))?
                }
            };
            conn.locked(&LockedRows {
                table,
                key: None,
                rows: rows.len(),
                asked,
            });
            Ok(rows)
        })
    }
}

/// Whether a lock can be taken here; answers the server.
pub(crate) fn ready<C: Driver>(conn: &mut C, lock: Lock) -> Result<&'static Server> {
    let server = conn.server();
    clause(server, lock)?;
    if depth(conn)? == 0 {
        return Err(Error::NotInTransaction);
    }
    if server.locks_at_begin && !conn.began_with_lock() {
        return Err(lacks(
            server,
            "row locks in a transaction that has not begun with the write lock: begin it by `transact`",
        ));
    }
    Ok(server)
}

pub(crate) fn clause(server: &'static Server, lock: Lock) -> Result<LockClause> {
    let clause = (server.lock)(lock.strength, lock.wait).map_err(|what| lacks(server, what))?;
    let kept = match (lock.strength, lock.wait) {
        (Strength::Write, Wait::AsTheServerDoes) => Kept::AsWrite,
        (Strength::Update, Wait::AsTheServerDoes) => Kept::AsUpdate,
        _ => clause.kept,
    };
    Ok(LockClause { kept, ..clause })
}

fn lacks(server: &'static Server, what: &'static str) -> Error {
    let server = server.name;
    Error::Unsupported(Unsupported { server, what })
}

pub(crate) fn in_diesel(error: Error) -> DieselError {
    DieselError::QueryBuilderError(Box::new(error))
}

pub(crate) fn unavailable(table: &'static str, key: String) -> Error {
    Error::LockUnavailable(LockUnavailable { table, key })
}

pub(crate) fn timeout(table: &'static str, key: String, waited: Duration) -> Error {
    let what = format!("{table} {key}");
    Error::LockTimeout(LockTimeout { what, waited })
}

/// A locking query of every table in it.
#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
pub struct AllTables;

impl<DB: Backend> QueryFragment<DB> for AllTables {
    fn walk_ast<'b>(&'b self, _: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        Ok(())
    }
}

/// A connection on which a locked query can be loaded as a type.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "the rows of this query cannot be loaded as `{U}` on `{Self}`",
    note = "`{U}` is to be what `load` of the query without `lock_rows` would take"
)]
pub trait Loads<'query, Q, U, F>: Driver {
    /// The name of the table that alone is to be locked.
    fn name(&mut self, of: &F) -> QueryResult<Option<String>>;

    fn load_locked(&mut self, query: Locked<Again<Q>>) -> QueryResult<Vec<U>>;
}

#[diagnostic::do_not_recommend]
impl<'query, C, Q, U, F> Loads<'query, Q, U, F> for C
where
    C: Driver,
    Locked<Again<Q>>: LoadQuery<'query, C, U>,
    F: QueryFragment<C::Backend>,
{
    fn name(&mut self, of: &F) -> QueryResult<Option<String>> {
        let backend = self.backend();
        let mut sql = C::Backend::query_builder(&backend);
        of.to_sql(&mut sql, &backend)?;
        Ok(last_identifier(&sql.finish(), self.server().quote).map(str::to_owned))
    }

    fn load_locked(&mut self, query: Locked<Again<Q>>) -> QueryResult<Vec<U>> {
        query.load(self)
    }
}

/// A query that may be sent more than once.
#[doc(hidden)]
pub struct Again<Q>(Rc<Q>);

impl<Q: Query> Query for Again<Q> {
    type SqlType = Q::SqlType;
}

impl<Q: QueryFragment<DB>, DB: Backend> QueryFragment<DB> for Again<Q> {
    fn walk_ast<'b>(&'b self, out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        self.0.walk_ast(out)
    }
}

/// A SELECT with what makes it a locking one.
#[doc(hidden)]
pub struct Locked<Q> {
    pub(super) query: Q,
    pub(super) clause: LockClause,
    /// The one table whose rows are locked, in quotes.
    pub(super) of: Option<String>,
}

impl<Q: Query> Query for Locked<Q> {
    type SqlType = Q::SqlType;
}

impl<Q, C> RunQueryDsl<C> for Locked<Q> {}

impl<Q> QueryId for Locked<Q> {
    type QueryId = Own;
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl<Q: QueryFragment<DB>, DB: Dialect> QueryFragment<DB> for Locked<Q> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        if self.clause.kept == Kept::Not {
            out.unsafe_to_cache_prepared();
        }
        out.push_sql(&self.clause.before);
        self.query.walk_ast(out.reborrow())?;
        out.push_sql(self.clause.strength);
        if let Some(table) = &self.of
            && DB::server(out.backend()).locks_one_table
        {
            out.push_sql(" OF ");
            out.push_sql(table);
        }
        out.push_sql(&self.clause.wait);
        Ok(())
    }
}
