//! The version in a statement: how SET moves it, and what WHERE asks of it.

use super::column::{push_and_is, push_bump, push_column};
use crate::backend::{Dialect, Driver, depth};
use crate::error::Result;
use crate::model::VersionValue;
use diesel::query_builder::{AstPass, QueryFragment};
use diesel::query_source::Column;
use diesel::result::QueryResult;
use std::marker::PhantomData;

/// What a write asks of the version column `Vc`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Check<Vc, E> {
    expect: Expect<E>,
    column: PhantomData<Vc>,
}

#[derive(Debug, Clone, Copy)]
enum Expect<E> {
    /// That it is this number.
    Is(E),
    /// That there is none yet.
    Null,
    /// Only that it can still grow: the server would wrap it, cut it or turn it into a float.
    Below { max: &'static str, nullable: bool },
    /// Nothing.
    Anything,
}

impl<Vc: Column, E> Check<Vc, E> {
    fn new(expect: Expect<E>) -> Self {
        Check {
            expect,
            column: PhantomData,
        }
    }

    /// The row has this version.
    pub(super) fn at<V: VersionValue>(version: &V, expression: E) -> Self {
        Check::new(if version.is_null() {
            Expect::Null
        } else {
            Expect::Is(expression)
        })
    }

    /// The row has any version that can grow.
    pub(super) fn growing(max: &'static str, nullable: bool) -> Self {
        Check::new(Expect::Below { max, nullable })
    }

    /// The row is there: for a delete, which leaves no version behind.
    pub(super) fn unchecked_delete() -> Self {
        Check::new(Expect::Anything)
    }

    /// `version = version + 1`
    pub(super) fn push_bump<DB: Dialect>(&self, out: &mut AstPass<'_, '_, DB>) -> QueryResult<()> {
        match self.expect {
            Expect::Null => {
                push_column::<Vc, DB>(out)?;
                out.push_sql(" = 1");
            }
            Expect::Below { nullable: true, .. } => {
                push_column::<Vc, DB>(out)?;
                out.push_sql(" = COALESCE(");
                push_column::<Vc, DB>(out)?;
                out.push_sql(", 0) + 1");
            }
            _ => push_bump::<Vc, DB>(out)?,
        }
        Ok(())
    }

    /// ` AND version = ?`
    pub(super) fn push_condition<'b, DB>(&'b self, out: &mut AstPass<'_, 'b, DB>) -> QueryResult<()>
    where
        DB: Dialect,
        E: QueryFragment<DB>,
    {
        match &self.expect {
            Expect::Anything => {}
            Expect::Is(expected) => {
                push_and_is::<Vc, DB>(out)?;
                expected.walk_ast(out.reborrow())?;
            }
            Expect::Null => {
                out.push_sql(" AND ");
                push_column::<Vc, DB>(out)?;
                out.push_sql(" IS NULL");
            }
            Expect::Below {
                max,
                nullable: true,
            } => {
                out.push_sql(" AND COALESCE(");
                push_column::<Vc, DB>(out)?;
                out.push_sql(", 0) < ");
                out.push_sql(max);
            }
            Expect::Below {
                max,
                nullable: false,
            } => {
                out.push_sql(" AND ");
                push_column::<Vc, DB>(out)?;
                out.push_sql(" < ");
                out.push_sql(max);
            }
        }
        Ok(())
    }
}

/// The rows that a statement is about, and the conditions that belong to the row and not to the writer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Target<F, W> {
    pub(super) from: F,
    pub(super) rows: W,
    pub(super) form: Form,
    pub(super) soft_delete: Option<crate::model::SoftDelete>,
    /// Whether the statement makes sure that the target is one row.
    pub(super) alone: bool,
}

/// How a condition can be appended to the WHERE of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// As it stands: a key, or what Diesel has put in parentheses.
    Grouped,
    /// There is none.
    Empty,
    /// Raw SQL whose OR would go past what is appended: it is asked of each row in a subquery.
    Loose,
}

impl Form {
    pub(super) fn of(rows: &str) -> Form {
        match rows.trim() {
            "" => Form::Empty,
            rows if super::words::is_grouped(rows) => Form::Grouped,
            _ => Form::Loose,
        }
    }
}

impl<F, W> Target<F, W> {
    /// ` WHERE <rows> AND <alive> AND version = ? AND <only one such row>`
    pub(super) fn push_where<'b, DB, Vc, E>(
        &'b self,
        check: &'b Check<Vc, E>,
        out: &mut AstPass<'_, 'b, DB>,
    ) -> QueryResult<()>
    where
        DB: Dialect,
        F: QueryFragment<DB>,
        W: QueryFragment<DB>,
        Vc: Column,
        E: QueryFragment<DB>,
    {
        self.push_conditions(check, out)?;
        if self.alone {
            out.push_sql(" AND (SELECT COUNT(*) FROM ");
            self.from.walk_ast(out.reborrow())?;
            self.push_conditions(check, out)?;
            out.push_sql(") = 1");
        }
        Ok(())
    }

    fn push_conditions<'b, DB, Vc, E>(
        &'b self,
        check: &'b Check<Vc, E>,
        out: &mut AstPass<'_, 'b, DB>,
    ) -> QueryResult<()>
    where
        DB: Dialect,
        W: QueryFragment<DB>,
        Vc: Column,
        E: QueryFragment<DB>,
    {
        match self.form {
            Form::Grouped => self.rows.walk_ast(out.reborrow())?,
            Form::Empty => out.push_sql(" WHERE 1 = 1"),
            Form::Loose => {
                out.push_sql(" WHERE EXISTS (SELECT 1");
                self.rows.walk_ast(out.reborrow())?;
                out.push_sql(")");
            }
        }
        if let Some(soft_delete) = self.soft_delete {
            out.push_sql(" AND ");
            soft_delete.push_alive(out)?;
        }
        check.push_condition(out)
    }
}

/// Whether the statement itself must make sure that it hits one row: outside a transaction nothing could take it back.
pub(crate) fn must_be_alone<C: Driver>(conn: &mut C) -> Result<bool> {
    Ok(depth(conn)? == 0 && conn.server().counts_its_own_rows)
}
