//! One attempt: begin, the closure, and the end that it deserves.

use super::boundary::{self, Commit, Refused};
use super::run::Run;
use super::seen::{Ended, Seen, TxState};
use super::tx::Tx;
use crate::backend::{Driver, depth};
use crate::error::Error;
use crate::fault::Fault;
use diesel::connection::TransactionManager;

/// Runs the closure once in a transaction of its own; inside an open one, behind a savepoint.
pub(crate) fn attempt<C, T, E>(
    conn: &mut C,
    run: &Run<'_>,
    f: &mut impl FnMut(&mut Tx<'_, C>) -> Result<T, E>,
) -> (Result<T, E>, Seen)
where
    C: Driver,
    E: From<Error>,
{
    match depth(conn) {
        Ok(0) => outermost(conn, run, f),
        Ok(_) => nested(conn, f),
        Err(error) => (
            Err(Error::from(error).into()),
            Seen::fault(Some(Fault::ConnectionLost)),
        ),
    }
}

fn outermost<C, T, E>(
    conn: &mut C,
    run: &Run<'_>,
    f: &mut impl FnMut(&mut Tx<'_, C>) -> Result<T, E>,
) -> (Result<T, E>, Seen)
where
    C: Driver,
    E: From<Error>,
{
    if let Err(Refused { error, fault }) = boundary::begin(conn, run) {
        return (Err(error.into()), Seen::fault(fault));
    }
    let (result, conn, state) = guarded(conn, f, |conn| {
        let _ = boundary::rollback(conn);
    });
    let TxState {
        mut seen,
        ended,
        suspect,
        ..
    } = state;
    match (result, ended) {
        (Ok(value), None) => match boundary::commit(conn, run) {
            Commit::Done => (Ok(value), Seen::default()),
            Commit::Over => {
                let ended = suspect.map_or(Ended::Unaccounted, |suspect| suspect.verdict());
                over(ended, seen)
            }
            Commit::Refused(Refused { error, fault }) => (Err(error.into()), Seen::fault(fault)),
        },
        (Ok(_), Some(ended)) => {
            // A connection that cannot be rolled back is marked as broken, and no retry takes it again.
            let _ = boundary::rollback(conn);
            over(ended, seen)
        }
        (Err(error), ended) => {
            let ours = boundary::rollback(conn).unwrap_or(true);
            let accounted = ours || matches!(ended, Some(Ended::By(_)));
            if !accounted || ended == Some(Ended::Unaccounted) {
                // Something may be stored: to run it again could store it twice.
                seen.fault = None;
            }
            (Err(error), seen)
        }
    }
}

fn nested<C, T, E>(
    conn: &mut C,
    f: &mut impl FnMut(&mut Tx<'_, C>) -> Result<T, E>,
) -> (Result<T, E>, Seen)
where
    C: Driver,
    E: From<Error>,
{
    if let Err(error) = C::TransactionManager::begin_transaction(conn) {
        return (Err(Error::from(error).into()), Seen::default());
    }
    let (result, conn, state) = guarded(conn, f, |conn| {
        let _ = C::TransactionManager::rollback_transaction(conn);
    });
    let TxState { seen, ended, .. } = state;
    match (result, ended) {
        (Ok(value), None) => match C::TransactionManager::commit_transaction(conn) {
            Ok(()) => (Ok(value), Seen::default()),
            Err(error) => (Err(Error::from(error).into()), seen),
        },
        (Ok(_), Some(ended)) => {
            let _ = C::TransactionManager::rollback_transaction(conn);
            over(ended, seen)
        }
        (Err(error), _) => {
            // The closure's error is the news; the outer transaction notices by itself what it can no longer do.
            let _ = C::TransactionManager::rollback_transaction(conn);
            (Err(error), seen)
        }
    }
}

/// The closure said that all is well, and the transaction is over.
fn over<T, E: From<Error>>(ended: Ended, seen: Seen) -> (Result<T, E>, Seen) {
    let error = TxState::error(ended, &seen);
    let fault = match ended {
        Ended::By(fault) => Some(fault),
        Ended::Unaccounted => None,
    };
    (Err(error.into()), Seen { fault, ..seen })
}

/// Runs the closure; a panic rolls back on its way out.
fn guarded<'c, C, T, E>(
    conn: &'c mut C,
    f: &mut impl FnMut(&mut Tx<'_, C>) -> Result<T, E>,
    rollback: fn(&mut C),
) -> (Result<T, E>, &'c mut C, TxState)
where
    C: Driver,
{
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

    let server = conn.server();
    let mut unwind = Unwind {
        conn: &mut *conn,
        rollback,
        armed: true,
    };
    let mut tx = Tx::new(&mut *unwind.conn, server);
    let result = f(&mut tx);
    let (_, state) = tx.into_parts();
    unwind.armed = false;
    drop(unwind);
    (result, conn, state)
}
