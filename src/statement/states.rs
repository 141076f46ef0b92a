//! `SELECT version, <state> FROM t WHERE <key>`: what a write that hit no row would have found.

use super::column::push_column;
use super::run::Own;
use crate::backend::Dialect;
use crate::model::{SoftDelete, State};
use diesel::expression::Expression;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::query_source::{Column, QuerySource};
use diesel::result::QueryResult;
use diesel::sql_types::Integer;
use std::marker::PhantomData;

/// Reads version and [`State`] of every row of a target in one look, so that the two belong together.
#[doc(hidden)]
pub(super) struct States<'q, T: QuerySource, W, Vc, G> {
    pub(super) from: &'q T::FromClause,
    pub(super) rows: &'q W,
    pub(super) soft_delete: Option<SoftDelete>,
    pub(super) guard: Option<&'q G>,
    /// What the server needs to be told to read the rows that a write has met.
    pub(super) ending: Option<&'static str>,
    pub(super) column: PhantomData<Vc>,
}

/// The numbers that stand for a [`State`] in the answer.
pub(super) fn state(number: i32) -> State {
    match number {
        0 => State::Writable,
        1 => State::GuardFails,
        _ => State::SoftDeleted,
    }
}

impl<T: QuerySource, W, Vc, G, DB> QueryFragment<DB> for States<'_, T, W, Vc, G>
where
    DB: Dialect,
    T::FromClause: QueryFragment<DB>,
    W: QueryFragment<DB>,
    Vc: Column,
    G: QueryFragment<DB>,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        out.push_sql("SELECT ");
        push_column::<Vc, DB>(&mut out)?;
        out.push_sql(", ");
        if let Some(soft_delete) = self.soft_delete {
            out.push_sql("CASE WHEN ");
            soft_delete.push_alive(&mut out)?;
            out.push_sql(" THEN ");
        }
        match self.guard {
            Some(guard) => {
                out.push_sql("CASE WHEN ");
                guard.walk_ast(out.reborrow())?;
                out.push_sql(" THEN 0 ELSE 1 END");
            }
            None => out.push_sql("0"),
        }
        if self.soft_delete.is_some() {
            out.push_sql(" ELSE 2 END");
        }
        out.push_sql(" FROM ");
        self.from.walk_ast(out.reborrow())?;
        self.rows.walk_ast(out.reborrow())?;
        if let Some(ending) = self.ending {
            out.push_sql(ending);
        }
        Ok(())
    }
}

impl<T: QuerySource, W, Vc, G> QueryId for States<'_, T, W, Vc, G> {
    type QueryId = Own;
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl<T: QuerySource, W, Vc: Expression, G> Query for States<'_, T, W, Vc, G> {
    type SqlType = (Vc::SqlType, Integer);
}
