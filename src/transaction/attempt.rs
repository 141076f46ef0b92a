//! One attempt: begin, the closure, and the end that it deserves.

use super::boundary::{self, Begun, Commit, Refused};
use super::locks::Locks;
use super::run::Run;
use super::seen::{Ended, Seen, TxState};
use super::timer::Timer;
use super::turn::Turns;
use super::tx::Tx;
use crate::backend::{Begin, Driver, IsolationLevel, depth, diagnose};
use crate::error::{Error, Unsupported};
use crate::fault::Fault;
use diesel::connection::TransactionManager;

/// Runs the closure once in a transaction of its own; inside an open one, behind a savepoint.
pub(crate) fn attempt<C, T, E>(
    conn: &mut C,
    run: &Run<'_>,
    turns: &mut Turns<C>,
    f: &mut impl FnMut(&mut Tx<'_, C>) -> Result<T, E>,
) -> (Result<T, E>, Seen)
where
    C: Driver,
    E: From<Error>,
{
    match depth(conn) {
        Ok(0) => outermost(conn, run, turns, f),
        Ok(_) => nested(conn, run, turns, f),
        Err(error) => (
            Err(Error::from(error).into()),
            Seen::fault(Some(Fault::ConnectionLost)),
        ),
    }
}

fn outermost<C, T, E>(
    conn: &mut C,
    run: &Run<'_>,
    turns: &mut Turns<C>,
    f: &mut impl FnMut(&mut Tx<'_, C>) -> Result<T, E>,
) -> (Result<T, E>, Seen)
where
    C: Driver,
    E: From<Error>,
{
    let mut locks = None;
    let done = from_begin_to_end(conn, run, turns, &mut locks, f);
    if let Some(locks) = locks {
        locks.release(run);
    }
    done
}

/// Leaves in `locks` what the transaction held until its end.
fn from_begin_to_end<C, T, E>(
    conn: &mut C,
    run: &Run<'_>,
    turns: &mut Turns<C>,
    locks: &mut Option<Locks>,
    f: &mut impl FnMut(&mut Tx<'_, C>) -> Result<T, E>,
) -> (Result<T, E>, Seen)
where
    C: Driver,
    E: From<Error>,
{
    let asked = run.clock().now();
    let begun = unless_panic(conn, roll_back_all, |conn| begin(conn, run, turns));
    let begun = match begun {
        Ok(begun) => begun,
        Err(Refused { error, fault }) => return (Err(error.into()), Seen::fault(fault)),
    };
    let isolation = run.begin().isolation;
    let (result, state, held) = unless_panic(conn, roll_back_all, |conn| {
        let locks = Locks::new(run, asked);
        closure(conn, isolation, turns, Some((locks, run.clock())), f)
    });
    *locks = held;
    if let (Ok(_), None, Some(spoiled)) = (&result, state.ended, state.spoiled) {
        // Roll back what the server or the missing statement spoils; a broken connection is marked, and nothing is stored.
        let _ = boundary::rollback(conn, begun);
        return over(Ended::By(spoiled.fault), state);
    }
    match (result, state.ended) {
        (Ok(value), None) => match unless_panic(conn, roll_back_all, |conn| {
            boundary::commit(conn, run, begun)
        }) {
            Commit::Done => (Ok(value), Seen::default()),
            Commit::Over => {
                let suspect = state.suspect;
                let ended = suspect.map_or(Ended::Unaccounted, |suspect| suspect.verdict());
                over(ended, state)
            }
            Commit::Refused(Refused { error, fault }) => (Err(error.into()), Seen::fault(fault)),
        },
        (Ok(_), Some(ended)) => {
            // A connection that cannot be rolled back is marked as broken, and no retry takes it again.
            let _ = boundary::rollback(conn, begun);
            over(ended, state)
        }
        (Err(error), ended) => {
            let ours = boundary::rollback(conn, begun).unwrap_or(true);
            // Gone without our ROLLBACK: rolled back for certain only where the server says that it is its own doing.
            let ended = ended.or_else(|| {
                let suspect = state.suspect.filter(|_| !ours)?;
                Some(suspect.verdict())
            });
            let accounted = ours
                || matches!(ended, Some(Ended::By(fault)) if fault.is_retryable() || fault == Fault::ConnectionLost);
            let mut seen = state.seen;
            if !accounted || ended == Some(Ended::Unaccounted) {
                // Something may be stored: to run it again could store it twice.
                seen.fault = None;
            }
            (Err(error), seen)
        }
    }
}

/// Begins, and waits for the rows that earlier runs have lost.
fn begin<C: Driver>(conn: &mut C, run: &Run<'_>, turns: &mut Turns<C>) -> Result<Begun, Refused> {
    let begun = boundary::begin(conn, run)?;
    if turns.is_empty() {
        return Ok(begun);
    }
    let Err(error) = turns.take(conn) else {
        return Ok(begun);
    };
    let fault = match &error {
        Error::Database(error) => diagnose(conn, error).fault,
        _ => Fault::Permanent,
    };
    // A connection that cannot be rolled back is marked as broken, and BEGIN says so.
    let _ = boundary::rollback(conn, begun);
    if fault.is_retryable() || fault == Fault::ConnectionLost {
        let fault = Some(fault);
        return Err(Refused { error, fault });
    }
    // A view that cannot be locked, or a role that may not: then without.
    turns.forget();
    boundary::begin(conn, run)
}

fn nested<C, T, E>(
    conn: &mut C,
    run: &Run<'_>,
    turns: &mut Turns<C>,
    f: &mut impl FnMut(&mut Tx<'_, C>) -> Result<T, E>,
) -> (Result<T, E>, Seen)
where
    C: Driver,
    E: From<Error>,
{
    if run.begin() != Begin::default() {
        let refused = Unsupported {
            server: conn.server().name,
            what: "isolation level or access mode for a transaction inside another",
        };
        return (Err(Error::Unsupported(refused).into()), Seen::default());
    }
    if let Err(error) = C::TransactionManager::begin_transaction(conn) {
        return (Err(Error::from(error).into()), Seen::default());
    }
    let (result, state, _) = unless_panic(conn, roll_back_savepoint, |conn| {
        closure(conn, None, turns, None, f)
    });
    if state.server_ended && !conn.is_watched() && !state.server.any_error_aborts {
        // A transaction of Diesel's own, which still believes in it: it would report a success, and what comes next would be
        // stored at once and alone. Diesel lets nothing through any more. PostgreSQL refuses both by itself.
        C::TransactionManager::transaction_manager_status_mut(conn).set_in_error();
    }
    let spoiled = state.spoiled.map(|spoiled| Ended::By(spoiled.fault));
    match (result, state.ended.or(spoiled)) {
        (Ok(value), None) => match C::TransactionManager::commit_transaction(conn) {
            Ok(()) => (Ok(value), Seen::default()),
            Err(error) => (Err(Error::from(error).into()), state.seen),
        },
        (Ok(_), Some(ended)) => {
            let _ = C::TransactionManager::rollback_transaction(conn);
            over(ended, state)
        }
        (Err(error), _) => {
            // The closure's error is the news; the outer transaction notices by itself what it can no longer do.
            let _ = C::TransactionManager::rollback_transaction(conn);
            (Err(error), state.seen)
        }
    }
}

/// The closure said that all is well, and the transaction is not.
fn over<T, E: From<Error>>(ended: Ended, state: TxState) -> (Result<T, E>, Seen) {
    let error = state.error(ended);
    let fault = match ended {
        Ended::By(fault) => Some(fault),
        Ended::Unaccounted => None,
    };
    let seen = Seen {
        fault,
        ..state.seen
    };
    (Err(error.into()), seen)
}

/// Runs the closure, and answers what its transaction has seen and locked.
fn closure<C, T, E>(
    conn: &mut C,
    isolation: Option<IsolationLevel>,
    turns: &mut Turns<C>,
    locks: Option<(Locks, &dyn Timer)>,
    f: &mut impl FnMut(&mut Tx<'_, C>) -> Result<T, E>,
) -> (Result<T, E>, TxState, Option<Locks>)
where
    C: Driver,
{
    let state = TxState::new(conn.server(), isolation);
    let mut tx = Tx::new(conn, state, turns, locks);
    let result = f(&mut tx);
    let (state, locks) = tx.into_parts();
    (result, state, locks)
}

/// Does the work; a panic in it, be it the closure's, a timer's or an instrumentation's, rolls back on its way out.
fn unless_panic<C: Driver, R>(
    conn: &mut C,
    rollback: fn(&mut C),
    work: impl FnOnce(&mut C) -> R,
) -> R {
    struct Unwind<'u, C: Driver> {
        conn: &'u mut C,
        rollback: fn(&mut C),
        armed: bool,
    }
    impl<C: Driver> Drop for Unwind<'_, C> {
        fn drop(&mut self) {
            if self.armed {
                (self.rollback)(self.conn);
            }
        }
    }

    let mut unwind = Unwind {
        conn,
        rollback,
        armed: true,
    };
    let result = work(unwind.conn);
    unwind.armed = false;
    result
}

/// The panic is what there is to report; a connection that cannot be rolled back is marked as broken.
fn roll_back_all<C: Driver>(conn: &mut C) {
    let _ = boundary::rollback(conn, Begun::SOMEHOW);
}

fn roll_back_savepoint<C: Driver>(conn: &mut C) {
    let _ = C::TransactionManager::rollback_transaction(conn);
}
