//! Read, change, save, and again after a lost race.

use super::mode::{Edit, Mode};
use super::write::{aim, missing, settle};
use crate::backend::{Driver, depth};
use crate::error::{Error, KeyChanged, Result};
use crate::fault::{Fault, classify};
use crate::model::{NoGuard, Record};
use crate::statement::next_version;
use crate::transaction::{Next, Run, Seen};

/// What ended one pass.
enum Failed<E> {
    /// The closure itself: final.
    Closure(E),
    /// Something between this crate and the database.
    Ours(Error),
}

impl<E> From<Error> for Failed<E> {
    fn from(error: Error) -> Self {
        Failed::Ours(error)
    }
}

pub(super) fn modify<M, C, O>(
    conn: &mut C,
    key: &M::Key,
    mode: &Mode,
    mut f: impl FnMut(&mut M) -> O,
) -> Result<M, O::Error>
where
    C: Driver,
    M: Record<C::Backend>,
    O: Edit,
{
    let outermost = depth(conn).map_err(Error::from)? == 0;
    let mut run = Run::new(&mode.retry);
    loop {
        let error = match once(conn, key, outermost.then_some(&run), &mut f) {
            Ok(model) => return Ok(model),
            Err(Failed::Closure(error)) => return Err(error),
            Err(Failed::Ours(error)) => error,
        };
        if !outermost {
            conn.note(&error);
            return Err(error.into());
        }
        match run.next(&Seen::of(&error), Fault::is_retryable) {
            Next::Again(delay) => run.sleep(delay),
            Next::Stop => return Err(error.into()),
            Next::Exhausted(exhausted) => return Err(exhausted.into()),
        }
    }
}

fn once<M, C, O>(
    conn: &mut C,
    key: &M::Key,
    run: Option<&Run<'_>>,
    f: &mut impl FnMut(&mut M) -> O,
) -> Result<M, Failed<O::Error>>
where
    C: Driver,
    M: Record<C::Backend>,
    O: Edit,
{
    let mut model =
        patiently(conn, run, |conn| M::load(conn, key))?.ok_or_else(|| missing::<M>(key))?;
    let row = model.row_version();
    f(&mut model).done().map_err(Failed::Closure)?;
    let changed = model.row_key();
    if changed != row.key {
        let (key, changed) = (format!("{key:?}"), format!("{changed:?}"));
        return Err(Error::KeyChanged(KeyChanged {
            table: M::TABLE,
            key,
            changed,
        })
        .into());
    }
    let new = next_version(&row)?;
    let aim = aim(conn, &row)?;
    let rows = patiently(conn, run, |conn| Ok(model.write(conn, aim)?))?;
    settle(conn, rows, &row, None::<&NoGuard>)?;
    model.set_version(new.version);
    Ok(model)
}

/// Sends a statement again while another connection keeps SQLite busy: nothing was read or written, so it is no attempt.
fn patiently<C: Driver, T>(
    conn: &mut C,
    run: Option<&Run<'_>>,
    mut statement: impl FnMut(&mut C) -> Result<T>,
) -> Result<T> {
    loop {
        match (statement(conn), run) {
            (Err(Error::Database(error)), Some(run))
                if classify(conn.server().faults, &error).fault == Fault::Busy =>
            {
                if !run.wait_a_little() {
                    return Err(run.lock_timeout("the database"));
                }
            }
            (result, _) => return result,
        }
    }
}
