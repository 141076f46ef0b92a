//! Every model whose queries a backend can render is a [`Record`] on it, and every changeset of its table its [`Changes`].

use super::column::is_plain;
use super::lock_rows::{Locked, clause};
use super::run::{load_all, load_first};
use super::shape::{
    self, BUMP, BUMP_ALONE, Expected, From, LOCK_UPDATE, LOCK_WRITE, Shape, WRITE, WRITE_ALONE,
    fixed,
};
use super::states::state;
use super::update::{CheckedUpdate, ReturningClause};
use super::version_in_changes;
use crate::backend::{Dialect, Driver, Kept, Lock, LockClause, Reread, Returning, read, write};
use crate::error::{Error, NoSoftDelete, NotFound, Result};
use crate::model::{
    Aim, Changes, Guard, Load, NoChanges, NoGuard, Record, State, VersionValue, Versioned,
};
use diesel::deserialize::FromSqlRow;
use diesel::expression::{Expression, QueryMetadata};
use diesel::query_builder::{AsChangeset, AsQuery, QueryFragment, QueryId};
use diesel::query_source::QuerySource;
use diesel::result::QueryResult;
use diesel::sql_types::Integer;

type SqlTypeOf<Q> = <Q as AsQuery>::SqlType;

#[diagnostic::do_not_recommend]
impl<M, DB> Load<DB> for M
where
    DB: Dialect,
    M: Shape + 'static,
    <M::Find as AsQuery>::Query: QueryFragment<DB> + QueryId,
    DB: QueryMetadata<SqlTypeOf<M::Find>>,
    M: FromSqlRow<SqlTypeOf<M::Find>, DB>,
{
    fn load<C: Driver<Backend = DB>>(conn: &mut C, key: &M::Key) -> Result<Option<M>> {
        // No LIMIT: it would be bound, and SQLite would prepare the statement each time.
        read(conn, |conn| load_first(conn, M::find(key).as_query()))
    }

    fn load_locked<C: Driver<Backend = DB>>(
        conn: &mut C,
        key: &M::Key,
        clause: &LockClause,
    ) -> QueryResult<Option<M>> {
        let (query, clause, of) = (M::find(key).as_query(), clause.clone(), None);
        let (kept, query) = (clause.kept, Locked { query, clause, of });
        // A key may be written as an expression whose text is made at run time.
        let varies = !<<M::Find as AsQuery>::Query as QueryId>::HAS_STATIC_QUERY_ID;
        match kept {
            Kept::AsWrite if !varies => load_first(conn, fixed::<M, LOCK_WRITE, _>(query)),
            Kept::AsUpdate if !varies => load_first(conn, fixed::<M, LOCK_UPDATE, _>(query)),
            _ => load_first(conn, query),
        }
    }

    fn load_current<C: Driver<Backend = DB>>(conn: &mut C, key: &M::Key) -> Result<Option<M>> {
        read(conn, |conn| match conn.current_read()? {
            None => load_first(conn, M::find(key).as_query()),
            Some(ending) => M::load_locked(conn, key, &LockClause::behind(ending, "")),
        })
    }
}

#[diagnostic::do_not_recommend]
impl<M, DB> Record<DB> for M
where
    DB: Dialect,
    M: Shape + Load<DB>,
    From<M>: QueryFragment<DB>,
    M::KeyFilter: QueryFragment<DB> + QueryId,
    Expected<M>: QueryFragment<DB>,
    for<'changes> M::Changes<'changes>: QueryId,
    for<'changes> <M::Changes<'changes> as AsChangeset>::Changeset: QueryFragment<DB>,
    (M::Version, i32): FromSqlRow<(M::VersionSql, Integer), DB>,
    DB: QueryMetadata<(M::VersionSql, Integer)>,
{
    fn write<C: Driver<Backend = DB>>(&self, conn: &mut C, aim: Aim<'_, M>) -> Result<usize> {
        let mut query = shape::update(aim, self.changes(), None::<&NoGuard>);
        query.empty = Some(query.changes.is_noop(&conn.backend())?);
        // A field or a key may be written as an expression whose text is made at run time.
        let varies = !<M::Changes<'_> as QueryId>::HAS_STATIC_QUERY_ID
            || !<M::KeyFilter as QueryId>::HAS_STATIC_QUERY_ID
            || aim.version.is_none_or(M::Version::is_null);
        write(conn, |conn| match (varies, aim.alone) {
            (true, _) => conn.execute_returning_count(&query),
            (false, false) => conn.execute_returning_count(&fixed::<M, WRITE, _>(query)),
            (false, true) => conn.execute_returning_count(&fixed::<M, WRITE_ALONE, _>(query)),
        })
    }

    fn bump<C: Driver<Backend = DB>>(conn: &mut C, aim: Aim<'_, M>) -> Result<usize> {
        let mut query = shape::update(aim, NoChanges::<M::Table>::new(), None::<&NoGuard>);
        query.empty = Some(true);
        let varies = !<M::KeyFilter as QueryId>::HAS_STATIC_QUERY_ID
            || aim.version.is_none_or(M::Version::is_null);
        write(conn, |conn| match (varies, aim.alone) {
            (true, _) => conn.execute_returning_count(&query),
            (false, false) => conn.execute_returning_count(&fixed::<M, BUMP, _>(query)),
            (false, true) => conn.execute_returning_count(&fixed::<M, BUMP_ALONE, _>(query)),
        })
    }

    fn take_turn<C: Driver<Backend = DB>>(conn: &mut C, key: &M::Key) -> Result<()> {
        let clause = clause(conn.server(), Lock::of_a_write())?;
        let (from, rows) = (M::table().from_clause(), M::key_filter(key));
        let query = shape::states::<M, NoGuard>(&from, &rows, None, Some(clause.strength));
        let _: Vec<(M::Version, i32)> = load_all(conn, query)?;
        Ok(())
    }

    fn delete<C: Driver<Backend = DB>>(conn: &mut C, aim: Aim<'_, M>) -> Result<usize> {
        write(conn, |conn| {
            conn.execute_returning_count(&shape::delete(aim))
        })
    }

    fn states<C, G>(
        conn: &mut C,
        key: &M::Key,
        guard: Option<&G>,
    ) -> Result<Vec<(M::Version, State)>>
    where
        C: Driver<Backend = DB>,
        G: Guard<M, DB>,
    {
        let (from, rows) = (M::table().from_clause(), M::key_filter(key));
        let rows: Vec<(M::Version, i32)> = read(conn, |conn| {
            let ending = conn.current_read()?;
            load_all(conn, shape::states::<M, G>(&from, &rows, guard, ending))
        })?;
        Ok(rows
            .into_iter()
            .map(|(version, number)| (version, state(number)))
            .collect())
    }
}

