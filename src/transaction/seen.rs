//! What a transaction has seen go wrong, and whether it is over.

use super::copy::copy;
use crate::backend::{IsolationLevel, Server};
use crate::error::{Conflict, Error, Poisoned, TooManyRows, TransactionEnded};
use crate::fault::{Fault, Verdict, classify, look_up};
use diesel::result::Error as DieselError;
use std::sync::Arc;

/// What went wrong in an attempt, as it was seen before anybody wrapped it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Seen {
    /// What a retry goes by; `None` when no retry can answer the failure.
    pub(crate) fault: Option<Fault>,
    pub(crate) conflict: Option<Conflict>,
}

impl Seen {
    pub(crate) fn of(error: &Error) -> Seen {
        match error {
            Error::Conflict(conflict) => Seen {
                fault: conflict.is_retryable().then_some(Fault::Conflict),
                conflict: Some(conflict.clone()),
            },
            // The policy's own time is up.
            Error::LockTimeout(_) => Seen::default(),
            other => Seen {
                fault: Some(Fault::of(other)),
                conflict: None,
            },
        }
    }

    pub(crate) fn fault(fault: Option<Fault>) -> Seen {
        Seen {
            fault,
            conflict: None,
        }
    }
}

/// What a transaction has seen.
#[doc(hidden)]
#[derive(Debug)]
pub struct TxState {
    pub(super) server: &'static Server,
    pub(super) seen: Seen,
    pub(super) ended: Option<Ended>,
    /// Whether the whole transaction is gone on the server, and not only refused by this crate.
    pub(super) server_ended: bool,
    /// Something has happened that may have ended the transaction; the database is asked before the next statement.
    pub(super) suspect: Option<Suspect>,
    /// A failure that stands between this transaction and a COMMIT, and can still be taken back.
    pub(super) spoiled: Option<Spoiled>,
    /// A failure whose words tell nothing, and the depth that it happened at: the server is asked before anything else.
    pub(super) unasked: Option<(DieselError, u32)>,
    /// A SELECT has failed, and the connection has not been told.
    pub(super) load_failed: bool,
    /// The failure behind `ended` or `spoiled`.
    first: Option<Arc<DieselError>>,
    isolation: Option<IsolationLevel>,
    /// What was seen before a lock was asked for that may be refused.
    before_lock: Option<Before>,
}

#[derive(Debug)]
struct Before {
    seen: Seen,
    spoiled: Option<Spoiled>,
    first: Option<Arc<DieselError>>,
}

/// Why a transaction that is still open must not be committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Spoiled {
    pub(super) fault: Fault,
    /// How many savepoints were open, the transaction itself counted. Going back to one of them takes the failure back.
    depth: u32,
    /// The server itself refuses everything until then (PostgreSQL). Otherwise only the failed statement is missing.
    aborted: bool,
}

/// How a transaction was over before its closure was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    /// The server ended it with this failure.
    By(Fault),
    /// Nobody knows by what: a statement of the user's may have committed it.
    Unaccounted,
}

/// What may have ended a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Suspect {
    /// A failure; and whether the server, by its settings, ends a transaction with it.
    Error { fault: Fault, by_setting: bool },
    /// A statement of the user's.
    Statement,
}

impl Suspect {
    /// Who ended the transaction, given that it is over. A busy database does not undo what a COMMIT of the user's has
    /// stored: what a retry might answer is not blamed without being sure.
    pub(super) fn verdict(self) -> Ended {
        match self {
            Suspect::Error { fault, by_setting } if by_setting || !fault.is_retryable() => {
                Ended::By(fault)
            }
            _ => Ended::Unaccounted,
        }
    }
}

impl TxState {
    pub(super) fn new(server: &'static Server, isolation: Option<IsolationLevel>) -> Self {
        TxState {
            server,
            seen: Seen::default(),
            ended: None,
            server_ended: false,
            suspect: None,
            spoiled: None,
            unasked: None,
            load_failed: false,
            first: None,
            isolation,
            before_lock: None,
        }
    }

    /// A lock is about to be asked for that may be refused.
    pub(super) fn may_be_refused(&mut self) {
        self.before_lock = Some(Before {
            seen: self.seen.clone(),
            spoiled: self.spoiled,
            first: self.first.clone(),
        });
    }

    /// It was, by a statement that is not kept: what was seen meanwhile is that, and no statement of the closure's is missing. A server that is set to end the
    /// transaction with it is still asked whether it has.
    pub(super) fn was_refused(&mut self) {
        if let Some(before) = self.before_lock.take() {
            self.seen = before.seen;
            self.spoiled = before.spoiled;
            self.first = before.first;
            self.unasked = None;
            self.load_failed = false;
        }
    }

