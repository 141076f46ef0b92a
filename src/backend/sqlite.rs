//! SQLite: what it does, how it begins to write, and the [`Setup`] of a connection.

mod setup;

pub use setup::{Journal, Setup, Synchronous};

use super::ask::{ask_one, command};
use super::lock::{Strength, Wait};
use super::{
    Begin, Bundle, Checkup, Dialect, Driver, IsolationLevel, LockClause, Returning, Server, Warning,
};
use crate::fault;
use diesel::connection::SimpleConnection;
use diesel::result::{Error as DieselError, QueryResult};
use diesel::sql_types::{Integer, Text};
use diesel::sqlite::{Sqlite, SqliteConnection, SqliteQueryBuilder};
use std::borrow::Cow;

pub(crate) static SQLITE: Server = Server {
    name: "SQLite",
    quote: "`",
    begin,
    only_outside: Some("BEGIN"),
    may_end: Some(mentions_an_end),
    commit: "RELEASE SAVEPOINT occ_guard; COMMIT",
    commit_alone: "COMMIT",
    roll_back: "ROLLBACK TO SAVEPOINT occ_guard; ROLLBACK",
    roll_back_alone: "ROLLBACK",
    nothing_to_roll_back: Some("cannot rollback - no transaction is active"),
    // https://www.sqlite.org/lang_transaction.html: "the transaction remains active and the COMMIT can be retried later".
    commit_can_be_tried_again: true,
    any_error_aborts: false,
    counts_its_own_rows: true,
    current_read: None,
    lock,
    locks_at_begin: true,
    locks_one_table: false,
    faults: fault::sqlite::TABLE,
};

/// Every transaction is serializable, and one that may write is the only one that there is.
/// <https://www.sqlite.org/isolation.html>
fn begin(asked: &Begin) -> Result<Cow<'static, str>, &'static str> {
    match asked {
        Begin {
            isolation: None | Some(IsolationLevel::Serializable),
            read_only: false,
            deferrable: false,
            guarded,
        } => Ok(Cow::Borrowed(match guarded {
            true => "BEGIN IMMEDIATE; SAVEPOINT occ_guard",
            false => "BEGIN IMMEDIATE",
        })),
        Begin {
            read_only: true, ..
        } => Err("read-only transaction"),
        Begin {
            deferrable: true, ..
        } => Err("deferrable transaction"),
        _ => Err("isolation level but SERIALIZABLE"),
    }
}

/// BEGIN IMMEDIATE has taken the write lock of the whole database, so that nobody else holds a row. There is no weaker lock.
fn lock(strength: Strength, _: Wait) -> Result<LockClause, &'static str> {
    match strength {
        Strength::Write | Strength::Update => Ok(LockClause::behind("", "")),
        Strength::NoKeyUpdate => Err("FOR NO KEY UPDATE"),
        Strength::Share => Err("FOR SHARE"),
        Strength::KeyShare => Err("FOR KEY SHARE"),
    }
}

impl Dialect for Sqlite {
    type Fetch = Returning;

    fn server(_: &Sqlite) -> &'static Server {
        &SQLITE
    }

    fn query_builder(_: &Sqlite) -> SqliteQueryBuilder {
        SqliteQueryBuilder::default()
    }
}

impl Driver for SqliteConnection {
    fn backend(&mut self) -> Sqlite {
        Sqlite
    }

    fn examine(&mut self) -> QueryResult<Checkup> {
        let version: String = ask_one::<Text, _, _>(self, "SELECT sqlite_version()")?;
        let returning = has_returning(&version);
        let mut warnings = vec![];
        if !returning {
            let minimum = "SQLite 3.35";
            warnings.push(Warning::OldServer { minimum });
        }
        Ok(Checkup {
            server: SQLITE.name,
            version,
            isolation: IsolationLevel::Serializable,
            language: "en".to_owned(),
            counts_found_rows: Some(true),
            skip_locked: false,
            returning,
            // https://www.sqlite.org/flextypegood.html: a value of another type is stored as it is.
            strict: false,
            warnings,
        })
    }

    /// The busy handler is off for BEGIN: it sleeps ever longer, and of eight writers the first ones starve. What the
    /// connection was set to holds again afterwards, whatever BEGIN said.
    fn begin(
        &mut self,
        sql: &str,
        again: &mut dyn FnMut(&DieselError) -> bool,
    ) -> QueryResult<Bundle> {
        let handler = BusyHandlerOff::on(self)?;
        let result = loop {
            match handler.conn.end(sql, Bundle::Batch) {
                Err(error) if again(&error) => {}
                result => break result,
            }
        };
        handler.back_on()?;
        result.map(|()| Bundle::Batch)
    }

    /// One statement is kept prepared, several are parsed each time.
    fn end(&mut self, sql: &str, _: Bundle) -> QueryResult<()> {
        match sql.contains(';') {
            true => self.batch_execute(sql),
            false => command(self, sql),
        }
    }
}

/// Anywhere in the text: an INSERT OR ROLLBACK is one too.
fn mentions_an_end(sql: &str) -> bool {
    let sql = sql.to_ascii_uppercase();
    ["COMMIT", "ROLLBACK", "END"]
        .iter()
        .any(|word| sql.contains(word))
}

/// `RETURNING` came with 3.35. <https://www.sqlite.org/lang_returning.html>
fn has_returning(version: &str) -> bool {
    let mut parts = version.split('.').map(|part| part.parse().unwrap_or(0));
    let mut next = || parts.next().unwrap_or(0);
    (next(), next()) >= (3_u32, 35)
}

/// A connection without its busy handler.
struct BusyHandlerOff<'c> {
    conn: &'c mut SqliteConnection,
    timeout: i32,
}

impl<'c> BusyHandlerOff<'c> {
    fn on(conn: &'c mut SqliteConnection) -> QueryResult<Self> {
        let timeout = busy_timeout(conn)?;
        if timeout > 0 {
            conn.batch_execute("PRAGMA busy_timeout = 0")?;
        }
        Ok(BusyHandlerOff { conn, timeout })
    }

    fn back_on(mut self) -> QueryResult<()> {
        self.restore()
    }

    fn restore(&mut self) -> QueryResult<()> {
        match std::mem::take(&mut self.timeout) {
            0 => Ok(()),
            timeout => self
                .conn
                .batch_execute(&format!("PRAGMA busy_timeout = {timeout}")),
        }
    }
}

/// When the wait between two tries panics.
impl Drop for BusyHandlerOff<'_> {
    fn drop(&mut self) {
        // The panic is what there is to report.
        let _ = self.restore();
    }
}

/// How long the busy handler of the connection waits, in milliseconds.
fn busy_timeout(conn: &mut SqliteConnection) -> QueryResult<i32> {
    ask_one::<Integer, _, _>(conn, "PRAGMA busy_timeout")
}