#[diagnostic::do_not_recommend]
impl<M, DB, Ch> Changes<M, DB> for Ch
where
    DB: Dialect,
    M: Shape,
    Ch: AsChangeset<Target = M::Table>,
    From<M>: QueryFragment<DB>,
    M::KeyFilter: QueryFragment<DB>,
    Ch::Changeset: QueryFragment<DB>,
    Expected<M>: QueryFragment<DB>,
    DB::Fetch: Fetch<M, DB>,
{
    fn run<C, G>(self, conn: &mut C, aim: Aim<'_, M>, guard: Option<&G>) -> Result<usize>
    where
        C: Driver<Backend = DB>,
        G: Guard<M, DB>,
    {
        let mut query = shape::update(aim, self, guard);
        let backend = conn.backend();
        query.empty = Some(query.changes.is_noop(&backend)?);
        version_in_changes::refuse::<M::VersionColumn, _, DB>(
            &query.changes,
            &backend,
            M::TABLE,
            || format!("{:?}", aim.key),
        )?;
        if aim.marks {
            let column = M::SOFT_DELETE.map(|mark| mark.column());
            let marked = match column {
                Some(column) => {
                    version_in_changes::assign(&query.changes, &backend, column, is_plain(column))?
                }
                None => false,
            };
            if !marked {
                let (table, key) = (M::TABLE, format!("{:?}", aim.key));
                return Err(Error::NoSoftDelete(NoSoftDelete { table, key, column }));
            }
        }
        write(conn, |conn| conn.execute_returning_count(&query))
    }

    fn run_returning<C: Driver<Backend = DB>>(self, conn: &mut C, aim: Aim<'_, M>) -> Result<Vec<M>>
    where
        M: Record<DB>,
    {
        <DB::Fetch as Fetch<M, DB>>::update_and_read(conn, aim, self)
    }
}

/// How the row comes back after a write: with it, or by another read.
#[doc(hidden)]
pub trait Fetch<M: Versioned, DB: Dialect> {
    fn update_and_read<C, Ch>(conn: &mut C, aim: Aim<'_, M>, changes: Ch) -> Result<Vec<M>>
    where
        C: Driver<Backend = DB>,
        Ch: AsChangeset<Target = M::Table> + Changes<M, DB>,
        Ch::Changeset: QueryFragment<DB>;
}

impl<M, DB, ST> Fetch<M, DB> for Returning
where
    DB: Dialect<Fetch = Returning> + QueryMetadata<ST>,
    M: Shape<Columns: Expression<SqlType = ST> + QueryFragment<DB>> + FromSqlRow<ST, DB>,
    From<M>: QueryFragment<DB>,
    M::KeyFilter: QueryFragment<DB>,
    Expected<M>: QueryFragment<DB>,
{
    fn update_and_read<C, Ch>(conn: &mut C, aim: Aim<'_, M>, changes: Ch) -> Result<Vec<M>>
    where
        C: Driver<Backend = DB>,
        Ch: AsChangeset<Target = M::Table> + Changes<M, DB>,
        Ch::Changeset: QueryFragment<DB>,
    {
        let CheckedUpdate {
            target,
            changes,
            empty,
            check,
            guard,
            returning: _,
        } = shape::update(aim, changes, None::<&NoGuard>);
        let backend = conn.backend();
        version_in_changes::refuse::<M::VersionColumn, _, DB>(
            &changes,
            &backend,
            M::TABLE,
            || format!("{:?}", aim.key),
        )?;
        let returning = ReturningClause(M::columns());
        let query = CheckedUpdate::<M::Table, _, _, _, _, _, _> {
            target,
            changes,
            empty,
            check,
            guard,
            returning,
        };
        write(conn, |conn| load_all(conn, query))
    }
}

impl<M, DB> Fetch<M, DB> for Reread
where
    DB: Dialect,
    M: Load<DB>,
{
    fn update_and_read<C, Ch>(conn: &mut C, aim: Aim<'_, M>, changes: Ch) -> Result<Vec<M>>
    where
        C: Driver<Backend = DB>,
        Ch: AsChangeset<Target = M::Table> + Changes<M, DB>,
        Ch::Changeset: QueryFragment<DB>,
    {
        match changes.run(conn, aim, None::<&NoGuard>)? {
            0 => Ok(Vec::new()),
            1 => match M::load(conn, aim.key)? {
                Some(row) => Ok(vec![row]),
                // Written, and deleted by somebody else before it could be read.
                None => Err(Error::NotFound(NotFound {
                    table: M::TABLE,
                    key: format!("{:?}", aim.key),
                })),
            },
            rows => Err(super::too_many(M::TABLE, format!("{:?}", aim.key), rows)),
        }
    }
}
