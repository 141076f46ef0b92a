//! What a transaction has seen go wrong, and whether it is over.

use crate::backend::Server;
use crate::error::{Conflict, Error, Poisoned, TooManyRows, TransactionEnded};
use crate::fault::{Fault, classify};
use diesel::result::Error as DieselError;

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

    pub(super) fn fault(fault: Option<Fault>) -> Seen {
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
    /// Something has happened that may have ended the transaction; the database is asked before the next statement.
    pub(super) suspect: Option<Suspect>,
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
    Error(Fault),
    Statement,
}

impl Suspect {
    /// Who ended the transaction, given that it is over. A busy database does not undo what a COMMIT of the user's has
    /// stored: what a retry might answer is not blamed without being sure.
    pub(super) fn verdict(self) -> Ended {
        match self {
            Suspect::Error(fault) if !fault.is_retryable() => Ended::By(fault),
            _ => Ended::Unaccounted,
        }
    }
}

impl TxState {
    pub(super) fn new(server: &'static Server) -> Self {
        TxState {
            server,
            seen: Seen::default(),
            ended: None,
            suspect: None,
        }
    }

    /// A statement is about to be sent that may end the transaction: the database is asked before the next one.
    pub(super) fn may_have_ended(&mut self, may: bool) {
        if may && self.server.begins_only_outside.is_some() {
            self.suspect = Some(Suspect::Statement);
        }
    }

    /// A statement has ended so.
    pub(super) fn see(&mut self, error: &DieselError) {
        let verdict = classify(self.server.faults, error);
        if verdict.fault.is_retryable() || verdict.fault == Fault::ConnectionLost {
            self.seen.fault = Some(verdict.fault);
        }
        if verdict.ends {
            self.ended.get_or_insert(Ended::By(verdict.fault));
        }
        if self.server.begins_only_outside.is_some() && self.suspect != Some(Suspect::Statement) {
            self.suspect = Some(Suspect::Error(verdict.fault));
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
            Error::LockUnavailable(_) | Error::LockTimeout(_) => {
                self.seen.fault = Some(Fault::LockTimeout)
            }
            // Found before any statement was sent.
            Error::Database(error @ DieselError::BrokenTransactionManager) => self.see(error),
            Error::TooManyRows(TooManyRows { written: true, .. }) => {
                self.ended.get_or_insert(Ended::By(Fault::Permanent));
            }
            _ => {}
        }
    }

    pub(super) fn error(ended: Ended, seen: &Seen) -> Error {
        match ended {
            Ended::By(fault) => Error::Poisoned(Poisoned { fault }),
            Ended::Unaccounted => Error::TransactionEnded(TransactionEnded { first: seen.fault }),
        }
    }
}
