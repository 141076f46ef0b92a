//! BEGIN with the guard, and RELEASE with COMMIT, in one batch each; and ROLLBACK. Diesel's depth is kept by hand.
//!
//! The guard is a savepoint right behind BEGIN. It is gone exactly when the transaction is: rolled back by the server,
//! committed by a statement of the user's, or aborted. So releasing it right before COMMIT fails where COMMIT alone would
//! report success. Where no statement of the user's runs inside, every failure is seen, and no guard is needed.

use super::run::Run;
use crate::backend::{Bundle, Driver, depth, diagnose};
use crate::error::{Error, OutcomeUnknown, Unsupported};
use crate::fault::{Fault, Verdict, classify};
use diesel::connection::{
    Connection, TransactionDepthChange, TransactionManager, TransactionManagerStatus,
};
use diesel::result::{Error as DieselError, QueryResult};

/// Every server names the savepoint that it misses, in whatever language.
const GUARD: &str = "occ_guard";

/// Why a boundary was not crossed.
pub(super) struct Refused {
    pub(super) error: Error,
    /// What a retry goes by.
    pub(super) fault: Option<Fault>,
}

impl Refused {
    fn by(error: DieselError, verdict: Verdict) -> Self {
        Refused {
            error: error.into(),
            fault: Some(verdict.fault),
        }
    }

    fn finally(error: Error) -> Self {
        Refused { error, fault: None }
    }
}

/// How a transaction was begun, and so is to be ended.
#[derive(Debug, Clone, Copy)]
pub(super) struct Begun {
    bundle: Bundle,
    guarded: bool,
}

impl Begun {
    /// Where that is not known: what a server has not is left out then.
    pub(super) const SOMEHOW: Begun = Begun {
        bundle: Bundle::Batch,
        guarded: true,
    };
}

/// Begins as the policy asks, on SQLite with the intent to write, tried again until the policy's time is up. Answers how the
/// transaction's end is to be sent.
pub(super) fn begin<C: Driver>(conn: &mut C, run: &Run<'_>) -> Result<Begun, Refused> {
    let server = conn.server();
    let sql = (server.begin)(&run.begin()).map_err(|what| {
        let server = server.name;
        Refused::finally(Error::Unsupported(Unsupported { server, what }))
    })?;
    let (mut tries, mut out_of_time, asked) = (0, false, run.clock().now());
    let begun = conn.begin(&sql, &mut |error| {
        if classify(server.faults, error).fault != Fault::Busy {
            return false;
        }
        out_of_time = !run.wait_to_begin(tries, asked);
        tries += 1;
        !out_of_time
    });
    let bundle = match begun {
        Ok(bundle) => bundle,
        Err(_) if out_of_time => {
            return Err(Refused::finally(
                run.lock_timeout_since("the write lock of the database", asked),
            ));
        }
        Err(error) => {
            let verdict = diagnose(conn, &error);
            // It may have failed half way, between BEGIN and the guard. A connection that cannot be rolled back is marked.
            let _ = roll_back_alone(conn);
            return Err(Refused::by(error, verdict));
        }
    };
    // PostgreSQL's connection learns of the transaction by itself.
    if let TransactionManagerStatus::Valid(status) = status(conn)
        && status.transaction_depth().is_none()
    {
        let changed = status.change_transaction_depth(TransactionDepthChange::IncreaseDepth);
        changed.map_err(|error| Refused::finally(error.into()))?;
    }
    let guarded = run.begin().guarded;
    Ok(Begun { bundle, guarded })
}

/// What became of COMMIT.
pub(super) enum Commit {
    Done,
    /// The guard was gone.
    Over,
    Refused(Refused),
}

