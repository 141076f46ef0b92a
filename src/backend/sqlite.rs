//! SQLite: what it does, how it begins to write, and the [`Setup`] of a connection.

mod setup;

pub use setup::{Journal, Setup, Synchronous};

use super::{Dialect, Driver, Returning, Server};
use crate::fault;
use diesel::connection::{LoadConnection, SimpleConnection};
use diesel::deserialize::FromSqlRow;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::result::{Error as DieselError, QueryResult};
use diesel::sql_types::Integer;
use diesel::sqlite::{Sqlite, SqliteConnection, SqliteQueryBuilder};

pub(crate) static SQLITE: Server = Server {
    name: "SQLite",
    quote: "`",
    begin: "BEGIN IMMEDIATE; SAVEPOINT occ_guard",
    begins_only_outside: Some("BEGIN"),
    nothing_to_roll_back: Some("cannot rollback - no transaction is active"),
    // https://www.sqlite.org/lang_transaction.html: "the transaction remains active and the COMMIT can be retried later".
    commit_can_be_tried_again: true,
    counts_its_own_rows: true,
    faults: fault::sqlite::TABLE,
};

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
    fn begin_to_write(&mut self, again: &mut dyn FnMut(&DieselError) -> bool) -> QueryResult<()> {
        let handler = BusyHandlerOff::on(self)?;
        let result = loop {
            match handler.conn.batch_execute(SQLITE.begin) {
                Err(error) if again(&error) => {}
                result => break result,
            }
        };
        handler.back_on()?;
        result
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
