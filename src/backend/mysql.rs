//! MySQL and MariaDB.

use super::ask::{ask, ask_one, command};
use super::flavor::Flavor;
use super::lock::{Kept, Strength, Wait};
use super::{
    Begin, Bundle, Checkup, Dialect, Driver, IsolationLevel, LockClause, Reread, Server, Warning,
};
use crate::fault::{self, look_up};
use diesel::RunQueryDsl;
use diesel::connection::{CacheSize, Connection, SimpleConnection};
use diesel::mysql::{Mysql, MysqlConnection, MysqlQueryBuilder};
use diesel::result::{Error as DieselError, QueryResult};
use diesel::sql_types::{BigInt, Nullable, Text};
use std::borrow::Cow;

static MYSQL: Server = Server {
    name: "MySQL or MariaDB",
    quote: "`",
    begin,
    // Error 1568 inside one. Outside it is about the next transaction alone, and the ROLLBACK that follows takes it back.
    only_outside: Some("SET TRANSACTION READ WRITE"),
    may_end: Some(may_end),
    // Whatever completion_type says: a chained transaction would go back to the pool with the connection.
    // https://mariadb.com/kb/en/server-system-variables/#completion_type
    commit: "RELEASE SAVEPOINT occ_guard; COMMIT AND NO CHAIN NO RELEASE",
    commit_alone: "COMMIT AND NO CHAIN NO RELEASE",
    roll_back: "ROLLBACK TO SAVEPOINT occ_guard; ROLLBACK AND NO CHAIN NO RELEASE",
    roll_back_alone: "ROLLBACK AND NO CHAIN NO RELEASE; UNLOCK TABLES",
    nothing_to_roll_back: None,
    commit_can_be_tried_again: false,
    any_error_aborts: false,
    // MySQL: error 1093. Where it is allowed, the count would lock the row before the write does: two writers deadlock.
    counts_its_own_rows: false,
    // A plain SELECT reads the snapshot of the transaction, a locking one what is committed.
    // https://dev.mysql.com/doc/refman/8.4/en/innodb-consistent-read.html
    current_read: Some(" LOCK IN SHARE MODE"),
    lock,
    locks_at_begin: false,
    // MySQL can, MariaDB cannot, and the connection does not tell which it is.
    locks_one_table: false,
    faults: fault::mysql::TABLE,
};

/// All but what surely ends nothing, by its first word. Everything else may commit, as a schema change does, or a procedure.
/// <https://mariadb.com/kb/en/sql-statements-that-cause-an-implicit-commit/>
fn may_end(sql: &str) -> bool {
    const ENDS_NOTHING: [&str; 8] = [
        "SELECT",
        "INSERT",
        "UPDATE",
        "DELETE",
        "REPLACE",
        "WITH",
        "SAVEPOINT",
        "RELEASE",
    ];
    // A semicolon in a text of the statement is one reason more to ask.
    sql.split(';').map(str::trim).any(|statement| {
        let word = statement.split(|c: char| !c.is_ascii_alphanumeric()).next();
        let word = word.unwrap_or_default().to_ascii_uppercase();
        !statement.is_empty() && !ENDS_NOTHING.contains(&word.as_str())
    })
}

/// The isolation level is set for the next transaction alone. <https://mariadb.com/kb/en/set-transaction/>
fn begin(asked: &Begin) -> Result<Cow<'static, str>, &'static str> {
    const PLAIN: &str = "START TRANSACTION; SAVEPOINT occ_guard";
    if asked.deferrable {
        return Err("deferrable transaction");
    }
    if *asked == Begin::default() {
        return Ok(Cow::Borrowed(PLAIN));
    }
    if !asked.guarded {
        return Ok(Cow::Borrowed("START TRANSACTION"));
    }
    let mut sql = String::new();
    if let Some(level) = asked.isolation {
        sql = format!("SET TRANSACTION ISOLATION LEVEL {}; ", level.sql());
    }
    sql += "START TRANSACTION";
    if asked.read_only {
        sql += " READ ONLY";
    }
    Ok(Cow::Owned(sql + "; SAVEPOINT occ_guard"))
}

