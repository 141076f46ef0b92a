//! A question to the server, or a command, whose text never varies.

use diesel::backend::Backend;
#[cfg(any(feature = "sqlite", feature = "mysql"))]
use diesel::connection::Connection;
use diesel::connection::LoadConnection;
use diesel::deserialize::FromSqlRow;
use diesel::expression::QueryMetadata;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::result::{Error as DieselError, QueryResult};
use std::marker::PhantomData;

/// The rows of the answer.
pub(super) fn ask<ST, U, C>(conn: &mut C, sql: &'static str) -> QueryResult<Vec<U>>
where
    C: LoadConnection,
    C::Backend: QueryMetadata<ST>,
    U: FromSqlRow<ST, C::Backend>,
{
    let question = Question(sql, PhantomData::<fn() -> ST>);
    LoadConnection::load(conn, question)?
        .map(|row| U::build_from_row(&row?).map_err(DieselError::DeserializationError))
        .collect()
}

/// The first row of the answer.
pub(super) fn ask_one<ST, U, C>(conn: &mut C, sql: &'static str) -> QueryResult<U>
where
    C: LoadConnection,
    C::Backend: QueryMetadata<ST>,
    U: FromSqlRow<ST, C::Backend>,
{
    ask(conn, sql)?
        .into_iter()
        .next()
        .ok_or(DieselError::NotFound)
}

/// Sends one statement that answers no rows, and keeps it prepared.
#[cfg(any(feature = "sqlite", feature = "mysql"))]
pub(super) fn command<C: Connection>(conn: &mut C, sql: &str) -> QueryResult<()> {
    conn.execute_returning_count(&Command(sql)).map(drop)
}

#[cfg(any(feature = "sqlite", feature = "mysql"))]
struct Command<'s>(&'s str);

#[cfg(any(feature = "sqlite", feature = "mysql"))]
impl QueryId for Command<'_> {
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}

#[cfg(any(feature = "sqlite", feature = "mysql"))]
impl<DB: Backend> QueryFragment<DB> for Command<'_> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        out.push_sql(self.0);
        Ok(())
    }
}

/// Kept prepared by the connection, as its text is its key.
struct Question<ST>(&'static str, PhantomData<fn() -> ST>);

impl<ST> QueryId for Question<ST> {
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl<ST> Query for Question<ST> {
    type SqlType = ST;
}

impl<ST, DB: Backend> QueryFragment<DB> for Question<ST> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        out.push_sql(self.0);
        Ok(())
    }
}
