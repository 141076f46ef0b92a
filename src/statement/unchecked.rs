//! The plain Diesel query behind a write: nobody looks at its count but the caller.

use super::check::Form;
use super::update::CheckedUpdate;
use super::version_in_changes;
use super::words::{key_in_words, table_name};
use crate::backend::{Driver, write};
use crate::error::Result;
use diesel::backend::Backend;
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::query_source::{Column, QuerySource};
use diesel::result::QueryResult;
use diesel::sql_types::{BigInt, Integer, Nullable, SingleValue, SmallInt, SqlType};

/// An update that moves the version and leaves it to the caller to look at the number of rows. A query of Diesel's, which
/// `debug_query` shows.
#[must_use = "a query does nothing until it is executed"]
pub struct UncheckedUpdate<T: QuerySource, W, Ch, Vc, E>(pub(super) CheckedUpdate<T, W, Ch, Vc, E>);

impl<T: QuerySource, W, Ch, Vc: Column, E> UncheckedUpdate<T, W, Ch, Vc, E> {
    /// Runs it, one round trip, and answers the number of rows: **`Ok(0)` is no error**.
    ///
    /// # Errors
    ///
    /// [`Error::VersionInChanges`](crate::Error::VersionInChanges) before any SQL, and
    /// [`Error::Database`](crate::Error::Database).
    pub fn execute<C>(mut self, conn: &mut C) -> Result<usize>
    where
        C: Driver,
        W: QueryFragment<C::Backend>,
        Ch: QueryFragment<C::Backend>,
        Self: QueryFragment<C::Backend>,
    {
        // Not while the SQL is rendered: Diesel shows a query to the user's instrumentation, and what cannot be shown
        // panics there.
        let (table, backend) = (table_name::<T>(), conn.backend());
        let rows = key_in_words(&self.0.target.rows, &backend)?;
        self.0.target.form = Form::of(&rows);
        version_in_changes::refuse::<Vc, _, _>(&self.0.changes, &backend, table, || rows.clone())?;
        write(conn, |conn| conn.execute_returning_count(&self))
    }
}

impl<T: QuerySource, W, Ch, Vc, E, DB> QueryFragment<DB> for UncheckedUpdate<T, W, Ch, Vc, E>
where
    DB: Backend,
    CheckedUpdate<T, W, Ch, Vc, E>: QueryFragment<DB>,
{
    fn walk_ast<'b>(&'b self, out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        self.0.walk_ast(out)
    }
}

impl<T: QuerySource, W, Ch, Vc, E> QueryId for UncheckedUpdate<T, W, Ch, Vc, E> {
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}

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
