//! What the writes of one row share: the aim, and the verdict by the affected row count.

use crate::backend::{Dialect, Driver, Turn};
use crate::error::{Error, NotFound, Result};
use crate::model::{Aim, Changes, Guard, NoGuard, Record, RowKey, RowVersion, State, Versioned};
use crate::statement::{Refusal, must_be_alone, next_version, too_many};

/// How often a guarded write by key alone is sent when the look at the row finds nothing in its way: somebody changed the
/// row in between, or the database keeps it.
const TRIES: usize = 3;

pub(super) fn aim<'r, C: Driver, M: Versioned>(
    conn: &mut C,
    row: &'r RowVersion<M>,
) -> Result<Aim<'r, M>> {
    Ok(Aim {
        key: &row.key,
        version: Some(&row.version),
        alone: must_be_alone(conn)?,
        marks: false,
    })
}

pub(super) fn aim_unchecked<'r, C: Driver, M: Versioned>(
    conn: &mut C,
    row: &'r RowKey<M>,
) -> Result<Aim<'r, M>> {
    Ok(Aim {
        key: &row.0,
        version: None,
        alone: must_be_alone(conn)?,
        marks: false,
    })
}

pub(super) fn missing<M: Versioned>(key: &M::Key) -> Error {
    Error::NotFound(NotFound {
        table: M::TABLE,
        key: format!("{key:?}"),
    })
}

/// A checked update of one row; `marks` where it is to mark the row as deleted.
pub(super) fn update<M, C>(
    conn: &mut C,
    row: &RowVersion<M>,
    changes: impl Changes<M, C::Backend>,
    marks: bool,
) -> Result<RowVersion<M>>
where
    C: Driver,
    M: Record<C::Backend>,
{
    let new = next_version(row)?;
    let aim = Aim {
        marks,
        ..aim(conn, row)?
    };
    let rows = changes.run(conn, aim, None::<&NoGuard>)?;
    settle(conn, rows, row, None::<&NoGuard>)?;
    Ok(new)
}

/// The verdict on a write of one row at a version.
pub(super) fn settle<M, C, G>(
    conn: &mut C,
    rows: usize,
    row: &RowVersion<M>,
    guard: Option<&G>,
) -> Result<()>
where
    C: Driver,
    M: Record<C::Backend>,
    G: Guard<M, C::Backend>,
{
    match rows {
        1 => Ok(()),
        0 => {
            let states = M::states(conn, &row.key, guard)?;
            let refusal = Refusal::of::<M>(&row.key, Some(&row.version));
            let error = refusal
                .cause(&states)
                .unwrap_or_else(|| refusal.suppressed(&states));
            if matches!(&error, Error::Conflict(conflict) if conflict.is_retryable()) {
                conn.lost(LostRow::<M>(row.key.clone()));
            }
            Err(error)
        }
        rows => Err(too_many(M::TABLE, format!("{:?}", row.key), rows)),
    }
}

/// The key of a row whose write has lost its race.
struct LostRow<M: Versioned>(M::Key);

impl<M: Versioned> Clone for LostRow<M> {
    fn clone(&self) -> Self {
        LostRow(self.0.clone())
    }
}

impl<M: Record<DB>, DB: Dialect> Turn<DB> for LostRow<M> {
    fn name(&self) -> (&'static str, String) {
        (M::TABLE, format!("{:?}", self.0))
    }

    fn take<C: Driver<Backend = DB>>(&self, conn: &mut C) -> Result<()> {
        M::take_turn(conn, &self.0)
    }
}

/// The verdict on a write of one row at whatever version.
///
/// A delete leaves no version behind, and so is not kept back by one that cannot grow.
pub(super) fn settle_unchecked<M, C>(
    conn: &mut C,
    rows: usize,
    row: &RowKey<M>,
    deletes: bool,
) -> Result<()>
where
    C: Driver,
    M: Record<C::Backend>,
{
    match rows {
        1 => Ok(()),
        0 => {
            let states: Vec<_> = M::states(conn, &row.0, None::<&NoGuard>)?
                .into_iter()
                // Such a write reaches a row that is marked as deleted.
                .map(|(version, _)| (version, State::Writable))
                .collect();
            let refusal = Refusal::of::<M>(&row.0, None);
            let cause = refusal
                .cause(&states)
                .filter(|cause| !(deletes && matches!(cause, Error::VersionOverflow(_))));
            Err(cause.unwrap_or_else(|| refusal.suppressed(&states)))
        }
        rows => Err(too_many(M::TABLE, format!("{:?}", row.0), rows)),
    }
}

