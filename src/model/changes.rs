//! What a write may be given: changes for its SET, and a guard for its WHERE.

use super::{Aim, Record, Versioned};
use crate::backend::{Dialect, Driver};
use crate::error::Result;
use diesel::expression::{AppearsOnTable, Expression};
use diesel::query_builder::{AsChangeset, AstPass, QueryFragment};
use diesel::result::QueryResult;
use diesel::sql_types::BoolOrNullableBool;

/// The changes of a write to a row of `M`: anything that Diesel accepts in `.set(..)` of an update of its table, such as
/// `products::stock.eq(3)`, a tuple of them, or a struct that derives `AsChangeset`.
///
/// It must leave the version column alone: that is [`Error::VersionInChanges`](crate::Error::VersionInChanges) before any
/// SQL. With nothing to change the write moves the version alone.
#[diagnostic::on_unimplemented(
    message = "these changes do not fit a row of `{M}`",
    label = "`{Self}` is no changeset of its table on this backend",
    note = "pass `column.eq(value)`, a tuple of them, or derive `AsChangeset` with the `table_name` of the model",
    note = "in generic code add the bound `{Self}: Changes<{M}, {DB}>`"
)]
pub trait Changes<M: Versioned, DB: Dialect>: AsChangeset<Target = M::Table> {
    /// Runs the update and answers how many rows it hit.
    #[doc(hidden)]
    fn run<C, G>(self, conn: &mut C, aim: Aim<'_, M>, guard: Option<&G>) -> Result<usize>
    where
        C: Driver<Backend = DB>,
        G: Guard<M, DB>;

    /// Runs the update and answers the rows it hit.
    #[doc(hidden)]
    fn run_returning<C: Driver<Backend = DB>>(
        self,
        conn: &mut C,
        aim: Aim<'_, M>,
    ) -> Result<Vec<M>>
    where
        M: Record<DB>;
}

/// A condition on the row of `M` that a guarded write must find true: any boolean expression on its table.
#[diagnostic::on_unimplemented(
    message = "this is no condition on a row of `{M}`",
    label = "`{Self}` is no boolean expression on its table",
    note = "pass a condition on its columns, such as `products::stock.ge(3)`"
)]
pub trait Guard<M: Versioned, DB: Dialect>: QueryFragment<DB> {}

#[diagnostic::do_not_recommend]
impl<M, DB, G> Guard<M, DB> for G
where
    M: Versioned,
    DB: Dialect,
    G: Expression + AppearsOnTable<M::Table> + QueryFragment<DB>,
    G::SqlType: BoolOrNullableBool,
{
}

/// The guard of a write that has none.
#[doc(hidden)]
#[derive(Debug)]
pub enum NoGuard {}

#[diagnostic::do_not_recommend]
impl<M: Versioned, DB: Dialect> Guard<M, DB> for NoGuard {}

impl<DB: diesel::backend::Backend> QueryFragment<DB> for NoGuard {
    fn walk_ast<'b>(&'b self, _: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        match *self {}
    }
}

/// Changes whose statement is not kept prepared. See [`uncached`].
#[derive(Debug, Clone, Copy)]
pub struct Uncached<Ch>(Ch);

/// Marks changes whose statement takes too many shapes to be kept prepared.
///
/// Diesel keeps every text of a statement prepared for as long as the connection lives. A struct of `n` optional fields
/// makes up to 2ⁿ texts: above six or so, wrap it. The statement is then prepared and dropped each time.
///
/// ```
/// # use diesel::prelude::*;
/// # use diesel_occ::prelude::*;
/// # diesel::table! { notes (id) { id -> BigInt, title -> Text, body -> Text, version -> BigInt, } }
/// # #[derive(Debug, Clone, Queryable, Versioned)] #[diesel(table_name = notes)]
/// # struct Note { id: i64, title: String, body: String, version: i64 }
/// #[derive(AsChangeset)]
/// #[diesel(table_name = notes)]
/// struct Form {
///     title: Option<String>,
///     body: Option<String>, // and many more
/// }
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let mut conn = SqliteConnection::establish(":memory:")?;
/// # diesel::sql_query("CREATE TABLE notes (id BIGINT PRIMARY KEY, title TEXT NOT NULL, body TEXT NOT NULL, version BIGINT NOT NULL)").execute(&mut conn)?;
/// # diesel::sql_query("INSERT INTO notes VALUES (1, 't', 'b', 7)").execute(&mut conn)?;
/// let form = Form { title: Some("new".into()), body: None };
/// let row = conn.versioned_update(Note::at(1, 7), diesel_occ::uncached(form))?;
/// assert_eq!(row, Note::at(1, 8));
/// # Ok(())
/// # }
/// ```
pub fn uncached<Ch: AsChangeset>(changes: Ch) -> Uncached<Ch> {
    Uncached(changes)
}

impl<Ch: AsChangeset> AsChangeset for Uncached<Ch> {
    type Target = Ch::Target;
    type Changeset = Uncached<Ch::Changeset>;

    fn as_changeset(self) -> Self::Changeset {
        Uncached(self.0.as_changeset())
    }
}

impl<Ch: QueryFragment<DB>, DB: diesel::backend::Backend> QueryFragment<DB> for Uncached<Ch> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        out.unsafe_to_cache_prepared();
        self.0.walk_ast(out)
    }
}