/// Releases the guard and commits. Whatever fails is rolled back.
pub(super) fn commit<C: Driver>(conn: &mut C, run: &Run<'_>, begun: Begun) -> Commit {
    match depth(conn) {
        Ok(1) => {}
        Ok(0) => return Commit::Over,
        Ok(_) => {
            // A savepoint was begun inside and never ended.
            return refuse(
                conn,
                begun,
                Refused::finally(DieselError::AlreadyInTransaction.into()),
            );
        }
        Err(error) => return Commit::Refused(Refused::finally(error.into())),
    }
    let server = conn.server();
    let mut sql = match begun.guarded {
        true => server.commit,
        false => server.commit_alone,
    };
    let mut tries = 0;
    loop {
        let error = match conn.end(sql, begun.bundle) {
            Ok(()) => {
                set_depth_to_none(conn);
                return Commit::Done;
            }
            Err(error) => error,
        };
        let verdict = diagnose(conn, &error);
        if verdict.fault == Fault::Busy && server.commit_can_be_tried_again {
            if run.wait_after(tries) {
                sql = server.commit_alone;
                tries += 1;
                continue;
            }
            let timeout = run.lock_timeout("the database, which others read,");
            return refuse(conn, begun, Refused::finally(timeout));
        }
        if verdict.unknown_at_commit {
            let unknown = OutcomeUnknown {
                fault: verdict.fault,
                source: error,
            };
            return refuse(
                conn,
                begun,
                Refused::finally(Error::OutcomeUnknown(unknown)),
            );
        }
        if matches!(&error, DieselError::DatabaseError(_, information) if information.message().contains(GUARD))
        {
            // The error of the guard is the news; a connection that cannot be rolled back is marked as broken.
            let _ = rollback(conn, begun);
            return Commit::Over;
        }
        return refuse(conn, begun, Refused::by(error, verdict));
    }
}

fn refuse<C: Driver>(conn: &mut C, begun: Begun, refused: Refused) -> Commit {
    // PostgreSQL has rolled back what it did not commit, and its connection knows it.
    if !matches!(depth(conn), Ok(0)) {
        // Why COMMIT failed is the news; a connection that cannot be rolled back is marked as broken.
        let _ = rollback(conn, begun);
    }
    Commit::Refused(refused)
}

/// Rolls everything back and answers whether the transaction was still the one that was begun.
pub(super) fn rollback<C: Driver>(conn: &mut C, begun: Begun) -> QueryResult<bool> {
    if let TransactionManagerStatus::InError = status(conn) {
        return Err(DieselError::BrokenTransactionManager);
    }
    if !begun.guarded {
        roll_back_alone(conn)?;
        return Ok(true);
    }
    let sql = conn.server().roll_back;
    let ours = conn.end(sql, begun.bundle).is_ok();
    if ours {
        set_depth_to_none(conn);
    } else {
        roll_back_alone(conn)?;
    }
    Ok(ours)
}

/// Rolls back what is open, if anything is.
fn roll_back_alone<C: Driver>(conn: &mut C) -> QueryResult<()> {
    if let TransactionManagerStatus::InError = status(conn) {
        return Err(DieselError::BrokenTransactionManager);
    }
    let server = conn.server();
    if let Err(error) = conn.batch_execute(server.roll_back_alone) {
        let already_gone = match (&error, server.nothing_to_roll_back) {
            (DieselError::DatabaseError(_, information), Some(text)) => {
                information.message() == text
            }
            _ => false,
        };
        if !already_gone {
            status(conn).set_in_error();
            return Err(error);
        }
    }
    set_depth_to_none(conn);
    Ok(())
}

fn set_depth_to_none<C: Connection>(conn: &mut C) {
    if let TransactionManagerStatus::Valid(status) = status(conn) {
        while status.transaction_depth().is_some()
            && status
                .change_transaction_depth(TransactionDepthChange::DecreaseDepth)
                .is_ok()
        {}
    }
}

fn status<C: Connection>(conn: &mut C) -> &mut TransactionManagerStatus {
    C::TransactionManager::transaction_manager_status_mut(conn)
}
