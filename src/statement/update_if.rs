//! The checked write for people who live in Diesel's query builder.

use super::check::{Check, Target};
use super::delete::CheckedDelete;
use super::explain::{Refusal, too_many};
use super::run::load_all;
use super::states::{States, state};
use super::unchecked::{UncheckedUpdate, VersionSql};
use super::update::{CheckedUpdate, NoReturning};
use super::version_in_changes;
use crate::backend::{Dialect, Driver, depth};
use crate::error::{Error, Result};
use crate::model::{NoGuard, State, VersionValue};
use diesel::deserialize::FromSqlRow;
use diesel::expression::{AsExpression, Expression, QueryMetadata};
use diesel::query_builder::{AsChangeset, IntoUpdateTarget, QueryBuilder, QueryFragment};
use diesel::query_source::{Column, QuerySource, Table};
use diesel::sql_types::Integer;
use std::marker::PhantomData;

/// Writes that move the version, on anything that Diesel can update: a table, a `find`, a `filter`.
pub trait UpdateIf: IntoUpdateTarget<Table: Table> + Sized {
    /// An update of the one row of this query, if its version column still holds `expected`; it moves the version by one.
    /// Nothing is sent before [`execute`](UpdateOneIf::execute).
    ///
    /// ```
    /// # use diesel::prelude::*;
    /// # use diesel_occ::prelude::*;
    /// # diesel::table! { products (id) { id -> BigInt, stock -> Integer, version -> BigInt, } }
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let mut conn = SqliteConnection::establish(":memory:")?;
    /// # diesel::sql_query("CREATE TABLE products (id BIGINT PRIMARY KEY, stock INTEGER NOT NULL, version BIGINT NOT NULL)").execute(&mut conn)?;
    /// # diesel::sql_query("INSERT INTO products VALUES (1, 5, 7)").execute(&mut conn)?;
    /// let product = products::table.find(1);
    /// let version = product.update_if(products::version, 7, products::stock.eq(4)).execute(&mut conn)?;
    /// assert_eq!(version, 8);
    ///
    /// let stale = product.update_if(products::version, 7, products::stock.eq(3)).execute(&mut conn);
    /// assert!(matches!(stale, Err(diesel_occ::Error::Conflict(_))));
    /// # Ok(())
    /// # }
    /// ```
    fn update_if<Vc, V, Ch>(
        self,
        version: Vc,
        expected: V,
        changes: Ch,
    ) -> UpdateOneIf<Self::Table, Self::WhereClause, Ch::Changeset, Vc, V>
    where
        Vc: Column<Table = Self::Table> + Expression<SqlType: VersionSql>,
        V: VersionValue + AsExpression<Vc::SqlType>,
        Ch: AsChangeset<Target = Self::Table>,
    {
        UpdateOneIf {
            find: Find::new(self, version, expected),
            changes: changes.as_changeset(),
        }
    }

    /// A delete of the one row of this query, if its version column still holds `expected`. Nothing is sent before
    /// [`execute`](DeleteOneIf::execute).
    ///
    /// ```
    /// # use diesel::prelude::*;
    /// # use diesel_occ::prelude::*;
    /// # diesel::table! { products (id) { id -> BigInt, stock -> Integer, version -> BigInt, } }
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let mut conn = SqliteConnection::establish(":memory:")?;
    /// # diesel::sql_query("CREATE TABLE products (id BIGINT PRIMARY KEY, stock INTEGER NOT NULL, version BIGINT NOT NULL)").execute(&mut conn)?;
    /// # diesel::sql_query("INSERT INTO products VALUES (1, 5, 7)").execute(&mut conn)?;
    /// let stale = products::table.find(1).delete_if(products::version, 6).execute(&mut conn);
    /// assert!(matches!(stale, Err(diesel_occ::Error::Conflict(_))));
    /// products::table.find(1).delete_if(products::version, 7).execute(&mut conn)?;
    /// # Ok(())
    /// # }
    /// ```
    fn delete_if<Vc, V>(
        self,
        version: Vc,
        expected: V,
    ) -> DeleteOneIf<Self::Table, Self::WhereClause, Vc, V>
    where
        Vc: Column<Table = Self::Table> + Expression<SqlType: VersionSql>,
        V: VersionValue + AsExpression<Vc::SqlType>,
    {
        DeleteOneIf {
            find: Find::new(self, version, expected),
        }
    }