/// Each of the two takes what stands in the other's comments for a comment, so that one text does for both: `/*M! .. */` is
/// MariaDB's, `/*!80001 .. */` is that of MySQL from 8.0.1. <https://mariadb.com/kb/en/comment-syntax/>,
/// <https://dev.mysql.com/doc/refman/8.4/en/comments.html>
///
/// MariaDB limits a statement to fractions of a second, for that statement alone; its `WAIT n` has whole seconds, and counts
/// anew for each row. MySQL has neither, and is asked again and again without waiting.
/// <https://mariadb.com/kb/en/set-statement/>, <https://mariadb.com/kb/en/wait-and-nowait/>
fn lock(strength: Strength, wait: Wait) -> Result<LockClause, &'static str> {
    let strength = match strength {
        Strength::Write | Strength::Update => " FOR UPDATE",
        // MySQL lets only this form skip rows or not wait.
        Strength::Share => " /*M! LOCK IN SHARE MODE */ /*!80001 FOR SHARE */",
        Strength::NoKeyUpdate => return Err("FOR NO KEY UPDATE"),
        Strength::KeyShare => return Err("FOR KEY SHARE"),
    };
    Ok(match wait {
        Wait::AsTheServerDoes => LockClause::behind(strength, ""),
        // It is made to fail, and a failed SELECT is not to be sent again: see `load_failed`.
        Wait::No => LockClause {
            kept: Kept::Not,
            ..LockClause::behind(strength, " NOWAIT")
        },
        Wait::Skip => LockClause::behind(strength, " SKIP LOCKED"),
        Wait::Within(limit) => {
            // Whatever innodb_lock_wait_timeout the session has.
            let longer = limit.as_secs() + 1;
            let limit = limit.as_secs_f64() + 0.001;
            LockClause {
                before: format!("/*M! SET STATEMENT max_statement_time = {limit:.6} FOR */ ")
                    .into(),
                strength,
                wait: format!(" /*M! WAIT {longer} */ /*!80001 NOWAIT */").into(),
                // The text varies with the time.
                kept: Kept::Not,
            }
        }
    })
}

impl Dialect for Mysql {
    type Fetch = Reread;

    fn server(_: &Mysql) -> &'static Server {
        &MYSQL
    }

    fn query_builder(_: &Mysql) -> MysqlQueryBuilder {
        MysqlQueryBuilder::default()
    }
}

impl Driver for MysqlConnection {
    fn backend(&mut self) -> Mysql {
        Mysql
    }

    /// One round trip on MariaDB, where BEGIN and a compound statement can be prepared. MySQL cannot and is sent a batch,
    /// which Diesel's connection surrounds by two messages of its own.
    fn begin(
        &mut self,
        sql: &str,
        again: &mut dyn FnMut(&DieselError) -> bool,
    ) -> QueryResult<Bundle> {
        loop {
            let error = match self.end(sql, Bundle::Compound) {
                Ok(()) => return Ok(Bundle::Compound),
                Err(error) if look_up(MYSQL.faults, &error).is_some() => error,
                Err(_) => match self.end(sql, Bundle::Batch) {
                    Ok(()) => return Ok(Bundle::Batch),
                    Err(error) => error,
                },
            };
            if !again(&error) {
                return Err(error);
            }
        }
    }

    fn end(&mut self, sql: &str, bundle: Bundle) -> QueryResult<()> {
        match bundle {
            Bundle::Batch => self.batch_execute(sql),
            // https://mariadb.com/kb/en/begin-end/
            Bundle::Compound if sql.contains(';') => {
                command(self, &format!("BEGIN NOT ATOMIC {sql}; END"))
            }
            Bundle::Compound => command(self, sql),
        }
    }

    /// The last condition of the statement before is its failure; those in front of it are warnings. By batch, since MySQL
    /// cannot prepare it. <https://mariadb.com/kb/en/get-diagnostics/>
    fn number_of(&mut self, message: &str) -> QueryResult<Option<u32>> {
        self.batch_execute(
            "GET DIAGNOSTICS @occ_last = NUMBER; \
             GET DIAGNOSTICS CONDITION @occ_last @occ_number = MYSQL_ERRNO, @occ_text = MESSAGE_TEXT",
        )?;
        let (number, text): (Option<i64>, Option<String>) =
            ask_one::<(Nullable<BigInt>, Nullable<Text>), _, _>(
                self,
                "SELECT CAST(@occ_number AS SIGNED), CAST(@occ_text AS CHAR)",
            )?;
        // Something else, if what failed was not the server.
        let number = number.filter(|_| text.as_deref() == Some(message));
        Ok(number.and_then(|number| number.try_into().ok()))
    }

    /// One that has failed after the server had begun to answer, as where it met a lock behind the first row, hangs when Diesel's
    /// connection sends it once more: the client library waits for the rest of the first answer. So no statement is kept.
    fn load_failed(&mut self) {
        self.set_prepared_statement_cache_size(CacheSize::Disabled);
        self.set_prepared_statement_cache_size(CacheSize::Unbounded);
    }

