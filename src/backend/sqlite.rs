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
    fn begin_to_write(&mut self) -> QueryResult<()> {
        let busy_timeout = busy_timeout(self)?;
        if busy_timeout == 0 {
            return self.batch_execute(SQLITE.begin);
        }
        let begin = SQLITE.begin;
        let result = self.batch_execute(&format!(
            "PRAGMA busy_timeout = 0; {begin}; PRAGMA busy_timeout = {busy_timeout}"
        ));
        if result.is_err() {
            self.batch_execute(&format!("PRAGMA busy_timeout = {busy_timeout}"))?;
        }
        result
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
