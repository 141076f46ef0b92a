//! A server's message without what it quotes: PostgreSQL and MySQL put the offending value between quotes.

use diesel::result::Error as DieselError;
use std::fmt;

/// Shows a Diesel error with its kind and its sentence, everything between quotes left out.
pub(super) struct Redacted<'e>(pub(super) &'e DieselError);

impl fmt::Debug for Redacted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            DieselError::DatabaseError(kind, information) => {
                write!(f, "{kind:?}: {}", shown(information.message()))
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

/// What a database says in words of its own. Anything else may be a text that the application raises in a trigger, with values
/// in it, of whatever kind.
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
    "Record has changed since last read",
    "Query execution was interrupted",
    "Lost connection to ",
    "Server has gone away",
    "UNIQUE constraint failed: ",
    "NOT NULL constraint failed: ",
    "CHECK constraint failed: ",
    "FOREIGN KEY constraint failed",
    "duplicate key value violates ",
    "insert or update on table \"",
    "update or delete on table \"",
    "null value in column \"",
    "new row for relation \"",
    "conflicting key value violates ",
    "could not serialize access ",
    "could not obtain lock on ",
    "canceling statement due to ",
    "cannot execute ",
    "server closed the connection ",
    "terminating connection due to ",
    "Duplicate entry '",
    "Cannot add or update a child row",
    "Cannot delete or update a parent row",
    "Cannot execute statement in a READ ONLY transaction",
    "CONSTRAINT `",
    "Check constraint '",
    "Column '",
    "Field '",
];

fn shown(message: &str) -> String {
    match OWN_WORDS.iter().any(|words| message.starts_with(words)) {
        true => without_quoted(message),
        false => "…".to_owned(),
    }
}

/// Leaves out everything from the first quote to the last: a value may have quotes in it.
fn without_quoted(message: &str) -> String {
    let quotes = ['\'', '"', '`', '«', '»', '“', '”', '„'];
    let Some((first, quote)) = message.char_indices().find(|(_, c)| quotes.contains(c)) else {
        return message.to_owned();
    };
    let before = &message[..first + quote.len_utf8()];
    match message.rfind(quotes) {
        Some(last) if first < last => format!("{before}…{}", &message[last..]),
        _ => format!("{before}…"),
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
            ("la relation « thé » manque", "la relation «…» manque"),
            ("„Tee“", "„…“"),
            ("«", "«…"),
        ] {
            assert_eq!(without_quoted(message), shown);
        }
    }
}