    /// An update of every row of this query, whatever its version, that moves the version of each by one: who has read one
    /// of them finds out. Its `execute`
    /// answers the number of rows. A row whose version cannot
    /// grow is left alone and not counted.
    ///
    /// ```
    /// # use diesel::prelude::*;
    /// # use diesel_occ::prelude::*;
    /// # diesel::table! { products (id) { id -> BigInt, stock -> Integer, version -> BigInt, } }
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let mut conn = SqliteConnection::establish(":memory:")?;
    /// # diesel::sql_query("CREATE TABLE products (id BIGINT PRIMARY KEY, stock INTEGER NOT NULL, version BIGINT NOT NULL)").execute(&mut conn)?;
    /// # diesel::sql_query("INSERT INTO products VALUES (1, 5, 7), (2, 3, 1)").execute(&mut conn)?;
    /// let low = products::table.filter(products::stock.lt(10));
    /// let rows = low.unchecked_update(products::version, products::stock.eq(10)).execute(&mut conn)?;
    /// assert_eq!(rows, 2);
    /// assert_eq!(products::table.select(products::version).load::<i64>(&mut conn)?, [8, 2]);
    /// # Ok(())
    /// # }
    /// ```
    fn unchecked_update<Vc, Ch>(
        self,
        version: Vc,
        changes: Ch,
    ) -> UncheckedUpdate<Self::Table, Self::WhereClause, Ch::Changeset, Vc, NoGuard>
    where
        Vc: Column<Table = Self::Table> + Expression<SqlType: VersionSql>,
        Ch: AsChangeset<Target = Self::Table>,
    {
        let _ = version;
        let query = self.into_update_target();
        let target = Target {
            from: query.table.from_clause(),
            rows: query.where_clause,
            by_key: false,
            soft_delete: None,
            alone: false,
        };
        UncheckedUpdate(CheckedUpdate {
            target,
            empty: None,
            changes: changes.as_changeset(),
            check: Check::growing(Vc::SqlType::MAX, Vc::SqlType::NULLABLE),
            guard: None,
            returning: NoReturning,
        })
    }
}

impl<Q: IntoUpdateTarget<Table: Table> + Sized> UpdateIf for Q {}

/// The one row that a query is to be, and the version it is to have.
struct Find<T: QuerySource, W, Vc, V> {
    from: T::FromClause,
    rows: W,
    expected: V,
    column: PhantomData<Vc>,
}

impl<T: Table, W, Vc, V: VersionValue> Find<T, W, Vc, V> {
    fn new<Q>(query: Q, _: Vc, expected: V) -> Self
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

    fn target(self, alone: bool) -> (Target<T::FromClause, W>, V) {
        (
            Target {
                from: self.from,
                rows: self.rows,
                by_key: false,
                soft_delete: None,
                alone,
            },
            self.expected,
        )
    }
}

/// The name of the module that `table!` made: only for the facts of a failure.
pub(super) fn table_name<T>() -> &'static str {
    let path = std::any::type_name::<T>();
    let module = path.strip_suffix("::table").unwrap_or(path);
    module.rsplit("::").next().unwrap_or(module)
}

/// The WHERE of a query without its values: what stands for the key in the facts of a failure.
fn key_in_words<DB: Dialect, W: QueryFragment<DB>>(rows: &W, backend: &DB) -> Result<String> {
    let mut rendered = DB::query_builder(backend);
    rows.to_sql(&mut rendered, backend)?;
    Ok(rendered.finish().trim().to_owned())
}

/// Whether the statement itself must make sure that it hits one row: outside a transaction nothing could take it back.
pub(crate) fn must_be_alone<C: Driver>(conn: &mut C) -> Result<bool> {
    Ok(depth(conn)? == 0 && conn.server().counts_its_own_rows)
}

