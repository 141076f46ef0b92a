//! SQLite: what it does, how it begins to write, and the [`Setup`] of a connection.

mod setup;

pub use setup::{Journal, Setup, Synchronous};

use super::{Begin, Bundle, Dialect, Driver, IsolationLevel, Returning, Server};
use crate::fault;
use diesel::connection::{LoadConnection, SimpleConnection};
use diesel::deserialize::FromSqlRow;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::result::{Error as DieselError, QueryResult};
use diesel::sql_types::Integer;
use diesel::sqlite::{Sqlite, SqliteConnection, SqliteQueryBuilder};
use std::borrow::Cow;

pub(crate) static SQLITE: Server = Server {
    name: "SQLite",
    quote: "`",
    begin,
    only_outside: Some("BEGIN"),
    ending_words: &["COMMIT", "ROLLBACK", "END"],
    nothing_to_roll_back: Some("cannot rollback - no transaction is active"),
    // https://www.sqlite.org/lang_transaction.html: "the transaction remains active and the COMMIT can be retried later".
    commit_can_be_tried_again: true,
    any_error_aborts: false,
    counts_its_own_rows: true,
    current_read: None,
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
        } => Ok(Cow::Borrowed("BEGIN IMMEDIATE; SAVEPOINT occ_guard")),
        Begin {
            read_only: true, ..
        } => Err("read-only transaction"),
        Begin {
            deferrable: true, ..
        } => Err("deferrable transaction"),
        _ => Err("isolation level but SERIALIZABLE"),
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

    /// The busy handler is off for BEGIN: it sleeps ever longer, and of eight writers the first ones starve. What the
    /// connection was set to holds again afterwards, whatever BEGIN said.
    fn begin(
        &mut self,
        sql: &str,
        again: &mut dyn FnMut(&DieselError) -> bool,
    ) -> QueryResult<Bundle> {
        let handler = BusyHandlerOff::on(self)?;
        let result = loop {
            match handler.conn.batch_execute(sql) {
                Err(error) if again(&error) => {}
                result => break result,
            }
        };
        handler.back_on()?;
        result.map(|()| Bundle::Batch)
    }
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
    let mut rows = LoadConnection::load(conn, BusyTimeout)?;
    let Some(row) = rows.next() else { return Ok(0) };
    <i32 as FromSqlRow<Integer, Sqlite>>::build_from_row(&row?)
        .map_err(DieselError::DeserializationError)
}

/// `PRAGMA busy_timeout`, prepared once a connection.
#[derive(QueryId)]
struct BusyTimeout;

impl Query for BusyTimeout {
    type SqlType = Integer;
}

impl QueryFragment<Sqlite> for BusyTimeout {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Sqlite>) -> QueryResult<()> {
        out.push_sql("PRAGMA busy_timeout");
        Ok(())
    }
}
