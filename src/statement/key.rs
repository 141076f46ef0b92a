//! ` WHERE "id" = ?`: the row with a key, for the statements that are about one table alone.
//!
//! Diesel's `find` names the table with every column, which no statement here needs, and which is a good part of its text.

use super::column::{push_and_is, push_where_is};
use crate::backend::Dialect;
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::query_source::Column;
use diesel::result::QueryResult;
use std::marker::PhantomData;

/// The column of a key holds this value, and the rest of the key its values.
#[doc(hidden)]
pub struct KeyIs<C, E, Rest, const FIRST: bool> {
    value: E,
    rest: Rest,
    column: PhantomData<C>,
}

impl<C, E, Rest, const FIRST: bool> KeyIs<C, E, Rest, FIRST> {
    /// Column and value of one part of the key.
    pub const fn new(value: E, rest: Rest) -> Self {
        KeyIs {
            value,
            rest,
            column: PhantomData,
        }
    }
}

impl<C, E, Rest, const FIRST: bool> QueryId for KeyIs<C, E, Rest, FIRST>
where
    C: 'static,
    E: QueryId,
    Rest: QueryId,
{
    type QueryId = KeyIs<C, E::QueryId, Rest::QueryId, FIRST>;
    const HAS_STATIC_QUERY_ID: bool = E::HAS_STATIC_QUERY_ID && Rest::HAS_STATIC_QUERY_ID;
}

impl<C, E, Rest, const FIRST: bool, DB> QueryFragment<DB> for KeyIs<C, E, Rest, FIRST>
where
    DB: Dialect,
    C: Column,
    E: QueryFragment<DB>,
    Rest: QueryFragment<DB>,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        match FIRST {
            true => push_where_is::<C, DB>(&mut out)?,
            false => push_and_is::<C, DB>(&mut out)?,
        }
        self.value.walk_ast(out.reborrow())?;
        self.rest.walk_ast(out)
    }
}
