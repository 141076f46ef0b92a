//! Sending, and what a failure of it means for the connection and for the work.

use super::{Driver, depth};
use crate::error::{Error, OutcomeUnknown, Result};
use crate::fault::{Fault, Verdict, by_number, look_up};
use diesel::connection::TransactionManager;
use diesel::result::{DatabaseErrorKind, Error as DieselError, QueryResult};

/// What a failure means. A server that hides it behind its language is asked: so this comes right behind the failure.
pub(crate) fn diagnose<C: Driver>(conn: &mut C, error: &DieselError) -> Verdict {
    let faults = conn.server().faults;
    let verdict = look_up(faults, error).unwrap_or_else(|| match error {
        DieselError::DatabaseError(DatabaseErrorKind::UnableToSendCommand, _) => {
            match conn.answers() {
                // Too many binds, say: the client library has sent nothing.
                true => Verdict::goes_on(Fault::Permanent),
                false => Verdict::lost(),
            }
        }
        DieselError::DatabaseError(_, information) => match conn.number_of(information.message()) {
            Ok(number) => number
                .and_then(|number| by_number(faults, number))
                .unwrap_or(Verdict::goes_on(Fault::Permanent)),
            Err(_) => Verdict::lost(),
        },
        _ => Verdict::goes_on(Fault::Permanent),
    });
    mark_if_lost(conn, verdict);
    verdict
}

/// A connection that is gone is marked as broken, so that no pool takes it back: Diesel's own MySQL connection does not
/// notice.
fn mark_if_lost<C: Driver>(conn: &mut C, verdict: Verdict) {
    if verdict.fault == Fault::ConnectionLost {
        C::TransactionManager::transaction_manager_status_mut(conn).set_in_error();
    }
}

/// Sends a write. Outside a transaction it is its own COMMIT, so that the loss of its answer leaves the outcome unknown.
pub(crate) fn write<C: Driver, T>(
    conn: &mut C,
    write: impl FnOnce(&mut C) -> QueryResult<T>,
) -> Result<T> {
    let in_autocommit = depth(conn)? == 0;
    write(conn).map_err(|source| {
        if !in_autocommit {
            return source.into();
        }
        let verdict = diagnose(conn, &source);
        let fault = verdict.fault;
        match verdict.unknown_alone {
            true => Error::OutcomeUnknown(OutcomeUnknown { fault, source }),
            false => source.into(),
        }
    })
}

/// Sends a read.
pub(crate) fn read<C: Driver, T>(
    conn: &mut C,
    read: impl FnOnce(&mut C) -> QueryResult<T>,
) -> Result<T> {
    Ok(read(conn).inspect_err(|error| {
        // In a transaction somebody else looks, and outside of one a read that failed is no more than that.
        if let Some(verdict) = look_up(conn.server().faults, error) {
            mark_if_lost(conn, verdict);
        } else if matches!(depth(conn), Ok(0)) {
            diagnose(conn, error);
        }
        conn.load_failed();
    })?)
}

/// Lets a `Tx` know how an operation ended.
pub(crate) fn noted<C: Driver, T>(
    conn: &mut C,
    operation: impl FnOnce(&mut C) -> Result<T>,
) -> Result<T> {
    let result = operation(conn);
    if let Err(error) = &result {
        conn.note(error);
    }
    result
}
