//! `UPDATE t SET <changes>, version = version + 1 WHERE <key> AND version = ? [AND <guard>] [RETURNING ..]`

use super::check::{Check, Target};
use super::run::Own;
use crate::backend::{Dialect, Returning};
use diesel::backend::Backend;
use diesel::expression::{Expression, SelectableExpression};
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::query_source::{Column, QuerySource, Table};
use diesel::result::QueryResult;

/// A checked update as a Diesel query.
#[doc(hidden)]
#[must_use = "a query does nothing until it is run"]
pub struct CheckedUpdate<T: QuerySource, W, Ch, Vc, E, G = crate::model::NoGuard, R = NoReturning> {
    pub(super) target: Target<T::FromClause, W>,
    pub(super) changes: Ch,
    /// Whether the changes are nothing, where that is known already.
    pub(super) empty: Option<bool>,
    pub(super) check: Check<Vc, E>,
    pub(super) guard: Option<G>,
    pub(super) returning: R,
}

/// The update answers a count.
#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
pub struct NoReturning;

/// The update answers these columns of the row.
#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
pub struct ReturningClause<S>(pub(super) S);

impl<T: QuerySource, W, Ch, Vc, E, G, R, DB> QueryFragment<DB>
    for CheckedUpdate<T, W, Ch, Vc, E, G, R>
where
    DB: Dialect,
    T::FromClause: QueryFragment<DB>,
    W: QueryFragment<DB>,
    Ch: QueryFragment<DB>,
    Vc: Column,
    E: QueryFragment<DB>,
    G: QueryFragment<DB>,
    R: QueryFragment<DB>,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        out.push_sql("UPDATE ");
        self.target.from.walk_ast(out.reborrow())?;
        out.push_sql(" SET ");
        let empty = match self.empty {
            Some(empty) => empty,
            None => self.changes.is_noop(out.backend())?,
        };
        if !empty {
            self.changes.walk_ast(out.reborrow())?;
            out.push_sql(", ");
        }
        self.check.push_bump(&mut out)?;
        self.target.push_where(&self.check, &mut out)?;
        if let Some(guard) = &self.guard {
            out.push_sql(" AND (");
            guard.walk_ast(out.reborrow())?;
            out.push_sql(")");
        }
        self.returning.walk_ast(out)
    }
}

impl<T: QuerySource, W, Ch, Vc, E, G, R> QueryId for CheckedUpdate<T, W, Ch, Vc, E, G, R> {
    type QueryId = Own;
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl<T: Table, W, Ch, Vc, E, G, S> Query for CheckedUpdate<T, W, Ch, Vc, E, G, ReturningClause<S>>
where
    S: Expression + SelectableExpression<T>,
{
    type SqlType = S::SqlType;
}

impl<DB: Backend> QueryFragment<DB> for NoReturning {
    fn walk_ast<'b>(&'b self, _: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        Ok(())
    }
}

impl<DB: Dialect<Fetch = Returning>, S: QueryFragment<DB>> QueryFragment<DB>
    for ReturningClause<S>
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        out.push_sql(" RETURNING ");
        self.0.walk_ast(out)
    }
}
