//! The checked update and delete of the one row that a query finds, and their verdict.

use super::check::{Check, Form, Target, must_be_alone};
use super::delete::CheckedDelete;
use super::explain::{Refusal, too_many};
use super::run::load_all;
use super::states::{States, state};
use super::unchecked::{UncheckedUpdate, VersionSql};
use super::update::{CheckedUpdate, NoReturning};
use super::version_in_changes;
use super::words::{key_in_words, table_name};
use crate::backend::{Driver, noted, read, write};
use crate::error::{Error, Result};
use crate::model::{NoGuard, State, VersionValue};
use diesel::deserialize::FromSqlRow;
use diesel::expression::{AsExpression, Expression, QueryMetadata};
use diesel::query_builder::{IntoUpdateTarget, QueryFragment};
use diesel::query_source::{Column, QuerySource, Table};
use diesel::sql_types::Integer;
use std::marker::PhantomData;

/// The one row that a query is to be, and the version it is to have.
pub(super) struct Find<T: QuerySource, W, Vc, V> {
    from: T::FromClause,
    rows: W,
    expected: V,
    column: PhantomData<Vc>,
}

impl<T: Table, W, Vc, V: VersionValue> Find<T, W, Vc, V> {
    pub(super) fn new<Q>(query: Q, _: Vc, expected: V) -> Self
    where
        Q: IntoUpdateTarget<Table = T, WhereClause = W>,
    {
        let query = query.into_update_target();
        Find {
            from: query.table.from_clause(),
            rows: query.where_clause,
            expected,
            column: PhantomData,
        }
    }

    fn target(self, alone: bool, form: Form) -> (Target<T::FromClause, W>, V) {
        (
            Target {
                from: self.from,
                rows: self.rows,
                form,
                soft_delete: None,
                alone,
            },
            self.expected,
        )
    }
}

/// A checked update of one row, by [`UpdateIf::update_if`](super::UpdateIf::update_if).
#[must_use = "a query does nothing until it is executed"]
pub struct UpdateOneIf<T: QuerySource, W, Ch, Vc, V> {
    find: Find<T, W, Vc, V>,
    changes: Ch,
}

impl<T: QuerySource, W, Ch, Vc, V> UpdateOneIf<T, W, Ch, Vc, V> {
    pub(super) fn new(find: Find<T, W, Vc, V>, changes: Ch) -> Self {
        UpdateOneIf { find, changes }
    }
}

impl<T, W, Ch, Vc, V> UpdateOneIf<T, W, Ch, Vc, V>
where
    T: Table,
    Vc: Column<Table = T> + Expression<SqlType: VersionSql>,
    V: VersionValue + AsExpression<Vc::SqlType>,
{
    /// Runs it, one round trip, and answers the new version. After a refusal one more statement reads why.
    ///
    /// # Errors
    ///
    /// [`Error::Conflict`] when the row has another version or is not there: nothing was written. `Suppressed`,
    /// `TooManyRows`, `VersionOverflow` and `VersionInChanges` as for
    /// [`versioned_update`](crate::VersionedConnection::versioned_update). The key of each is the WHERE of the query,
    /// without its values.
    pub fn execute<C>(self, conn: &mut C) -> Result<V>
    where
        C: Driver,
        T::FromClause: QueryFragment<C::Backend>,
        W: QueryFragment<C::Backend>,
        Ch: QueryFragment<C::Backend>,
        V::Expression: QueryFragment<C::Backend>,
        (V, i32): FromSqlRow<(Vc::SqlType, Integer), C::Backend>,
        C::Backend: QueryMetadata<(Vc::SqlType, Integer)>,
    {
        noted(conn, |conn| {
            let table = table_name::<T>();
            let backend = conn.backend();
            let key = key_in_words(&self.find.rows, &backend)?;
            let alone = must_be_alone(conn)?;
            let (query, expected) = self.into_query(alone, Form::of(&key));
            let refusal = Refusal {
                table,
                key,
                expected: Some(&expected),
            };
            let new = refusal.next(&expected)?;
            version_in_changes::refuse::<Vc, _, _>(&query.changes, &backend, table, || {
                refusal.key.clone()
            })?;
            match write(conn, |conn| conn.execute_returning_count(&query))? {
                1 => Ok(new),
                0 => Err(look_again::<T, W, Vc, V, C>(conn, &query.target, &refusal)?),
                rows => Err(too_many(table, refusal.key, rows)),
            }
        })
    }

    /// The query without the verdict. Its `execute` answers the number of rows: **`Ok(0)` is the conflict**, which is easy to
    /// overlook, and nothing keeps it to one row.
    pub fn unchecked_query(self) -> UncheckedUpdate<T, W, Ch, Vc, V::Expression> {
        UncheckedUpdate(self.into_query(false, Form::Loose).0)
    }

    fn into_query(
        self,
        alone: bool,
        form: Form,
    ) -> (CheckedUpdate<T, W, Ch, Vc, V::Expression>, V) {
        let (target, expected) = self.find.target(alone, form);
        let check = Check::at(&expected, expected.clone().as_expression());
        (
            CheckedUpdate {
                target,
                empty: None,
                changes: self.changes,
                check,
                guard: None,
                returning: NoReturning,
            },
            expected,
        )
    }
}

