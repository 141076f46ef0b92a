//! PostgreSQL's failures that Diesel does not type, in English and in French, as the server's own translation writes them.
//! In any other language they are not matched, hence not retried: an ordinary role cannot choose the language
//! (`lc_messages`), and Diesel hides the SQLSTATE.
//!
//! Any failure aborts the transaction until it is rolled back, to a savepoint or whole; `ends` says that a savepoint does
//! not help. Codes: <https://www.postgresql.org/docs/current/errcodes-appendix.html>.

use super::{Fault, Row};

pub(crate) const TABLE: &[Row] = &[
    Row::transaction(
        "40P01 deadlock_detected",
        &["deadlock detected", "interblocage (deadlock) détecté"],
        Fault::Deadlock,
    ),
    Row::statement(
        "55P03 lock_not_available",
        &[
            "could not obtain lock on",
            "n'a pas pu obtenir un verrou sur",
        ],
        Fault::LockTimeout,
    ),
    Row::statement(
        "55P03 lock_not_available, by lock_timeout",
        &[
            "canceling statement due to lock timeout",
            "annulation de la requête à cause du délai écoulé pour l'obtention des verrous",
        ],
        Fault::LockTimeout,
    ),
    Row::statement(
        "57014 query_canceled",
        &[
            "canceling statement due to statement timeout",
            "canceling statement due to user request",
            "annulation de la requête à cause du délai écoulé pour l'exécution de l'instruction",
            "annulation de la requête à la demande de l'utilisateur",
        ],
        Fault::Permanent,
    ),
    Row::statement(
        "53100 disk_full",
        &["could not extend file", "n'a pas pu étendre le fichier"],
        Fault::Storage,
    ),
    Row::statement(
        "53200 out_of_memory",
        &[
            "out of memory",
            "out of shared memory",
            "mémoire épuisée",
            "mémoire partagée épuisée",
        ],
        Fault::Storage,
    ),
    Row::statement(
        "25P02 in_failed_sql_transaction",
        &[
            "current transaction is aborted",
            "la transaction est annulée",
        ],
        Fault::Permanent,
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::table::{Verdict, classify, look_up};
    use diesel::result::{DatabaseErrorKind as Kind, Error as DieselError};

    fn unknown(text: &str) -> DieselError {
        DieselError::DatabaseError(Kind::Unknown, Box::new(text.to_owned()))
    }

    /// The whole sentences of PostgreSQL 15.
    const SENTENCES: &[(&str, Fault, bool)] = &[
        ("deadlock detected", Fault::Deadlock, true),
        ("interblocage (deadlock) détecté", Fault::Deadlock, true),
        (
            "could not obtain lock on row in relation \"products\"",
            Fault::LockTimeout,
            false,
        ),
        (
            "n'a pas pu obtenir un verrou sur la relation « products »",
            Fault::LockTimeout,
            false,
        ),
        (
            "canceling statement due to lock timeout",
            Fault::LockTimeout,
            false,
        ),
        (
            "annulation de la requête à cause du délai écoulé pour l'obtention des verrous",
            Fault::LockTimeout,
            false,
        ),
        (
            "canceling statement due to statement timeout",
            Fault::Permanent,
            false,
        ),
        (
            "annulation de la requête à cause du délai écoulé pour l'exécution de l'instruction",
            Fault::Permanent,
            false,
        ),
        (
            "canceling statement due to user request",
            Fault::Permanent,
            false,
        ),
        (
            "annulation de la requête à la demande de l'utilisateur",
            Fault::Permanent,
            false,
        ),
        (
            "could not extend file \"base/1/2\": No space left on device",
            Fault::Storage,
            false,
        ),
        (
            "n'a pas pu étendre le fichier « base/1/2 » : Aucun espace disponible",
            Fault::Storage,
            false,
        ),
        ("out of memory", Fault::Storage, false),
        ("mémoire épuisée", Fault::Storage, false),
        ("out of shared memory", Fault::Storage, false),
        ("mémoire partagée épuisée", Fault::Storage, false),
        (
            "current transaction is aborted, commands ignored until end of transaction block",
            Fault::Permanent,
            false,
        ),
        (
            "la transaction est annulée, les commandes sont ignorées jusqu'à la fin du bloc de la transaction",
            Fault::Permanent,
            false,
        ),
    ];

    #[test]
    fn every_sentence_is_found_in_both_languages_and_every_text_has_a_sentence() {
        for (text, fault, ends) in SENTENCES {
            let expected = Verdict {
                ends: *ends,
                ..Verdict::goes_on(*fault)
            };
            assert_eq!(look_up(TABLE, &unknown(text)), Some(expected), "{text}");
        }
        for text in TABLE.iter().flat_map(|row| row.texts) {
            assert!(
                SENTENCES
                    .iter()
                    .any(|(sentence, ..)| sentence.starts_with(text)),
                "no sentence for {text}"
            );
        }
    }

    #[test]
    fn another_language_is_permanent() {
        let german = unknown("Verklemmung (Deadlock) entdeckt");
        assert_eq!(look_up(TABLE, &german), None);
        assert_eq!(classify(TABLE, &german).fault, Fault::Permanent);
    }
}
