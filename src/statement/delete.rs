//! `DELETE FROM t WHERE <key> AND version = ?`

use super::check::{Check, Target};
use super::run::Own;
use crate::backend::Dialect;
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::query_source::{Column, QuerySource};
use diesel::result::QueryResult;

/// A checked delete as a Diesel query.
#[doc(hidden)]
#[must_use = "a query does nothing until it is run"]
pub struct CheckedDelete<T: QuerySource, W, Vc, E> {
    pub(super) target: Target<T::FromClause, W>,
    pub(super) check: Check<Vc, E>,
}

impl<T: QuerySource, W, Vc, E, DB> QueryFragment<DB> for CheckedDelete<T, W, Vc, E>
where
    DB: Dialect,
    T::FromClause: QueryFragment<DB>,
    W: QueryFragment<DB>,
    Vc: Column,
    E: QueryFragment<DB>,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        out.push_sql("DELETE FROM ");
        self.target.from.walk_ast(out.reborrow())?;
        self.target.push_where(&self.check, &mut out)
    }
}

impl<T: QuerySource, W, Vc, E> QueryId for CheckedDelete<T, W, Vc, E> {
    type QueryId = Own;
    const HAS_STATIC_QUERY_ID: bool = false;
}