    /// Whether a plain read shows what is committed, whatever the transaction has read before.
    pub(super) fn reads_what_is_committed(&self) -> bool {
        matches!(
            self.isolation,
            Some(IsolationLevel::ReadCommitted | IsolationLevel::ReadUncommitted)
        )
    }

    /// A statement is about to be sent that may end the transaction: the database is asked before the next one.
    pub(super) fn may_have_ended(&mut self, may: bool) {
        if may && self.server.only_outside.is_some() {
            self.suspect = Some(Suspect::Statement);
        }
    }

    /// A statement has ended so, with so many savepoints open.
    pub(super) fn see(&mut self, error: &DieselError, verdict: Verdict, depth: u32) {
        if verdict.fault.is_retryable() || verdict.fault == Fault::ConnectionLost {
            self.seen.fault = Some(verdict.fault);
        }
        let fault = verdict.fault;
        self.server_ended |= verdict.ends;
        if verdict.ends && self.ended.is_none() {
            self.ended = Some(Ended::By(fault));
            self.first = Some(Arc::new(copy(error)));
        }
        let aborted =
            self.server.any_error_aborts && matches!(error, DieselError::DatabaseError(..));
        if (aborted || verdict.loses_its_statement)
            && self.ended.is_none()
            && self.spoiled.is_none()
        {
            self.spoiled = Some(Spoiled {
                fault,
                depth,
                aborted,
            });
            self.first = Some(Arc::new(copy(error)));
        }
        if self.server.only_outside.is_some() && self.suspect != Some(Suspect::Statement) {
            let by_setting = verdict.loses_its_statement;
            self.suspect = Some(Suspect::Error { fault, by_setting });
        }
    }

    /// The same where the server cannot be asked what it meant.
    pub(super) fn see_unasked(&mut self, error: &DieselError, depth: u32) {
        self.load_failed = true;
        let verdict = look_up(self.server.faults, error);
        if verdict.is_none() {
            self.unasked = Some((copy(error), depth));
        }
        self.see(
            error,
            verdict.unwrap_or(Verdict::goes_on(Fault::Permanent)),
            depth,
        );
    }

    /// A statement has succeeded: the server does not refuse everything, so a savepoint was gone back to.
    pub(super) fn succeeded(&mut self) {
        if self.spoiled.is_some_and(|spoiled| spoiled.aborted) {
            self.clean();
        }
    }

    /// Everything is taken back but what is behind so many savepoints.
    pub(super) fn went_back_to(&mut self, depth: u32) {
        if self.spoiled.is_some_and(|spoiled| spoiled.depth > depth) {
            self.clean();
        }
    }

    /// The failure that keeps a savepoint of this depth from being released.
    pub(super) fn spoils(&self, depth: u32) -> Option<Error> {
        let spoiled = self.spoiled.filter(|spoiled| spoiled.depth >= depth)?;
        Some(self.poisoned(spoiled.fault))
    }

    fn clean(&mut self) {
        self.spoiled = None;
        self.first = None;
    }

    /// The closure says that it has dealt with everything. What the server refuses it cannot talk away.
    pub(super) fn handled(&mut self) {
        self.seen = Seen::default();
        if self.spoiled.is_some_and(|spoiled| !spoiled.aborted) {
            self.clean();
        }
    }

    /// One of our own operations has ended so.
    pub(super) fn note(&mut self, error: &Error) {
        match error {
            Error::Conflict(conflict) => {
                if conflict.is_retryable() {
                    self.seen.fault = Some(Fault::Conflict);
                }
                self.seen.conflict = Some(conflict.clone());
            }
            // Found before any statement was sent.
            Error::Database(error @ DieselError::BrokenTransactionManager) => {
                self.see(error, classify(self.server.faults, error), 1);
            }
            Error::TooManyRows(TooManyRows { written: true, .. }) => {
                self.ended.get_or_insert(Ended::By(Fault::Permanent));
            }
            _ => {}
        }
    }

    /// What a statement is answered with that was sent although the server refuses everything.
    pub(super) fn instead_of(&self, error: DieselError) -> DieselError {
        match self.spoiled {
            Some(Spoiled {
                fault,
                aborted: true,
                ..
            }) => DieselError::QueryBuilderError(Box::new(self.poisoned(fault))),
            _ => error,
        }
    }

    pub(super) fn poisoned(&self, fault: Fault) -> Error {
        let source = self.first.clone();
        Error::Poisoned(Poisoned { fault, source })
    }

    pub(super) fn error(&self, ended: Ended) -> Error {
        match ended {
            Ended::By(fault) => self.poisoned(fault),
            Ended::Unaccounted => Error::TransactionEnded(TransactionEnded {
                first: self.seen.fault,
            }),
        }
    }
}
