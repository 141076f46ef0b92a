//! The tables and models that the tests share.

use diesel::prelude::*;
use diesel_occ::prelude::*;

pub const SQLITE: &str = "
    CREATE TABLE products (
        id BIGINT PRIMARY KEY, name TEXT NOT NULL, stock INTEGER NOT NULL CHECK (stock >= 0),
        updated_at TEXT, version BIGINT NOT NULL DEFAULT 0
    );
    INSERT INTO products (id, name, stock, version) VALUES (42, 'secret tea', 50, 7), (43, 'coffee', 5, 1);
    CREATE TABLE parts (tenant INTEGER NOT NULL, id TEXT NOT NULL, qty BIGINT NOT NULL, lock_version INTEGER NOT NULL,
        PRIMARY KEY (tenant, id));
    INSERT INTO parts VALUES (1, 'x', 10, 3), (2, 'x', 20, 3);
    CREATE TABLE docs (id BIGINT PRIMARY KEY, body TEXT NOT NULL, deleted_at BIGINT, v SMALLINT);
    INSERT INTO docs VALUES (1, 'legacy', NULL, NULL), (2, 'draft', NULL, 5);
    CREATE TABLE flags (id INTEGER PRIMARY KEY, version INTEGER NOT NULL);
    INSERT INTO flags VALUES (1, 1);
    CREATE TABLE orders (id BIGINT PRIMARY KEY, product_id BIGINT NOT NULL REFERENCES products (id)
        DEFERRABLE INITIALLY DEFERRED);
    CREATE TABLE loose (id BIGINT NOT NULL, note TEXT NOT NULL, version BIGINT NOT NULL);
    INSERT INTO loose VALUES (1, 'a', 7), (1, 'b', 7), (2, 'c', 7), (2, 'd', 8);
";

pub const POSTGRES: &str = SQLITE;

/// No key of TEXT, and no constraint that waits for COMMIT.
pub const MYSQL: &str = "
    CREATE TABLE products (
        id BIGINT PRIMARY KEY, name TEXT NOT NULL, stock INTEGER NOT NULL CHECK (stock >= 0),
        updated_at TEXT, version BIGINT NOT NULL DEFAULT 0
    );
    INSERT INTO products (id, name, stock, version) VALUES (42, 'secret tea', 50, 7), (43, 'coffee', 5, 1);
    CREATE TABLE parts (tenant INTEGER NOT NULL, id VARCHAR(50) NOT NULL, qty BIGINT NOT NULL,
        lock_version INTEGER NOT NULL, PRIMARY KEY (tenant, id));
    INSERT INTO parts VALUES (1, 'x', 10, 3), (2, 'x', 20, 3);
    CREATE TABLE docs (id BIGINT PRIMARY KEY, body TEXT NOT NULL, deleted_at BIGINT, v SMALLINT);
    INSERT INTO docs VALUES (1, 'legacy', NULL, NULL), (2, 'draft', NULL, 5);
    CREATE TABLE flags (id INTEGER PRIMARY KEY, version INTEGER NOT NULL);
    INSERT INTO flags VALUES (1, 1);
    CREATE TABLE orders (id BIGINT PRIMARY KEY, product_id BIGINT NOT NULL,
        FOREIGN KEY (product_id) REFERENCES products (id));
    CREATE TABLE loose (id BIGINT NOT NULL, note TEXT NOT NULL, version BIGINT NOT NULL);
    INSERT INTO loose VALUES (1, 'a', 7), (1, 'b', 7), (2, 'c', 7), (2, 'd', 8);
";

diesel::table! { products (id) { id -> BigInt, name -> Text, stock -> Integer, updated_at -> Nullable<Text>, version -> BigInt, } }
diesel::table! { parts (tenant, id) { tenant -> Integer, id -> Text, qty -> BigInt, #[sql_name = "lock_version"] rev -> Integer, } }
diesel::table! { docs (id) { id -> BigInt, body -> Text, deleted_at -> Nullable<BigInt>, v -> Nullable<SmallInt>, } }
diesel::table! { flags (id) { id -> Integer, version -> Integer, } }
diesel::table! { orders (id) { id -> BigInt, product_id -> BigInt, } }
diesel::table! {
    /// Its `id` is no key in the database.
    loose (id) { id -> BigInt, note -> Text, version -> BigInt, }
}

/// The plain model.
#[derive(Debug, Clone, PartialEq, Queryable, Selectable, Identifiable, Versioned)]
#[diesel(table_name = products)]
pub struct Product {
    pub id: i64,
    pub name: String,
    pub stock: i32,
    #[versioned]
    pub version: i64,
}

/// A composite key, and a version in a renamed column.
#[derive(Debug, Clone, PartialEq, Queryable, Versioned)]
#[diesel(table_name = parts, primary_key(tenant, id))]
#[versioned(column = rev)]
pub struct Part {
    pub tenant: i32,
    pub id: String,
    pub qty: i64,
    #[diesel(column_name = rev)]
    pub revision: i32,
}

/// A nullable version, and a row that can be marked as deleted.
#[derive(Debug, Clone, PartialEq, Queryable, Versioned)]
#[diesel(table_name = docs)]
#[versioned(soft_delete = deleted_at)]
pub struct Doc {
    pub id: i64,
    pub body: String,
    pub deleted_at: Option<i64>,
    #[versioned]
    pub v: Option<i16>,
}

/// Nothing but key and version.
#[derive(Debug, Clone, PartialEq, Queryable, Versioned)]
#[diesel(table_name = flags)]
pub struct Flag {
    pub id: i32,
    pub version: i32,
}

/// A key that several rows have.
#[derive(Debug, Clone, PartialEq, Queryable, Versioned)]
#[diesel(table_name = loose)]
pub struct Loose {
    pub id: i64,
    pub note: String,
    pub version: i64,
}

/// What an application's own error may look like.
#[derive(Debug, thiserror::Error)]
pub enum App {
    #[error("out of stock")]
    OutOfStock,
    #[error(transparent)]
    Occ(#[from] diesel_occ::Error),
    #[error("diesel")]
    Diesel(#[from] diesel::result::Error),
}

/// A name as this server quotes it.
pub fn quoted(conn: &mut impl Driver, name: &str) -> String {
    match conn.server().name() {
        "PostgreSQL" => format!("\"{}\"", name.replace('"', "\"\"")),
        _ => format!("`{}`", name.replace('`', "``")),
    }
}
