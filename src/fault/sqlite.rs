//! SQLite's failures. Its messages are fixed English (`sqlite3_errstr`), and none says whether the transaction is over:
//! `Tx` asks the database itself after every error.
//!
//! Codes and the cases of an automatic rollback: <https://www.sqlite.org/rescode.html>,
//! <https://www.sqlite.org/lang_transaction.html> section 3.

use super::{Fault, Row};

pub(crate) const TABLE: &[Row] = &[
    // Also BUSY_SNAPSHOT and BUSY_RECOVERY, which share the text.
    Row::statement("SQLITE_BUSY", &["database is locked"], Fault::Busy),
    // A connection that shares the cache; the text may go on with the table.
    Row::statement("SQLITE_LOCKED", &["database table is locked"], Fault::Busy),
    Row::statement("SQLITE_LOCKED", &["database schema is locked"], Fault::Busy),
    Row::statement("SQLITE_PROTOCOL", &["locking protocol"], Fault::Busy),
    Row::statement("SQLITE_FULL", &["database or disk is full"], Fault::Storage),
    Row::statement("SQLITE_IOERR", &["disk I/O error"], Fault::Storage).unknown_at_commit(),
    Row::statement("SQLITE_NOMEM", &["out of memory"], Fault::Storage),
    Row::statement(
        "SQLITE_CORRUPT",
        &["database disk image is malformed"],
        Fault::Storage,
    ),
    Row::statement(
        "SQLITE_CANTOPEN",
        &["unable to open database file"],
        Fault::Storage,
    ),
    Row::statement("SQLITE_NOTADB", &["file is not a database"], Fault::Storage),
    Row::statement("SQLITE_INTERRUPT", &["interrupted"], Fault::Permanent),
    Row::statement(
        "SQLITE_ABORT_ROLLBACK",
        &["abort due to ROLLBACK"],
        Fault::Permanent,
    ),
    Row::statement(
        "SQLITE_READONLY",
        &["attempt to write a readonly database"],
        Fault::Permanent,
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::{Verdict, classify};
    use diesel::result::{DatabaseErrorKind as Kind, Error as DieselError};

    fn error(kind: Kind, text: &str) -> DieselError {
        DieselError::DatabaseError(kind, Box::new(text.to_owned()))
    }

    #[test]
    fn every_row_of_the_table_is_found_by_its_text() {
        for (text, fault) in [
            ("database is locked", Fault::Busy),
            ("database table is locked: products", Fault::Busy),
            ("database schema is locked: main", Fault::Busy),
            ("locking protocol", Fault::Busy),
            ("database or disk is full", Fault::Storage),
            ("disk I/O error", Fault::Storage),
            ("out of memory", Fault::Storage),
            ("database disk image is malformed", Fault::Storage),
            ("unable to open database file", Fault::Storage),
            ("file is not a database", Fault::Storage),
            ("interrupted", Fault::Permanent),
            ("abort due to ROLLBACK", Fault::Permanent),
            ("attempt to write a readonly database", Fault::Permanent),
        ] {
            let unknown_at_commit = text == "disk I/O error";
            let verdict = classify(TABLE, &error(Kind::Unknown, text));
            assert_eq!(
                verdict,
                Verdict {
                    unknown_at_commit,
                    unknown_alone: unknown_at_commit,
                    ..Verdict::goes_on(fault)
                },
                "{text}"
            );
            assert!(
                TABLE.iter().any(|row| text.starts_with(row.texts[0])),
                "no row for {text}"
            );
        }
    }

    #[test]
    fn text_is_matched_only_for_the_kind_unknown_and_unknown_text_is_permanent() {
        for (kind, text) in [
            (Kind::CheckViolation, "database is locked"),
            (Kind::UniqueViolation, "database is locked"),
            (Kind::Unknown, "base de données verrouillée"),
            (Kind::Unknown, "the database is locked"),
        ] {
            assert_eq!(
                classify(TABLE, &error(kind, text)).fault,
                Fault::Permanent,
                "{kind:?} {text}"
            );
        }
        assert_eq!(
            classify(TABLE, &error(Kind::SerializationFailure, "")).fault,
            Fault::Serialization
        );
        assert_eq!(
            classify(TABLE, &error(Kind::ClosedConnection, "")).fault,
            Fault::ConnectionLost
        );
        assert_eq!(
            classify(TABLE, &DieselError::NotFound).fault,
            Fault::Permanent
        );
    }
}
