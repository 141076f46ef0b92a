//! The table of the example on each server, and the mark by which the example knows its own table again.

use crate::connection::AnyConnection;
use diesel::prelude::*;
use diesel::sql_types::{Nullable, Text};

/// How a server makes the table and keeps the mark.
struct Statements {
    create: &'static str,
    /// Answers no row where there is no such table.
    find: &'static str,
    mark: &'static str,
}

/// SQLite has no comment on a table, but keeps the text of the statement, comment and all.
const SQLITE: Statements = Statements {
    create: SQLITE_CREATE,
    find: "SELECT sql AS mark FROM sqlite_master WHERE name = 'decrement_stock_products' COLLATE NOCASE",
    mark: SQLITE_CREATE,
};

const SQLITE_CREATE: &str = "\
CREATE TABLE decrement_stock_products (
  -- Made by the example decrement_stock of diesel_occ, and emptied by each of its runs.
  id INTEGER PRIMARY KEY NOT NULL,
  name TEXT NOT NULL,
  stock INTEGER NOT NULL,
  version BIGINT NOT NULL DEFAULT 0
)";

#[cfg(any(feature = "postgres", feature = "mysql"))]
const MARK: &str =
    "Made by the example decrement_stock of diesel_occ, and emptied by each of its runs.";

#[cfg(feature = "postgres")]
const POSTGRES: Statements = Statements {
    create: "\
CREATE TABLE decrement_stock_products (
  id BIGINT PRIMARY KEY,
  name TEXT NOT NULL,
  stock INTEGER NOT NULL,
  version BIGINT NOT NULL DEFAULT 0
);
COMMENT ON TABLE decrement_stock_products IS
  'Made by the example decrement_stock of diesel_occ, and emptied by each of its runs.'",
    find: "SELECT obj_description(oid, 'pg_class') AS mark FROM pg_class \
        WHERE oid = to_regclass('decrement_stock_products')",
    mark: MARK,
};

/// The engine is named because not every one of them has transactions.
#[cfg(feature = "mysql")]
const MYSQL: Statements = Statements {
    create: "\
CREATE TABLE decrement_stock_products (
  id BIGINT PRIMARY KEY,
  name TEXT NOT NULL,
  stock INTEGER NOT NULL,
  version BIGINT NOT NULL DEFAULT 0
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4
  COMMENT = 'Made by the example decrement_stock of diesel_occ, and emptied by each of its runs.'",
    find: "SELECT table_comment AS mark FROM information_schema.tables \
        WHERE table_schema = DATABASE() AND table_name = 'decrement_stock_products'",
    mark: MARK,
};

fn statements(conn: &AnyConnection) -> &'static Statements {
    match conn {
        AnyConnection::Sqlite(_) => &SQLITE,
        #[cfg(feature = "postgres")]
        AnyConnection::Postgres(_) => &POSTGRES,
        #[cfg(feature = "mysql")]
        AnyConnection::Mysql(_) => &MYSQL,
    }
}

/// What stands under the name of the table.
pub enum Found {
    Nothing,
    Ours,
    SomebodyElses,
}

#[derive(QueryableByName)]
struct Entry {
    #[diesel(sql_type = Nullable<Text>)]
    mark: Option<String>,
}

pub fn find(conn: &mut AnyConnection) -> QueryResult<Found> {
    let Statements { find, mark, .. } = statements(conn);
    let entry: Option<Entry> = diesel::sql_query(*find).get_result(conn).optional()?;
    Ok(match entry {
        None => Found::Nothing,
        Some(entry) if entry.mark.as_deref() == Some(mark) => Found::Ours,
        Some(_) => Found::SomebodyElses,
    })
}

pub fn create(conn: &mut AnyConnection) -> QueryResult<()> {
    use diesel::connection::SimpleConnection;
    let create = statements(conn).create;
    conn.batch_execute(create)
}
