//! The shape of a server's table, and how a Diesel error is looked up in it.

use super::Fault;
use diesel::result::{DatabaseErrorKind as Kind, Error as DieselError};

/// One failure that Diesel reports as `Unknown`, so that only its text is left.
#[derive(Debug)]
pub(crate) struct Row {
    /// The server's own name for it: for the reader of the table.
    #[allow(dead_code, reason = "documents the row")]
    pub(crate) name: &'static str,
    /// How its text begins.
    pub(super) text: &'static str,
    fault: Fault,
    /// Whether the server has ended the whole transaction with it.
    ends: bool,
    /// Whether a COMMIT that answers so may have been carried out.
    unknown_at_commit: bool,
}

impl Row {
    /// A failure of a statement, which leaves the transaction as it was.
    pub(crate) const fn statement(name: &'static str, text: &'static str, fault: Fault) -> Row {
        Row {
            name,
            text,
            fault,
            ends: false,
            unknown_at_commit: false,
        }
    }

    /// A failure that ends the transaction.
    #[cfg(any(feature = "postgres", feature = "mysql"))]
    pub(crate) const fn transaction(name: &'static str, text: &'static str, fault: Fault) -> Row {
        Row {
            name,
            text,
            fault,
            ends: true,
            unknown_at_commit: false,
        }
    }

    /// A failure after which nobody knows whether COMMIT was carried out.
    #[cfg(feature = "sqlite")]
    pub(crate) const fn unknown_at_commit(self) -> Row {
        Row {
            unknown_at_commit: true,
            ..self
        }
    }
}

/// What a failure was, and what it did to the transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) fault: Fault,
    /// The server has ended the transaction with it.
    pub(crate) ends: bool,
    /// Had it answered COMMIT, the work may be stored all the same.
    pub(crate) unknown_at_commit: bool,
}

impl Verdict {
    fn goes_on(fault: Fault) -> Verdict {
        Verdict {
            fault,
            ends: false,
            unknown_at_commit: false,
        }
    }

    fn ended(fault: Fault) -> Verdict {
        Verdict {
            fault,
            ends: true,
            unknown_at_commit: fault == Fault::ConnectionLost,
        }
    }
}

/// The tables of all servers that are compiled in: for an error that came without its connection.
pub(super) fn every() -> impl Iterator<Item = &'static Row> {
    let tables: &[&'static [Row]] = &[
        #[cfg(feature = "sqlite")]
        super::sqlite::TABLE,
        #[cfg(feature = "postgres")]
        super::postgres::TABLE,
        #[cfg(feature = "mysql")]
        super::mysql::TABLE,
    ];
    tables
        .iter()
        .flat_map(|table| table.iter())
        .collect::<Vec<_>>()
        .into_iter()
}

/// Looks an error up: by Diesel's typed kind, and only for `Unknown` by the text in `table`.
pub(crate) fn classify(
    table: impl IntoIterator<Item = &'static Row>,
    error: &DieselError,
) -> Verdict {
    let (ended, goes_on) = (Verdict::ended, Verdict::goes_on);
    match error {
        DieselError::DatabaseError(kind, information) => match kind {
            Kind::SerializationFailure if information.message().starts_with("Deadlock") => {
                ended(Fault::Deadlock)
            }
            Kind::SerializationFailure => ended(Fault::Serialization),
            Kind::ClosedConnection | Kind::UnableToSendCommand => ended(Fault::ConnectionLost),
            Kind::Unknown => table
                .into_iter()
                .find(|row| information.message().starts_with(row.text))
                .map_or(goes_on(Fault::Permanent), |row| Verdict {
                    fault: row.fault,
                    ends: row.ends,
                    unknown_at_commit: row.unknown_at_commit,
                }),
            _ => goes_on(Fault::Permanent),
        },
        // Diesel has lost track of the transaction and will not let the connection work any more.
        DieselError::BrokenTransactionManager => ended(Fault::ConnectionLost),
        DieselError::RollbackErrorOnCommit { commit_error, .. } => {
            ended(classify(table, commit_error).fault)
        }
        _ => goes_on(Fault::Permanent),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typed_kinds_that_end_the_transaction() {
        let error = |kind, text: &str| DieselError::DatabaseError(kind, Box::new(text.to_owned()));
        let lost = error(Kind::SerializationFailure, "");
        for (error, fault, unknown_at_commit) in [
            (
                error(
                    Kind::SerializationFailure,
                    "Deadlock found when trying to get lock",
                ),
                Fault::Deadlock,
                false,
            ),
            (
                error(Kind::SerializationFailure, "could not serialize access"),
                Fault::Serialization,
                false,
            ),
            (
                error(Kind::ClosedConnection, ""),
                Fault::ConnectionLost,
                true,
            ),
            (
                DieselError::RollbackErrorOnCommit {
                    rollback_error: Box::new(DieselError::NotInTransaction),
                    commit_error: Box::new(lost),
                },
                Fault::Serialization,
                false,
            ),
        ] {
            assert_eq!(
                classify(None, &error),
                Verdict {
                    fault,
                    ends: true,
                    unknown_at_commit
                },
                "{error:?}"
            );
        }
    }
}