/// A checked delete of one row, by [`UpdateIf::delete_if`](super::UpdateIf::delete_if).
#[must_use = "a query does nothing until it is executed"]
pub struct DeleteOneIf<T: QuerySource, W, Vc, V> {
    find: Find<T, W, Vc, V>,
}

impl<T: QuerySource, W, Vc, V> DeleteOneIf<T, W, Vc, V> {
    pub(super) fn new(find: Find<T, W, Vc, V>) -> Self {
        DeleteOneIf { find }
    }
}

impl<T, W, Vc, V> DeleteOneIf<T, W, Vc, V>
where
    T: Table,
    Vc: Column<Table = T> + Expression<SqlType: VersionSql>,
    V: VersionValue + AsExpression<Vc::SqlType>,
{
    /// Runs it, one round trip. After a refusal one more statement reads why.
    ///
    /// # Errors
    ///
    /// As [`UpdateOneIf::execute`].
    pub fn execute<C>(self, conn: &mut C) -> Result<()>
    where
        C: Driver,
        T::FromClause: QueryFragment<C::Backend>,
        W: QueryFragment<C::Backend>,
        V::Expression: QueryFragment<C::Backend>,
        (V, i32): FromSqlRow<(Vc::SqlType, Integer), C::Backend>,
        C::Backend: QueryMetadata<(Vc::SqlType, Integer)>,
    {
        noted(conn, |conn| {
            let table = table_name::<T>();
            let key = key_in_words(&self.find.rows, &conn.backend())?;
            let (target, expected) = self.find.target(must_be_alone(conn)?, Form::of(&key));
            let check = Check::at(&expected, expected.clone().as_expression());
            let query = CheckedDelete::<T, W, Vc, V::Expression> { target, check };
            let refusal = Refusal {
                table,
                key,
                expected: Some(&expected),
            };
            match write(conn, |conn| conn.execute_returning_count(&query))? {
                1 => Ok(()),
                0 => Err(look_again::<T, W, Vc, V, C>(conn, &query.target, &refusal)?),
                rows => Err(too_many(table, refusal.key, rows)),
            }
        })
    }
}

/// Reads what the refused write has met.
fn look_again<T, W, Vc, V, C>(
    conn: &mut C,
    target: &Target<T::FromClause, W>,
    refusal: &Refusal<'_, V>,
) -> Result<Error>
where
    T: Table,
    Vc: Column<Table = T> + Expression,
    V: VersionValue,
    C: Driver,
    T::FromClause: QueryFragment<C::Backend>,
    W: QueryFragment<C::Backend>,
    (V, i32): FromSqlRow<(Vc::SqlType, Integer), C::Backend>,
    C::Backend: QueryMetadata<(Vc::SqlType, Integer)>,
{
    let rows: Vec<(V, i32)> = read(conn, |conn| {
        let query = States::<T, W, Vc, NoGuard> {
            from: &target.from,
            rows: &target.rows,
            soft_delete: None,
            guard: None,
            ending: conn.current_read()?,
            column: PhantomData,
        };
        load_all(conn, query)
    })?;
    let rows: Vec<(V, State)> = rows
        .into_iter()
        .map(|(version, number)| (version, state(number)))
        .collect();
    Ok(refusal
        .cause(&rows)
        .unwrap_or_else(|| refusal.suppressed(&rows)))
}
