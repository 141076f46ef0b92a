//! A server's message without what it quotes: PostgreSQL and MySQL put the offending value between quotes.

use diesel::result::{DatabaseErrorKind, Error as DieselError};
use std::fmt;

/// Shows a Diesel error with its kind and its sentence, everything between quotes left out.
pub(super) struct Redacted<'e>(pub(super) &'e DieselError);

impl fmt::Debug for Redacted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            DieselError::DatabaseError(kind, information) => {
                write!(f, "{kind:?}: {}", shown(*kind, information.message()))
            }
            DieselError::DeserializationError(_) => f.write_str("DeserializationError"),
            DieselError::SerializationError(_) => f.write_str("SerializationError"),
            DieselError::QueryBuilderError(_) => f.write_str("QueryBuilderError"),
            DieselError::RollbackErrorOnCommit {
                rollback_error,
                commit_error,
            } => f
                .debug_struct("RollbackErrorOnCommit")
                .field("rollback_error", &Redacted(rollback_error))
                .field("commit_error", &Redacted(commit_error))
                .finish(),
            // The rest carries no text of a server.
            other => fmt::Debug::fmt(other, f),
        }
    }
}

/// What a database says in words of its own. Anything else of kind `Unknown` may be a text that the application raises in
/// a trigger, with values in it.
const OWN_WORDS: &[&str] = &[
    "ambiguous column name: ",
    "attempt to write a readonly database",
    "cannot start a transaction",
    "cannot commit",
    "cannot rollback",
    "cannot change",
    "current transaction is aborted",
    "database is locked",
    "database table is locked",
    "database schema is locked",
    "database or disk is full",
    "database disk image is malformed",
    "datatype mismatch",
    "deadlock detected",
    "disk I/O error",
    "incomplete input",
    "interrupted",
    "locking protocol",
    "near \"",
    "no such table: ",
    "no such savepoint: ",
    "out of memory",
    "too many SQL variables",
    "unable to open database file",
    "unrecognized token: ",
    "column \"",
    "relation \"",
    "syntax error at ",
    "Table '",
    "Unknown column '",
    "You have an error in your SQL syntax",
    "Lock wait timeout exceeded",
    "Deadlock found",
];

fn shown(kind: DatabaseErrorKind, message: &str) -> String {
    let own = OWN_WORDS.iter().any(|words| message.starts_with(words));
    if matches!(kind, DatabaseErrorKind::Unknown) && !own {
        return "…".to_owned();
    }
    without_quoted(message)
}

/// Leaves out everything from the first quote to the last: a value may have quotes in it.
fn without_quoted(message: &str) -> String {
    let quotes = ['\'', '"', '`'];
    match (message.find(quotes), message.rfind(quotes)) {
        (Some(first), Some(last)) if first < last => {
            format!("{}…{}", &message[..=first], &message[last..])
        }
        (Some(first), _) => format!("{}…", &message[..=first]),
        _ => message.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::without_quoted;

    #[test]
    fn what_a_server_quotes_is_left_out() {
        for (message, shown) in [
            ("no such table: products", "no such table: products"),
            (
                "Duplicate entry 'O'Brien' for key 'PRIMARY'",
                "Duplicate entry '…'",
            ),
            (
                "invalid input syntax for type integer: \"s3cret\"",
                "invalid input syntax for type integer: \"…\"",
            ),
            ("near 'it", "near '…"),
        ] {
            assert_eq!(without_quoted(message), shown);
        }
    }
}
