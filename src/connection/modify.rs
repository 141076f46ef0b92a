//! Read, change, save, and again after a lost race.

use super::lock::fetch_locked;
use super::mode::{Edit, Mode};
use super::write::{aim, missing, settle};
use crate::backend::{Driver, Lock, Wait, depth, diagnose};
use crate::error::{Error, KeyChanged, Result};
use crate::fault::{Fault, classify};
use crate::model::{NoGuard, Record, RowVersion, Versioned};
use crate::statement::{clause, next_version, unavailable};
use crate::transaction::{Next, Run, Seen, Turns, attempt};

/// How often the row may be lost before the call waits for it in the server's queue. Until then nobody is kept from it.
const PATIENCE: u32 = 6;

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
    let server = conn.server();
    if let Some(lock) = mode.lock {
        clause(server, lock)?;
    }
    let outermost = depth(conn).map_err(Error::from)? == 0;
    let queues = outermost && !server.locks_at_begin;
    let (mut run, mut lost) = (Run::of_one_row(&mode.retry, mode.lock), 0);
    loop {
        let queue = (queues && lost >= PATIENCE).then(Lock::of_a_write);
        let (result, seen) = match (mode.lock.or(queue), outermost) {
            (Some(lock), true) => attempt(conn, &run, &mut Turns::new(), &mut |tx| {
                locked_pass(tx, key, lock, &mut f)
            }),
            (Some(lock), false) => {
                let result = locked_pass(conn, key, lock, &mut f);
                (result, Seen::default())
            }
            (None, _) => {
                let result = once(conn, key, outermost.then_some(&run), &mut f);
                let seen = seen_in(conn, &result);
                (result, seen)
            }
        };
        let error = match result {
            Ok(model) => return Ok(model),
            Err(Failed::Closure(error)) => return Err(error),
            Err(Failed::Ours(error)) => not_begun::<M>(error, key, mode.lock),
        };
        if !outermost {
            conn.note(&error);
            return Err(error.into());
        }
        lost += u32::from(seen.conflict.is_some());
        match run.next(&seen, Fault::is_retryable) {
            Next::Again(delay) => run.sleep(delay),
            Next::Stop => return Err(error.into()),
            Next::Exhausted(exhausted) => return Err(exhausted.into()),
        }
    }
}

/// Where BEGIN takes the lock, and was not to wait for it.
fn not_begun<M: Versioned>(error: Error, key: &M::Key, lock: Option<Lock>) -> Error {
    match (&error, lock.map(|lock| lock.wait)) {
        (Error::LockTimeout(_), Some(Wait::No | Wait::Skip)) => {
            unavailable(M::TABLE, format!("{key:?}"))
        }
        _ => error,
    }
}

/// What a retry goes by after a pass in autocommit.
fn seen_in<C: Driver, T, E>(conn: &mut C, result: &Result<T, Failed<E>>) -> Seen {
    match result {
        Err(Failed::Ours(Error::Database(error))) => Seen::fault(Some(diagnose(conn, error).fault)),
        Err(Failed::Ours(error)) => Seen::of(error),
        _ => Seen::default(),
    }
}

/// Read with the lock, closure, write.
fn locked_pass<M, C, O>(
    conn: &mut C,
    key: &M::Key,
    lock: Lock,
    f: &mut impl FnMut(&mut M) -> O,
) -> Result<M, Failed<O::Error>>
where
    C: Driver,
    M: Record<C::Backend>,
    O: Edit,
{
    let read = fetch_locked::<M, C>(conn, key, lock)?;
    let row = read.row_version();
    let mut edited = edit(read, &row, f)?;
    let new = next_version(&row)?;
    let aim = aim(conn, &row)?;
    let rows = edited.write(conn, aim)?;
    settle(conn, rows, &row, None::<&NoGuard>)?;
    edited.set_version(new.version);
    Ok(edited)
}

/// One attempt. While another connection keeps SQLite busy it starts over with a fresh read: the one who holds the lock may
/// be changing this very row, and who waits with what was read would only lose the race. Nothing was written meanwhile, so
/// it is still the same attempt; and where the row has not changed the closure does not run again.
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
    let mut unsaved = None;
    let mut tries = 0;
    loop {
        match (pass(conn, key, &mut unsaved, f), run) {
            (Err(Failed::Ours(Error::Database(error))), Some(run))
                if classify(conn.server().faults, &error).fault == Fault::Busy =>
            {
                if !run.wait_after(tries) {
                    return Err(run.lock_timeout("the database").into());
                }
                tries += 1;
            }
            (result, _) => return result,
        }
    }
}

/// A model as the closure has left it, and the row it was read from.
struct Unsaved<M: Versioned> {
    model: M,
    row: RowVersion<M>,
}

/// Read, closure, write. What could not be sent stays in `unsaved` for the next pass.
fn pass<M, C, O>(
    conn: &mut C,
    key: &M::Key,
    unsaved: &mut Option<Unsaved<M>>,
    f: &mut impl FnMut(&mut M) -> O,
) -> Result<M, Failed<O::Error>>
where
    C: Driver,
    M: Record<C::Backend>,
    O: Edit,
{
    let read = M::load(conn, key)?.ok_or_else(|| missing::<M>(key))?;
    let row = read.row_version();
    let mut edited = match unsaved.take() {
        Some(unsaved) if unsaved.row == row => unsaved,
        _ => Unsaved {
            model: edit(read, &row, f)?,
            row,
        },
    };
    let new = next_version(&edited.row)?;
    let aim = aim(conn, &edited.row)?;
    match edited.model.write(conn, aim) {
        Ok(rows) => settle(conn, rows, &edited.row, None::<&NoGuard>)?,
        Err(error) => {
            *unsaved = Some(edited);
            return Err(error.into());
        }
    }
    edited.model.set_version(new.version);
    Ok(edited.model)
}

/// The model as the closure leaves it.
fn edit<M: Versioned, O: Edit>(
    mut model: M,
    row: &RowVersion<M>,
    f: &mut impl FnMut(&mut M) -> O,
) -> Result<M, Failed<O::Error>> {
    f(&mut model).done().map_err(Failed::Closure)?;
    let changed = model.row_key();
    if changed != row.key {
        let (key, changed) = (format!("{:?}", row.key), format!("{changed:?}"));
        return Err(Error::KeyChanged(KeyChanged {
            table: M::TABLE,
            key,
            changed,
        })
        .into());
    }
    Ok(model)
}
