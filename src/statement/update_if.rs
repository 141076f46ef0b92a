//! The writes for people who live in Diesel's query builder.

use super::check::{Check, Form, Target};
use super::one_row::{DeleteOneIf, Find, UpdateOneIf};
use super::unchecked::{UncheckedUpdate, VersionSql};
use super::update::{CheckedUpdate, NoReturning};
use crate::model::{NoGuard, VersionValue};
use diesel::expression::{AsExpression, Expression};
use diesel::query_builder::{AsChangeset, IntoUpdateTarget};
use diesel::query_source::{Column, QuerySource, Table};

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
        UpdateOneIf::new(Find::new(self, version, expected), changes.as_changeset())
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
        DeleteOneIf::new(Find::new(self, version, expected))
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
            form: Form::Loose,
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
