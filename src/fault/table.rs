//! The shape of a server's table, and how a Diesel error is looked up in it.

use super::Fault;
use diesel::result::{DatabaseErrorKind as Kind, Error as DieselError};

/// One failure that Diesel reports as `Unknown`, so that only its text is left.
#[derive(Debug)]
pub(crate) struct Row {
    /// The server's own name for it: for the reader of the table.
    #[allow(dead_code, reason = "documents the row")]
    pub(crate) name: &'static str,
    /// How its text begins, in each language that the table knows.
    pub(super) texts: &'static [&'static str],
    /// The number by which the server can be asked for it, whatever its language.
    number: Option<u32>,
    fault: Fault,
    /// Whether the server has ended the whole transaction with it.
    ends: bool,
    /// Whether the statement is undone, although the transaction goes on and could be committed without it.
    loses_its_statement: bool,
    /// Whether a COMMIT that answers so may have been carried out.
    unknown_at_commit: bool,
    /// Whether a write that is its own COMMIT may have been carried out.
    unknown_alone: bool,
}

impl Row {
    /// A failure of a statement, which leaves the transaction as it was.
    pub(crate) const fn statement(
        name: &'static str,
        texts: &'static [&'static str],
        fault: Fault,
    ) -> Row {
        Row {
            name,
            texts,
            number: None,
            fault,
            ends: false,
            loses_its_statement: false,
            unknown_at_commit: false,
            unknown_alone: false,
        }
    }

    /// A failure that ends the transaction.
    #[cfg(any(feature = "postgres", feature = "mysql"))]
    pub(crate) const fn transaction(
        name: &'static str,
        texts: &'static [&'static str],
        fault: Fault,
    ) -> Row {
        Row {
            ends: true,
            ..Row::statement(name, texts, fault)
        }
    }

    /// A failure after which the connection is gone, and with it the answer to a COMMIT.
    #[cfg(feature = "mysql")]
    pub(crate) const fn connection(name: &'static str, texts: &'static [&'static str]) -> Row {
        Row::transaction(name, texts, Fault::ConnectionLost).unknown_at_commit()
    }

    /// A failure after which nobody knows whether COMMIT was carried out, or a write that is its own COMMIT.
    #[cfg(any(feature = "sqlite", feature = "mysql"))]
    pub(crate) const fn unknown_at_commit(self) -> Row {
        Row {
            unknown_at_commit: true,
            unknown_alone: true,
            ..self
        }
    }

    /// The same for a COMMIT that is sent with other statements. One that is sent alone is not carried out.
    #[cfg(feature = "mysql")]
    pub(crate) const fn unknown_in_a_bundle(self) -> Row {
        Row {
            unknown_at_commit: true,
            ..self
        }
    }

    /// A failure that a COMMIT must not pass over in silence: the rest of the transaction would be stored without the
    /// statement.
    #[cfg(feature = "mysql")]
    pub(crate) const fn loses_its_statement(self) -> Row {
        Row {
            loses_its_statement: true,
            ..self
        }
    }

    /// The server's number for it.
    #[cfg(feature = "mysql")]
    pub(crate) const fn number(self, number: u32) -> Row {
        Row {
            number: Some(number),
            ..self
        }
    }

    fn verdict(&self) -> Verdict {
        Verdict {
            fault: self.fault,
            ends: self.ends,
            loses_its_statement: self.loses_its_statement,
            unknown_at_commit: self.unknown_at_commit,
            unknown_alone: self.unknown_alone,
        }
    }
}

/// What a failure was, and what it did to the transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) fault: Fault,
    /// The server has ended the transaction with it.
    pub(crate) ends: bool,
    /// The statement is undone, and a COMMIT would store the rest without it.
    pub(crate) loses_its_statement: bool,
    /// Had it answered COMMIT, the work may be stored all the same.
    pub(crate) unknown_at_commit: bool,
    /// Had it answered a write outside a transaction, the same.
    pub(crate) unknown_alone: bool,
}

impl Verdict {
    pub(crate) fn goes_on(fault: Fault) -> Verdict {
        Verdict {
            fault,
            ends: false,
            loses_its_statement: false,
            unknown_at_commit: false,
            unknown_alone: false,
        }
    }

    fn ended(fault: Fault) -> Verdict {
        let lost = fault == Fault::ConnectionLost;
        Verdict {
            ends: true,
            unknown_at_commit: lost,
            unknown_alone: lost,
            ..Verdict::goes_on(fault)
        }
    }

    /// The connection is gone, and with it whatever was on its way.
    pub(crate) fn lost() -> Verdict {
        Verdict::ended(Fault::ConnectionLost)
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

/// Looks an error up: by Diesel's typed kind, and only for `Unknown` by the text in `table`. A failure that neither names
/// is [`Fault::Permanent`].
pub(crate) fn classify(
    table: impl IntoIterator<Item = &'static Row>,
    error: &DieselError,
) -> Verdict {
    look_up(table, error).unwrap_or(match error {
        DieselError::DatabaseError(Kind::UnableToSendCommand, _) => Verdict::lost(),
        _ => Verdict::goes_on(Fault::Permanent),
    })
}

/// The same, `None` where the error alone does not tell: the text of a server that the table does not know, or a command that
/// the client library did not send, for want of a connection or for its own reasons.
pub(crate) fn look_up(
    table: impl IntoIterator<Item = &'static Row>,
    error: &DieselError,
) -> Option<Verdict> {
    let (ended, goes_on) = (Verdict::ended, Verdict::goes_on);
    Some(match error {
        DieselError::DatabaseError(kind, information) => match kind {
            Kind::SerializationFailure if information.message().starts_with("Deadlock") => {
                ended(Fault::Deadlock)
            }
            Kind::SerializationFailure => ended(Fault::Serialization),
            Kind::ClosedConnection => Verdict::lost(),
            Kind::UnableToSendCommand => return None,
            Kind::Unknown => {
                let message = information.message();
                let row = table
                    .into_iter()
                    .find(|row| row.texts.iter().any(|text| message.starts_with(text)))?;
                row.verdict()
            }
            _ => goes_on(Fault::Permanent),
        },
        // Diesel has lost track of the transaction and will not let the connection work any more.
        DieselError::BrokenTransactionManager => Verdict::lost(),
        DieselError::RollbackErrorOnCommit { commit_error, .. } => {
            ended(classify(table, commit_error).fault)
        }
        _ => goes_on(Fault::Permanent),
    })
}

/// The row with the number that the server itself has given.
pub(crate) fn by_number(table: &'static [Row], number: u32) -> Option<Verdict> {
    table
        .iter()
        .find(|row| row.number == Some(number))
        .map(Row::verdict)
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
                    ends: true,
                    unknown_at_commit,
                    unknown_alone: unknown_at_commit,
                    ..Verdict::goes_on(fault)
                },
                "{error:?}"
            );
        }
    }
}
