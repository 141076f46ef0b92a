//! A locking statement that does not wait, or not for ever. Where it is refused, nothing but the lock is missing afterwards: the
//! transaction goes on, and the server's settings are what they were.

use crate::backend::{Driver, Limit, diagnose};
use crate::error::Result;
use crate::fault::Fault;
use diesel::result::{DatabaseErrorKind, Error as DieselError, QueryResult};
use std::time::{Duration, Instant};

/// The longest pause between two tries, where a server cannot limit its wait.
const PAUSE: Duration = Duration::from_millis(2);

/// Sends a statement that fails where somebody else holds a row; `None` when it did.
pub(crate) fn without_waiting<C: Driver, T>(
    conn: &mut C,
    send: impl FnOnce(&mut C) -> QueryResult<T>,
) -> Result<Option<T>> {
    // A failure would abort the whole transaction otherwise.
    let nothing = Limit {
        set: String::new(),
        restore: String::new(),
    };
    let savepoint = conn.server().any_error_aborts.then_some(nothing);
    refusable(conn, savepoint, || false, send)
}

/// Sends a statement that waits so long at most; `None` when that was not enough. `send` is told how much time is left.
pub(crate) fn within<C: Driver, T>(
    conn: &mut C,
    limit: Duration,
    send: impl Fn(&mut C, Duration) -> QueryResult<T>,
) -> Result<Option<T>> {
    let started = Instant::now();
    loop {
        let left = limit.saturating_sub(started.elapsed());
        let setting = conn.limit(left)?;
        let out_of_time = || started.elapsed() >= limit;
        let answer = refusable(conn, setting, out_of_time, |conn| send(conn, left))?;
        if answer.is_some() || out_of_time() {
            return Ok(answer);
        }
        let left = limit.saturating_sub(started.elapsed());
        std::thread::sleep(PAUSE.min(left).mul_f64(fastrand::f64()));
    }
}

/// Sends a statement whose failure may mean that a lock is not to be had; `None` when it does. With a limit it is sent behind a
/// savepoint that takes back both the failure and the limit.
fn refusable<C: Driver, T>(
    conn: &mut C,
    limit: Option<Limit>,
    out_of_time: impl Fn() -> bool,
    send: impl FnOnce(&mut C) -> QueryResult<T>,
) -> Result<Option<T>> {
    conn.may_be_refused();
    if let Some(limit) = &limit {
        conn.batch_execute(&format!("SAVEPOINT occ_lock; {}", limit.set))?;
    }
    let error = match (send(conn), &limit) {
        (Ok(value), None) => return Ok(Some(value)),
        (Ok(value), Some(limit)) => {
            conn.batch_execute(&format!("RELEASE SAVEPOINT occ_lock; {}", limit.restore))?;
            return Ok(Some(value));
        }
        (Err(error), None) => error,
        (Err(error), Some(_)) => {
            // The error is the news. Where this fails the transaction is over, and its end takes back the rest.
            let _ =
                conn.batch_execute("ROLLBACK TO SAVEPOINT occ_lock; RELEASE SAVEPOINT occ_lock");
            error
        }
    };
    let refused = match diagnose(conn, &error).fault {
        Fault::LockTimeout => true,
        // By the limit, which each server says otherwise, and in its language.
        Fault::Permanent => is_untyped(&error) && out_of_time(),
        _ => false,
    };
    if !refused {
        return Err(error.into());
    }
    conn.was_refused();
    Ok(None)
}

fn is_untyped(error: &DieselError) -> bool {
    matches!(
        error,
        DieselError::DatabaseError(DatabaseErrorKind::Unknown, _)
    )
}
