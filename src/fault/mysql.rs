//! MySQL's and MariaDB's failures that Diesel does not type: by the text in English and in French, and by the server's
//! number, which is asked for where the text is in another language.
//!
//! Numbers: <https://mariadb.com/kb/en/mariadb-error-codes/>,
//! <https://dev.mysql.com/doc/mysql-errors/8.4/en/server-error-reference.html>; those from 2000 to 2999 are the client
//! library's, which speaks English only.

use super::{Fault, Row};

pub(crate) const TABLE: &[Row] = &[
    Row::transaction(
        "1213 ER_LOCK_DEADLOCK",
        &[
            "Deadlock found when trying to get lock",
            "Deadlock découvert en essayant d'obtenir les verrous",
        ],
        Fault::Deadlock,
    )
    .number(1213),
    // By innodb_snapshot_isolation: the row has changed since the snapshot of the transaction.
    Row::transaction(
        "1020 ER_CHECKREAD",
        &[
            "Record has changed since last read",
            "Enregistrement modifié depuis sa dernière lecture",
        ],
        Fault::Serialization,
    )
    .number(1020),
    // Undoes the statement, and the whole transaction only with innodb_rollback_on_timeout.
    Row::statement(
        "1205 ER_LOCK_WAIT_TIMEOUT",
        &[
            "Lock wait timeout exceeded",
            "Timeout sur l'obtention du verrou",
        ],
        Fault::LockTimeout,
    )
    .loses_its_statement()
    .number(1205),
    Row::statement(
        "3572 ER_LOCK_NOWAIT",
        &["Statement aborted because lock(s) could not be acquired immediately"],
        Fault::LockTimeout,
    )
    .loses_its_statement()
    .number(3572),
    Row::connection(
        "2006 CR_SERVER_GONE_ERROR",
        &["Server has gone away", "MySQL server has gone away"],
    ),
    Row::connection(
        "2013 CR_SERVER_LOST, 2055 CR_SERVER_LOST_EXTENDED",
        &["Lost connection to "],
    ),
    // What a lost connection is called over TLS.
    Row::connection(
        "2026 CR_SSL_CONNECTION_ERROR",
        &["TLS/SSL error", "SSL connection error"],
    ),
    Row::connection("2027 CR_MALFORMED_PACKET", &["Malformed packet"]),
    Row::connection(
        "1053 ER_SERVER_SHUTDOWN",
        &["Server shutdown in progress", "Arrêt du serveur en cours"],
    )
    .number(1053),
    Row::connection("1927 ER_CONNECTION_KILLED", &["Connection was killed"]).number(1927),
    Row::connection(
        "4031 ER_CLIENT_INTERACTION_TIMEOUT",
        &["The client was disconnected by the server because of inactivity"],
    )
    .number(4031),
    Row::statement(
        "1021 ER_DISK_FULL",
        &["Disk full (", "Disque plein ("],
        Fault::Storage,
    )
    .loses_its_statement()
    .number(1021),
    // Its text begins with the name of the table.
    Row::statement("1114 ER_RECORD_FILE_FULL", &[], Fault::Storage)
        .loses_its_statement()
        .number(1114),
    Row::statement(
        "1206 ER_LOCK_TABLE_FULL",
        &[
            "The total number of locks exceeds the lock table size",
            "Le nombre total de verrou dépasse la taille de la table des verrous",
        ],
        Fault::Storage,
    )
    .loses_its_statement()
    .number(1206),
    // Its text is told from that of 1030 only behind a number.
    Row::transaction("1180 ER_ERROR_DURING_COMMIT", &[], Fault::Storage)
        .unknown_at_commit()
        .number(1180),
    Row::statement(
        "1412 ER_TABLE_DEF_CHANGED",
        &["Table definition has changed, please retry transaction"],
        Fault::Serialization,
    )
    .loses_its_statement()
    .number(1412),
    // KILL QUERY, max_statement_time, max_execution_time. Behind a COMMIT that is sent with its guard's release it comes too late.
    Row::statement(
        "1317 ER_QUERY_INTERRUPTED, 1969, 3024",
        &["Query execution was interrupted"],
        Fault::Permanent,
    )
    .loses_its_statement()
    .unknown_in_a_bundle()
    .number(1317),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::table::{Verdict, by_number, look_up};
    use diesel::result::{DatabaseErrorKind as Kind, Error as DieselError};

    fn unknown(text: &str) -> DieselError {
        DieselError::DatabaseError(Kind::Unknown, Box::new(text.to_owned()))
    }

    fn ended(fault: Fault) -> Verdict {
        Verdict {
            ends: true,
            ..Verdict::goes_on(fault)
        }
    }

    fn lost() -> Verdict {
        Verdict {
            unknown_at_commit: true,
            unknown_alone: true,
            ..ended(Fault::ConnectionLost)
        }
    }

    fn interrupted() -> Verdict {
        Verdict {
            unknown_at_commit: true,
            ..undone(Fault::Permanent)
        }
    }

    fn undone(fault: Fault) -> Verdict {
        Verdict {
            loses_its_statement: true,
            ..Verdict::goes_on(fault)
        }
    }

    #[test]
    fn every_sentence_is_found_in_both_languages_and_every_text_has_a_sentence() {
        let sentences = [
            (
                "Deadlock found when trying to get lock; try restarting transaction",
                ended(Fault::Deadlock),
            ),
            (
                "Deadlock découvert en essayant d'obtenir les verrous : essayez de redémarrer la transaction",
                ended(Fault::Deadlock),
            ),
            (
                "Record has changed since last read in table 'products'; try restarting transaction",
                ended(Fault::Serialization),
            ),
            (
                "Enregistrement modifié depuis sa dernière lecture dans la table 'products' : essayez de redémarrer la transaction",
                ended(Fault::Serialization),
            ),
            (
                "Lock wait timeout exceeded; try restarting transaction",
                undone(Fault::LockTimeout),
            ),
            (
                "Timeout sur l'obtention du verrou",
                undone(Fault::LockTimeout),
            ),
            (
                "Statement aborted because lock(s) could not be acquired immediately and NOWAIT is set.",
                undone(Fault::LockTimeout),
            ),
            ("Server has gone away", lost()),
            ("MySQL server has gone away", lost()),
            ("Lost connection to server during query", lost()),
            ("Lost connection to MySQL server during query", lost()),
            ("TLS/SSL error: unexpected eof while reading", lost()),
            ("SSL connection error: unknown error number", lost()),
            ("Malformed packet", lost()),
            (
                "Table definition has changed, please retry transaction",
                undone(Fault::Serialization),
            ),
            ("Server shutdown in progress", lost()),
            ("Arrêt du serveur en cours", lost()),
            ("Connection was killed", lost()),
            (
                "The client was disconnected by the server because of inactivity. See wait_timeout and interactive_timeout for configuring this behavior.",
                lost(),
            ),
            (
                "Disk full (/tmp/x); waiting for someone to free some space...",
                undone(Fault::Storage),
            ),
            (
                "Disque plein (/tmp/x). J'attend que quelqu'un libère de l'espace...",
                undone(Fault::Storage),
            ),
            (
                "The total number of locks exceeds the lock table size",
                undone(Fault::Storage),
            ),
            (
                "Le nombre total de verrou dépasse la taille de la table des verrous",
                undone(Fault::Storage),
            ),
            (
                "Query execution was interrupted (max_statement_time exceeded)",
                interrupted(),
            ),
        ];
        for (text, expected) in sentences {
            assert_eq!(look_up(TABLE, &unknown(text)), Some(expected), "{text}");
        }
        for text in TABLE.iter().flat_map(|row| row.texts) {
            assert!(
                sentences
                    .iter()
                    .any(|(sentence, _)| sentence.starts_with(text)),
                "no sentence for {text}"
            );
        }
    }

    #[test]
    fn every_number_is_found_whatever_the_language() {
        for (number, expected) in [
            (1213, ended(Fault::Deadlock)),
            (1020, ended(Fault::Serialization)),
            (1205, undone(Fault::LockTimeout)),
            (3572, undone(Fault::LockTimeout)),
            (1053, lost()),
            (1927, lost()),
            (4031, lost()),
            (1021, undone(Fault::Storage)),
            (1114, undone(Fault::Storage)),
            (1206, undone(Fault::Storage)),
            (
                1180,
                Verdict {
                    unknown_at_commit: true,
                    unknown_alone: true,
                    ..ended(Fault::Storage)
                },
            ),
            (1412, undone(Fault::Serialization)),
            (1317, interrupted()),
        ] {
            assert_eq!(by_number(TABLE, number), Some(expected), "{number}");
        }
        assert_eq!(by_number(TABLE, 1064), None);
        let german = unknown(
            "Beim Warten auf eine Sperre wurde die zulässige Wartezeit überschritten. Bitte versuchen Sie, die Transaktion neu zu starten",
        );
        assert_eq!(look_up(TABLE, &german), None);
    }

    // Another lock, another number, and the transaction goes on.
    #[test]
    fn a_deadlock_of_user_level_locks_is_not_taken_for_one_of_rows() {
        let text = "Deadlock found when trying to get user-level lock; try rolling back transaction/releasing locks and restarting lock acquisition.";
        assert_eq!(look_up(TABLE, &unknown(text)), None);
    }
}
