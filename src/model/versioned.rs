//! The trait that `#[derive(Versioned)]` writes: everything about a model that needs no backend and no connection.

use super::{RowKey, RowVersion, VersionValue};
use diesel::expression::{AsExpression, Expression, SelectableExpression};
use diesel::query_builder::{AsChangeset, AstPass, QueryFragment, QueryId};
use diesel::query_source::{Column, Table};
use diesel::result::QueryResult;
use diesel::sql_types::{SingleValue, SqlType};
use std::fmt;
use std::marker::PhantomData;

/// A model whose row has a version. Derive it, beside `Queryable`:
///
/// ```
/// use diesel::prelude::*;
/// use diesel_occ::prelude::*;
///
/// diesel::table! {
///     products (id) { id -> BigInt, name -> Text, stock -> Integer, lock_version -> BigInt, }
/// }
///
/// #[derive(Debug, Clone, Queryable, Versioned)]
/// #[diesel(table_name = products)]
/// struct Product {
///     id: i64,
///     name: String,
///     stock: i32,
///     #[versioned]
///     lock_version: i64,
/// }
///
/// let row: RowVersion<Product> = Product::at(42, 7);
/// assert_eq!(format!("{row:?}"), "products 42 at version 7");
/// ```
///
/// The version is the field marked `#[versioned]`, or the column that `#[versioned(column = lock_version)]` on the struct
/// names, or else the column `version`. `#[diesel(table_name)]`, `#[diesel(primary_key)]`, `#[diesel(column_name)]`,
/// `#[diesel(skip_update)]` and `#[diesel(serialize_as)]` mean what they mean to Diesel. A model may leave out columns of
/// its table, and name them in any order. `#[versioned(soft_delete = deleted_at)]` on the struct names the column that
/// marks a row as deleted, an `Option` or a `bool`: see
/// [`soft_delete`](crate::VersionedConnection::soft_delete).
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no version",
    label = "not a versioned model",
    note = "add `#[derive(Versioned)]` beside `Queryable`"
)]
pub trait Versioned: Sized {
    /// The table, as `table!` declares it.
    type Table: Table;
    /// The primary key: the type of its field, or a tuple in the order of the table's primary key.
    type Key: Clone + PartialEq + fmt::Debug + Send + 'static;
    /// The version.
    type Version: VersionValue + AsExpression<Self::VersionSql>;
    #[doc(hidden)]
    type VersionSql: SqlType + SingleValue + 'static;
    #[doc(hidden)]
    type VersionColumn: Column<Table = Self::Table> + Expression<SqlType = Self::VersionSql>;
    /// `WHERE <key columns> = ..`, by their bare names.
    #[doc(hidden)]
    type KeyFilter;
    /// The columns of the fields, in their order.
    #[doc(hidden)]
    type Columns: Expression + SelectableExpression<Self::Table>;
    /// What a save writes: every field but the key, the version and those that are skipped.
    #[doc(hidden)]
    type Changes<'changes>: AsChangeset<Target = Self::Table>
    where
        Self: 'changes;

    /// The table's name.
    const TABLE: &'static str;
    #[doc(hidden)]
    const SOFT_DELETE: Option<SoftDelete>;

    #[doc(hidden)]
    fn table() -> Self::Table;
    #[doc(hidden)]
    fn version_column() -> Self::VersionColumn;
    #[doc(hidden)]
    fn key_filter(key: &Self::Key) -> Self::KeyFilter;
    #[doc(hidden)]
    fn columns() -> Self::Columns;
    #[doc(hidden)]
    fn changes(&self) -> Self::Changes<'_>;

    /// The primary key of this row.
    fn row_key(&self) -> Self::Key;

    /// The version of this row, as it was read.
    fn version(&self) -> &Self::Version;

    #[doc(hidden)]
    fn set_version(&mut self, version: Self::Version);

    /// The row with this key, at this version: what a client read earlier and now sends back.
    fn at(key: Self::Key, version: Self::Version) -> RowVersion<Self> {
        RowVersion::new(key, version)
    }

    /// The row with this key, at whatever version: for
    /// [`guarded_update`](crate::VersionedConnection::guarded_update) and the `unchecked` writes.
    fn key(key: Self::Key) -> RowKey<Self> {
        RowKey(key)
    }

    /// This row at the version that was read.
    fn row_version(&self) -> RowVersion<Self> {
        RowVersion::new(self.row_key(), self.version().clone())
    }
}

/// How a row of a model is marked as deleted.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SoftDelete {
    column: &'static str,
    alive: &'static str,
}

impl SoftDelete {
    /// Deleted once the column holds anything.
    pub const fn when_not_null(column: &'static str) -> Self {
        SoftDelete {
            column,
            alive: " IS NULL",
        }
    }

    /// Deleted once the column is true.
    pub const fn when_true(column: &'static str) -> Self {
        SoftDelete {
            column,
            alive: " = FALSE",
        }
    }

    pub(crate) fn column(self) -> &'static str {
        self.column
    }

    pub(crate) fn push_alive<DB: diesel::backend::Backend>(
        self,
        out: &mut AstPass<'_, '_, DB>,
    ) -> QueryResult<()> {
        out.push_identifier(self.column)?;
        out.push_sql(self.alive);
        Ok(())
    }
}

/// The changes of a write that moves nothing but the version.
#[doc(hidden)]
#[derive(Debug)]
pub struct NoChanges<T>(PhantomData<T>);

impl<T> NoChanges<T> {
    /// No changes.
    pub const fn new() -> Self {
        NoChanges(PhantomData)
    }
}

impl<T> Default for NoChanges<T> {
    fn default() -> Self {
        NoChanges::new()
    }
}

impl<T: 'static> QueryId for NoChanges<T> {
    type QueryId = Self;
    const HAS_STATIC_QUERY_ID: bool = true;
}

impl<T: Table> AsChangeset for NoChanges<T> {
    type Target = T;
    type Changeset = Nothing;

    fn as_changeset(self) -> Nothing {
        Nothing
    }
}

/// A fragment that renders nothing.
#[doc(hidden)]
#[derive(Debug)]
pub struct Nothing;

impl QueryId for Nothing {
    type QueryId = Self;
    const HAS_STATIC_QUERY_ID: bool = true;
}

impl<DB: diesel::backend::Backend> QueryFragment<DB> for Nothing {
    fn walk_ast<'b>(&'b self, _: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        Ok(())
    }
}
