//! The plain Diesel query behind a write: nobody looks at its count but the caller.

use super::update::CheckedUpdate;
use super::version_in_changes;
use crate::backend::Dialect;
use diesel::RunQueryDsl;
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::query_source::{Column, QuerySource};
use diesel::result::{Error as DieselError, QueryResult};
use diesel::sql_types::{BigInt, Integer, Nullable, SingleValue, SmallInt, SqlType};

/// An update that moves the version and leaves it to the caller to look at the number of rows. A Diesel query like any
/// other: run it with `execute`.
///
/// Changes that set the version are an error of Diesel's query builder, before any SQL, whose source is
/// [`Error::VersionInChanges`](crate::Error::VersionInChanges).
#[must_use = "a query does nothing until it is executed"]
pub struct UncheckedUpdate<T: QuerySource, W, Ch, Vc, E>(pub(super) CheckedUpdate<T, W, Ch, Vc, E>);

impl<T: QuerySource, W, Ch, Vc, E, DB> QueryFragment<DB> for UncheckedUpdate<T, W, Ch, Vc, E>
where
    DB: Dialect,
    CheckedUpdate<T, W, Ch, Vc, E>: QueryFragment<DB>,
    Ch: QueryFragment<DB>,
    Vc: Column,
{
    fn walk_ast<'b>(&'b self, out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        let key = || "the rows of the query".to_owned();
        version_in_changes::refuse::<Vc, _, _>(
            &self.0.changes,
            out.backend(),
            super::update_if::table_name::<T>(),
            key,
        )
        .map_err(|error| DieselError::QueryBuilderError(Box::new(error)))?;
        self.0.walk_ast(out)
    }
}

impl<T: QuerySource, W, Ch, Vc, E> QueryId for UncheckedUpdate<T, W, Ch, Vc, E> {
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl<T: QuerySource, W, Ch, Vc, E, C> RunQueryDsl<C> for UncheckedUpdate<T, W, Ch, Vc, E> {}

/// The SQL type of a version column.
#[diagnostic::on_unimplemented(
    message = "a column of type `{Self}` cannot be a version",
    label = "not a counter",
    note = "a version column is a `SmallInt`, `Integer` or `BigInt`, or a `Nullable` one for legacy rows",
    note = "a timestamp loses updates: two writes in one tick carry the same stamp"
)]
pub trait VersionSql: SqlType + SingleValue {
    /// The largest version, as SQL.
    #[doc(hidden)]
    const MAX: &'static str;
    /// Whether a row may have no version yet.
    #[doc(hidden)]
    const NULLABLE: bool;
}

macro_rules! version_sql {
    ($($sql:ty => $counter:ty),+) => {$(
        impl VersionSql for $sql {
            const MAX: &'static str = <$counter as crate::model::VersionValue>::MAX;
            const NULLABLE: bool = false;
        }

        impl VersionSql for Nullable<$sql> {
            const MAX: &'static str = <$counter as crate::model::VersionValue>::MAX;
            const NULLABLE: bool = true;
        }
    )+};
}

version_sql!(SmallInt => i16, Integer => i32, BigInt => i64);
