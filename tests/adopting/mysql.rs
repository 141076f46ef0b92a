//! MySQL and MariaDB.

#[path = "promises/mod.rs"]
mod promises;

mod locks;
mod special;

use crate::server;
use diesel::connection::SimpleConnection;
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::Text;

type Conn = MysqlConnection;

const SERVER: &str = "mysql";

/// What a connection may be set to.
const SETTINGS: &[&str] = &[
    "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
    "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
    "SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE",
];

/// What an INSERT without a list of columns gets to hear.
const BARE_VALUES: Result<usize, &str> = Err("Column count doesn't match value count at row 1");
const ALSO_REFUSED: &[&str] = &[
    "UPDATE IGNORE products SET stock = 20 WHERE id = 42",
    "UPDATE IGNORE products SET version = NULL WHERE id = 42",
    "UPDATE products LEFT JOIN categories ON categories.id = category SET stock = 20",
];
const THE_BUMP_COMES_FIRST: bool = true;
const UPSERT: &str = "INSERT INTO products (id, name, stock) VALUES (42, 'tea', 20)
    ON DUPLICATE KEY UPDATE stock = 20";
const REPLACES: &[&[&str]] = &[
    &["REPLACE INTO products (id, name, stock) VALUES (42, 'mate', 20)"],
    &[
        "DELETE FROM products WHERE id = 42",
        "INSERT INTO products (id, name, stock) VALUES (42, 'mate', 20)",
    ],
];
/// What is said at the largest version, by the trigger that bumps and to the statement that the other one would let pass.
const CANNOT_GROW: [&str; 2] = ["BIGINT value is out of range"; 2];
const TABLE_OPTIONS: &str = "";

/// A database of its own for one test.
struct Database {
    name: String,
}

impl Database {
    fn create() -> Database {
        let name = server::random_name();
        let create = format!("CREATE DATABASE {name}");
        Database::server().batch_execute(&create).unwrap();
        Database { name }
    }

    fn server() -> Conn {
        MysqlConnection::establish(&server::url("OCC_TEST_MYSQL_URL")).unwrap()
    }

    fn connect(&self) -> Conn {
        let url = server::url("OCC_TEST_MYSQL_URL");
        let (url, options) = url.split_once('?').unwrap_or((&url, ""));
        let host = url.splitn(4, '/').take(3).collect::<Vec<_>>().join("/");
        MysqlConnection::establish(&format!("{host}/{}?{options}", self.name)).unwrap()
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let drop = format!(
            "SET SESSION lock_wait_timeout = 5; DROP DATABASE {}",
            self.name
        );
        if let Err(error) = Database::server().batch_execute(&drop) {
            eprintln!("{}: {error}", self.name);
        }
    }
}

/// Everything that the schema says about products.
fn schema(conn: &mut Conn) -> Vec<String> {
    diesel::select(sql::<Text>(
        "line FROM (
            SELECT concat_ws(' ', column_name, column_type, is_nullable, column_default) AS line
            FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 'products'
            UNION ALL SELECT concat_ws(' ', trigger_name, action_timing, event_manipulation, action_statement)
            FROM information_schema.triggers WHERE trigger_schema = DATABASE()
        ) AS schema_lines ORDER BY line",
    ))
    .load(conn)
    .unwrap()
}