/// Why the row is not at this version, by what was read of it.
pub(super) fn conflicting<M: Versioned>(
    row: &RowVersion<M>,
    states: &[(M::Version, State)],
) -> Option<Error> {
    Refusal::of::<M>(&row.key, Some(&row.version)).cause(states)
}

/// The row of a [`guarded_update`](crate::VersionedConnection::guarded_update): by its key, or at a version.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say which row a guarded write is for",
    label = "not a row",
    note = "pass `Product::key(42)`, `Product::at(42, 7)` or `&product`"
)]
pub trait GuardTarget: Sized {
    /// The model of the row.
    type Model: Versioned;
    /// What the write answers: the row at its new version, where that is known.
    type Written;

    #[doc(hidden)]
    fn write<C, G, Ch>(self, conn: &mut C, guard: &G, changes: Ch) -> Result<Self::Written>
    where
        C: Driver,
        Self::Model: Record<C::Backend>,
        G: Guard<Self::Model, C::Backend>,
        Ch: Changes<Self::Model, C::Backend> + Clone;
}

impl<M: Versioned> GuardTarget for RowVersion<M> {
    type Model = M;
    type Written = RowVersion<M>;

    fn write<C, G, Ch>(self, conn: &mut C, guard: &G, changes: Ch) -> Result<RowVersion<M>>
    where
        C: Driver,
        M: Record<C::Backend>,
        G: Guard<M, C::Backend>,
        Ch: Changes<M, C::Backend> + Clone,
    {
        let new = next_version(&self)?;
        let aim = aim(conn, &self)?;
        let rows = changes.run(conn, aim, Some(guard))?;
        settle(conn, rows, &self, Some(guard))?;
        Ok(new)
    }
}

impl<M: Versioned> GuardTarget for RowKey<M> {
    type Model = M;
    type Written = ();

    fn write<C, G, Ch>(self, conn: &mut C, guard: &G, changes: Ch) -> Result<()>
    where
        C: Driver,
        M: Record<C::Backend>,
        G: Guard<M, C::Backend>,
        Ch: Changes<M, C::Backend> + Clone,
    {
        let refusal = Refusal::of::<M>(&self.0, None);
        let mut states = Vec::new();
        for _ in 0..TRIES {
            let aim = aim_unchecked(conn, &self)?;
            match changes.clone().run(conn, aim, Some(guard))? {
                1 => return Ok(()),
                0 => {
                    states = M::states(conn, &self.0, Some(guard))?;
                    if let Some(cause) = refusal.cause(&states) {
                        return Err(cause);
                    }
                }
                rows => return Err(too_many(M::TABLE, refusal.key, rows)),
            }
        }
        Err(refusal.suppressed(&states))
    }
}

impl<M: Versioned> GuardTarget for &M {
    type Model = M;
    type Written = RowVersion<M>;

    fn write<C, G, Ch>(self, conn: &mut C, guard: &G, changes: Ch) -> Result<RowVersion<M>>
    where
        C: Driver,
        M: Record<C::Backend>,
        G: Guard<M, C::Backend>,
        Ch: Changes<M, C::Backend> + Clone,
    {
        self.row_version().write(conn, guard, changes)
    }
}

impl<M: Versioned> GuardTarget for &RowVersion<M> {
    type Model = M;
    type Written = RowVersion<M>;

    fn write<C, G, Ch>(self, conn: &mut C, guard: &G, changes: Ch) -> Result<RowVersion<M>>
    where
        C: Driver,
        M: Record<C::Backend>,
        G: Guard<M, C::Backend>,
        Ch: Changes<M, C::Backend> + Clone,
    {
        self.clone().write(conn, guard, changes)
    }
}
