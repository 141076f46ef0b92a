//! The queries of a model, built from its types alone: no backend, no connection.

use super::check::{Check, Form, Target};
use super::delete::CheckedDelete;
use super::run::Fixed;
use super::states::States;
use super::update::{CheckedUpdate, NoReturning};
use crate::model::{Aim, VersionValue, Versioned};
use diesel::expression::AsExpression;
use diesel::query_builder::{AsChangeset, AsQuery};
use diesel::query_dsl::methods::{FindDsl, SelectDsl};
use diesel::query_source::QuerySource;
use std::marker::PhantomData;

type FindByKey<M> = <<M as Versioned>::Table as FindDsl<<M as Versioned>::Key>>::Output;
pub(super) type Expected<M> =
    <<M as Versioned>::Version as AsExpression<<M as Versioned>::VersionSql>>::Expression;
pub(super) type From<M> = <<M as Versioned>::Table as QuerySource>::FromClause;
pub(super) type Update<M, Ch, G, R = NoReturning> = CheckedUpdate<
    <M as Versioned>::Table,
    <M as Versioned>::KeyFilter,
    Ch,
    <M as Versioned>::VersionColumn,
    Expected<M>,
    G,
    R,
>;
pub(super) type Delete<M> = CheckedDelete<
    <M as Versioned>::Table,
    <M as Versioned>::KeyFilter,
    <M as Versioned>::VersionColumn,
    Expected<M>,
>;

/// A model whose table can be searched by the model's key.
#[doc(hidden)]
pub trait Shape: Versioned {
    /// `SELECT <columns> FROM t WHERE <key>`
    type Find: AsQuery;

    fn find(key: &Self::Key) -> Self::Find;
}

#[diagnostic::do_not_recommend]
impl<M> Shape for M
where
    M: Versioned,
    M::Table: FindDsl<M::Key>,
    FindByKey<M>: SelectDsl<M::Columns>,
    <FindByKey<M> as SelectDsl<M::Columns>>::Output: AsQuery,
{
    type Find = <FindByKey<M> as SelectDsl<M::Columns>>::Output;

    fn find(key: &M::Key) -> Self::Find {
        SelectDsl::select(FindDsl::find(M::table(), key.clone()), M::columns())
    }
}

fn target<M: Shape>(aim: Aim<'_, M>) -> Target<From<M>, M::KeyFilter> {
    Target {
        from: M::table().from_clause(),
        rows: M::key_filter(aim.key),
        form: Form::Grouped,
        // An unchecked write reaches a row that is marked as deleted, so that it can be brought back.
        soft_delete: aim.version.and(M::SOFT_DELETE),
        alone: aim.alone,
    }
}

pub(super) fn update<'g, M: Shape, Ch, G>(
    aim: Aim<'_, M>,
    changes: Ch,
    guard: Option<&'g G>,
) -> Update<M, Ch::Changeset, &'g G>
where
    Ch: AsChangeset<Target = M::Table>,
{
    let check = match aim.version {
        Some(version) => Check::at(version, version.clone().as_expression()),
        None => Check::growing(M::Version::MAX, M::Version::NULLABLE),
    };
    let mut target = target(aim);
    if guard.is_some() {
        target.soft_delete = M::SOFT_DELETE;
    }
    CheckedUpdate {
        target,
        empty: None,
        changes: changes.as_changeset(),
        check,
        guard,
        returning: NoReturning,
    }
}

pub(super) fn delete<M: Shape>(aim: Aim<'_, M>) -> Delete<M> {
    let check = match aim.version {
        Some(version) => Check::at(version, version.clone().as_expression()),
        None => Check::unchecked_delete(),
    };
    CheckedDelete {
        target: target(aim),
        check,
    }
}

/// Version and state of every row at `rows`; the SELECT ends in `ending`.
pub(super) fn states<'q, M: Shape, G>(
    from: &'q From<M>,
    rows: &'q M::KeyFilter,
    guard: Option<&'q G>,
    ending: Option<&'static str>,
) -> States<'q, M::Table, M::KeyFilter, M::VersionColumn, G> {
    States {
        from,
        rows,
        soft_delete: M::SOFT_DELETE,
        guard,
        ending,
        column: PhantomData,
    }
}

/// The keys in the statement cache of the statements whose text depends on the model alone.
pub(super) struct Key<M, const STATEMENT: u8>(PhantomData<fn() -> M>);

pub(super) const WRITE: u8 = 0;
pub(super) const WRITE_ALONE: u8 = 1;
pub(super) const BUMP: u8 = 2;
pub(super) const BUMP_ALONE: u8 = 3;
pub(super) const LOCK_WRITE: u8 = 4;
pub(super) const LOCK_UPDATE: u8 = 5;

pub(super) fn fixed<M, const STATEMENT: u8, Q>(query: Q) -> Fixed<Q, Key<M, STATEMENT>> {
    Fixed::new(query)
}