/// A checked update of one row, by [`UpdateIf::update_if`].
#[must_use = "a query does nothing until it is executed"]
pub struct UpdateOneIf<T: QuerySource, W, Ch, Vc, V> {
    find: Find<T, W, Vc, V>,
    changes: Ch,
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
        let result = self.run(conn);
        if let Err(error) = &result {
            conn.note(error);
        }
        result
    }

    fn run<C>(self, conn: &mut C) -> Result<V>
    where
        C: Driver,
        T::FromClause: QueryFragment<C::Backend>,
        W: QueryFragment<C::Backend>,
        Ch: QueryFragment<C::Backend>,
        V::Expression: QueryFragment<C::Backend>,
        (V, i32): FromSqlRow<(Vc::SqlType, Integer), C::Backend>,
        C::Backend: QueryMetadata<(Vc::SqlType, Integer)>,
    {
        let table = table_name::<T>();
        let backend = conn.backend();
        let key = key_in_words(&self.find.rows, &backend)?;
        let alone = must_be_alone(conn)?;
        let (query, expected) = self.into_query(alone);
        let refusal = Refusal {
            table,
            key,
            expected: Some(&expected),
        };
        let new = refusal.next(&expected)?;
        version_in_changes::refuse::<Vc, _, _>(&query.changes, &backend, table, || {
            refusal.key.clone()
        })?;
        match conn.execute_returning_count(&query)? {
            1 => Ok(new),
            0 => Err(look_again::<T, W, Vc, V, C>(conn, &query.target, &refusal)?),
            rows => Err(too_many(table, refusal.key, rows)),
        }
    }

    /// The query without the verdict. Its `execute` answers the number of rows: **`Ok(0)` is the conflict**, which is easy to
    /// overlook, and nothing keeps it to one row.
    pub fn unchecked_query(self) -> UncheckedUpdate<T, W, Ch, Vc, V::Expression> {
        UncheckedUpdate(self.into_query(false).0)
    }

    fn into_query(self, alone: bool) -> (CheckedUpdate<T, W, Ch, Vc, V::Expression>, V) {
        let (target, expected) = self.find.target(alone);
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

/// A checked delete of one row, by [`UpdateIf::delete_if`].
#[must_use = "a query does nothing until it is executed"]
pub struct DeleteOneIf<T: QuerySource, W, Vc, V> {
    find: Find<T, W, Vc, V>,
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
        let result = self.run(conn);
        if let Err(error) = &result {
            conn.note(error);
        }
        result
    }

    fn run<C>(self, conn: &mut C) -> Result<()>
    where
        C: Driver,
        T::FromClause: QueryFragment<C::Backend>,
        W: QueryFragment<C::Backend>,
        V::Expression: QueryFragment<C::Backend>,
        (V, i32): FromSqlRow<(Vc::SqlType, Integer), C::Backend>,
        C::Backend: QueryMetadata<(Vc::SqlType, Integer)>,
    {
        let table = table_name::<T>();
        let key = key_in_words(&self.find.rows, &conn.backend())?;
        let (target, expected) = self.find.target(must_be_alone(conn)?);
        let check = Check::at(&expected, expected.clone().as_expression());
        let query = CheckedDelete::<T, W, Vc, V::Expression> { target, check };
        let refusal = Refusal {
            table,
            key,
            expected: Some(&expected),
        };
        match conn.execute_returning_count(&query)? {
            1 => Ok(()),
            0 => Err(look_again::<T, W, Vc, V, C>(conn, &query.target, &refusal)?),
            rows => Err(too_many(table, refusal.key, rows)),
        }
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
    let query = States::<T, W, Vc, NoGuard> {
        from: &target.from,
        rows: &target.rows,
        soft_delete: None,
        guard: None,
        column: PhantomData,
    };
    let rows: Vec<(V, i32)> = load_all(conn, query)?;
    let rows: Vec<(V, State)> = rows
        .into_iter()
        .map(|(version, number)| (version, state(number)))
        .collect();
    Ok(refusal
        .cause(&rows)
        .unwrap_or_else(|| refusal.suppressed(&rows)))
}
