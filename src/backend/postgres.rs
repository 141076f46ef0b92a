//! PostgreSQL.

use super::ask::ask_one;
use super::lock::{Strength, Wait};
use super::{
    Begin, Checkup, Dialect, Driver, IsolationLevel, Limit, LockClause, Returning, Server, Warning,
};
use crate::fault;
use diesel::pg::{Pg, PgConnection, PgQueryBuilder};
use diesel::result::QueryResult;
use diesel::sql_types::{Integer, Text};
use std::borrow::Cow;
use std::time::Duration;

static POSTGRES: Server = Server {
    name: "PostgreSQL",
    quote: "\"",
    begin,
    only_outside: None,
    may_end: None,
    commit: "RELEASE SAVEPOINT occ_guard; COMMIT",
    commit_alone: "COMMIT",
    roll_back: "ROLLBACK TO SAVEPOINT occ_guard; ROLLBACK",
    roll_back_alone: "ROLLBACK",
    nothing_to_roll_back: None,
    commit_can_be_tried_again: false,
    any_error_aborts: true,
    counts_its_own_rows: true,
    // A write in REPEATABLE READ that meets a newer row is refused (40001), so that no read has to explain it.
    current_read: None,
    lock,
    locks_at_begin: false,
    locks_one_table: true,
    faults: fault::postgres::TABLE,
};

/// Isolation and access are said in BEGIN itself: behind the guard savepoint the isolation level cannot be set any more.
/// <https://www.postgresql.org/docs/current/sql-begin.html>
fn begin(asked: &Begin) -> Result<Cow<'static, str>, &'static str> {
    const PLAIN: &str = "BEGIN; SAVEPOINT occ_guard";
    if *asked == Begin::default() {
        return Ok(Cow::Borrowed(PLAIN));
    }
    if !asked.guarded {
        return Ok(Cow::Borrowed("BEGIN"));
    }
    let mut sql = "BEGIN".to_owned();
    if let Some(level) = asked.isolation {
        sql += " ISOLATION LEVEL ";
        sql += level.sql();
    }
    if asked.read_only {
        sql += " READ ONLY";
    }
    if asked.deferrable {
        sql += " DEFERRABLE";
    }
    Ok(Cow::Owned(sql + "; SAVEPOINT occ_guard"))
}

/// <https://www.postgresql.org/docs/current/sql-select.html#SQL-FOR-UPDATE-SHARE>
fn lock(strength: Strength, wait: Wait) -> Result<LockClause, &'static str> {
    let strength = match strength {
        Strength::Update => " FOR UPDATE",
        Strength::Write | Strength::NoKeyUpdate => " FOR NO KEY UPDATE",
        Strength::Share => " FOR SHARE",
        Strength::KeyShare => " FOR KEY SHARE",
    };
    Ok(LockClause::behind(
        strength,
        match wait {
            // How long is for the settings of the transaction.
            Wait::AsTheServerDoes | Wait::Within(_) => "",
            Wait::No => " NOWAIT",
            Wait::Skip => " SKIP LOCKED",
        },
    ))
}

impl Dialect for Pg {
    type Fetch = Returning;

    fn server(_: &Pg) -> &'static Server {
        &POSTGRES
    }

    fn query_builder(_: &Pg) -> PgQueryBuilder {
        PgQueryBuilder::default()
    }
}

impl Driver for PgConnection {
    fn backend(&mut self) -> Pg {
        Pg
    }

    /// By `statement_timeout`, since `lock_timeout` counts anew for each lock that a statement waits for: behind others it would
    /// last a multiple. <https://www.postgresql.org/docs/current/runtime-config-client.html>
    fn limit(&mut self, limit: Duration) -> QueryResult<Option<Limit>> {
        let (lock, statement): (String, String) = ask_one::<(Text, Text), _, _>(
            self,
            "SELECT current_setting('lock_timeout'), current_setting('statement_timeout')",
        )?;
        let set = |lock: &str, statement: &str| {
            format!(
                "SET LOCAL lock_timeout = '{lock}'; SET LOCAL statement_timeout = '{statement}'"
            )
        };
        // Zero would be no limit; and the server's clock must not be ahead of ours.
        let milliseconds = limit.as_millis() + 1;
        Ok(Some(Limit {
            set: set("0", &milliseconds.to_string()),
            restore: set(&lock, &statement),
        }))
    }

    fn examine(&mut self) -> QueryResult<Checkup> {
        let (version, number, language, isolation): (String, i32, String, String) = ask_one::<
            (Text, Integer, Text, Text),
            _,
            _,
        >(
            self,
            "SELECT current_setting('server_version'), current_setting('server_version_num')::integer, \
                 current_setting('lc_messages'), current_setting('default_transaction_isolation')",
        )?;
        let mut warnings = vec![];
        if !is_understood(&language) {
            let language = language.clone();
            warnings.push(Warning::Language { language });
        }
        if number < 110_000 {
            let minimum = "PostgreSQL 11";
            warnings.push(Warning::OldServer { minimum });
        }
        Ok(Checkup {
            server: POSTGRES.name,
            version,
            isolation: IsolationLevel::named(&isolation).unwrap_or(IsolationLevel::ReadCommitted),
            language,
            counts_found_rows: Some(true),
            skip_locked: number >= 90_500,
            returning: true,
            strict: true,
            warnings,
        })
    }
}

/// Whether the fault table has the server's words in this language. An empty setting is that of the server's environment,
/// which the server does not tell; initdb writes one in.
fn is_understood(language: &str) -> bool {
    let language = language.to_ascii_lowercase();
    matches!(language.as_str(), "c" | "posix" | "c.utf-8" | "c.utf8")
        || ["en", "fr"].iter().any(|known| {
            language
                .strip_prefix(known)
                .is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_alphabetic()))
        })
}

#[cfg(test)]
mod tests {
    use super::is_understood;

    #[test]
    fn english_and_french_are_understood_and_no_other_language() {
        for language in [
            "C",
            "POSIX",
            "C.UTF-8",
            "C.utf8",
            "en_US.UTF-8",
            "en",
            "fr_FR.UTF-8",
            "fr",
        ] {
            assert!(is_understood(language), "{language}");
        }
        for language in ["de_DE.UTF-8", "frp", "eno", "ja_JP", "", "pt_BR.utf8"] {
            assert!(!is_understood(language), "{language}");
        }
    }
}