    fn examine(&mut self) -> QueryResult<Checkup> {
        let settings: Vec<(String, String)> = ask::<(Text, Text), _, _>(
            self,
            "SHOW SESSION VARIABLES WHERE Variable_name IN \
             ('version', 'lc_messages', 'sql_mode', 'autocommit', 'tx_isolation', 'transaction_isolation')",
        )?;
        let setting = |wanted: &str| {
            let found = settings.iter().find(|(name, _)| name.ends_with(wanted));
            found.map_or("", |(_, value)| value.as_str())
        };
        let flavor = Flavor::of(setting("version"));
        // The one name is MariaDB's before 11.1, the other MySQL's; both end alike.
        let isolation = IsolationLevel::named(setting("_isolation"));
        let isolation = isolation.unwrap_or(IsolationLevel::RepeatableRead);
        let modes = setting("sql_mode");
        let strict = modes.contains("STRICT_TRANS_TABLES") || modes.contains("STRICT_ALL_TABLES");
        let (version, language) = (
            setting("version").to_owned(),
            setting("lc_messages").to_owned(),
        );
        let counts_found_rows = counts_found_rows(self);
        let mut warnings = vec![];
        if counts_found_rows == Some(false) {
            warnings.push(Warning::ChangedRowsCounted);
        }
        if !strict {
            warnings.push(Warning::NotStrict);
        }
        if setting("autocommit") != "ON" {
            warnings.push(Warning::NoAutocommit);
        }
        if isolation == IsolationLevel::ReadUncommitted {
            warnings.push(Warning::ReadsUncommitted);
        }
        if let Some(minimum) = flavor.too_old_for() {
            warnings.push(Warning::OldServer { minimum });
        }
        Ok(Checkup {
            server: flavor.name,
            version,
            isolation,
            language,
            counts_found_rows,
            skip_locked: flavor.skip_locked(),
            returning: false,
            strict,
            warnings,
        })
    }
}

/// Tried on a temporary table, since nothing tells the flag of the connection. `None` where the account may not make one.
fn counts_found_rows(conn: &mut MysqlConnection) -> Option<bool> {
    conn.batch_execute("CREATE TEMPORARY TABLE occ_checkup AS SELECT 1 AS n")
        .ok()?;
    let same = diesel::sql_query("UPDATE occ_checkup SET n = 1").execute(conn);
    conn.batch_execute("DROP TEMPORARY TABLE occ_checkup")
        .ok()?;
    Some(same.ok()? == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text as a server reads it whose comments begin so: those of the other are left out.
    fn read_by(own: &str, other: &str, sql: &str) -> String {
        let mut read = String::new();
        for part in sql.split_inclusive("*/") {
            let (plain, comment) = part.split_once("/*").unwrap_or((part, ""));
            read += plain;
            let comment = comment.trim_end_matches("*/");
            match comment.strip_prefix(own) {
                Some(text) => read += text,
                None => assert!(
                    comment.is_empty() || comment.starts_with(other),
                    "{comment}"
                ),
            }
        }
        read.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn each_of_the_two_reads_its_own_form_of_a_lock() {
        let limit = Wait::Within(std::time::Duration::from_millis(1_500));
        for (strength, wait, mariadb, mysql) in [
            (
                Strength::Update,
                Wait::AsTheServerDoes,
                "SELECT 1 FOR UPDATE",
                "SELECT 1 FOR UPDATE",
            ),
            (
                Strength::Write,
                Wait::No,
                "SELECT 1 FOR UPDATE NOWAIT",
                "SELECT 1 FOR UPDATE NOWAIT",
            ),
            (
                Strength::Share,
                Wait::AsTheServerDoes,
                "SELECT 1 LOCK IN SHARE MODE",
                "SELECT 1 FOR SHARE",
            ),
            (
                Strength::Share,
                Wait::Skip,
                "SELECT 1 LOCK IN SHARE MODE SKIP LOCKED",
                "SELECT 1 FOR SHARE SKIP LOCKED",
            ),
            (
                Strength::Share,
                limit,
                "SET STATEMENT max_statement_time = 1.501000 FOR SELECT 1 LOCK IN SHARE MODE WAIT 2",
                "SELECT 1 FOR SHARE NOWAIT",
            ),
        ] {
            let sql = lock(strength, wait).map(|clause| {
                format!(
                    "{}SELECT 1{}{}",
                    clause.before, clause.strength, clause.wait
                )
            });
            let read_by = |own, other| sql.as_deref().map(|sql| read_by(own, other, sql));
            assert_eq!(read_by("M!", "!80001"), Ok(mariadb.to_owned()));
            assert_eq!(read_by("!80001", "M!"), Ok(mysql.to_owned()));
        }
        assert_eq!(
            lock(Strength::NoKeyUpdate, Wait::No),
            Err("FOR NO KEY UPDATE")
        );
        assert_eq!(lock(Strength::KeyShare, Wait::No), Err("FOR KEY SHARE"));
    }

    #[test]
    fn only_what_surely_ends_nothing_is_not_asked_about() {
        for sql in [
            "SELECT 1",
            "  select 'COMMIT'",
            "INSERT INTO t VALUES (1); UPDATE t SET a = 1;",
            "WITH x AS (SELECT 1) SELECT * FROM x",
        ] {
            assert!(!may_end(sql), "{sql}");
        }
        for sql in [
            "COMMIT",
            "commit",
            "CREATE\nTABLE t (a INT)",
            "ALTER/**/TABLE t ADD b INT",
            "/*! COMMIT */",
            "LOCK  TABLES t READ",
            "CALL\nhidden()",
            "SET\nPASSWORD = ''",
            "EXECUTE statement",
            "EXECUTE IMMEDIATE CONCAT('COM', 'MIT')",
            "SET DEFAULT ROLE NONE",
            "BACKUP UNLOCK",
            "SELECT 1; COMMIT",
            "-- nothing\nCOMMIT",
        ] {
            assert!(may_end(sql), "{sql}");
        }
    }
}
