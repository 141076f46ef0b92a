//! SQLite.

#[path = "promises/mod.rs"]
mod promises;
#[path = "promises/seen_by_triggers.rs"]
mod seen_by_triggers;

use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::Text;
use diesel_occ::sqlite::Setup;
use tempfile::TempDir;

type Conn = SqliteConnection;

const SERVER: &str = "sqlite";

/// What a connection may be set to.
const SETTINGS: &[&str] = &[
    "PRAGMA recursive_triggers = OFF",
    "PRAGMA recursive_triggers = ON",
];

/// What an INSERT without a list of columns gets to hear.
const BARE_VALUES: Result<usize, &str> =
    Err("table products has 6 columns but 5 values were supplied");
const ALSO_REFUSED: &[&str] = &[
    "UPDATE OR IGNORE products SET stock = 20 WHERE id = 42",
    "UPDATE products SET version = '1x' WHERE id = 42",
];
const THE_BUMP_COMES_FIRST: bool = false;
const UPSERT: &str = "INSERT INTO products (id, name, stock) VALUES (42, 'tea', 20)
    ON CONFLICT (id) DO UPDATE SET stock = excluded.stock";
const REPLACES: &[&[&str]] = &[
    &["REPLACE INTO products (id, name, stock) VALUES (42, 'mate', 20)"],
    &[
        "DELETE FROM products WHERE id = 42",
        "INSERT INTO products (id, name, stock) VALUES (42, 'mate', 20)",
    ],
];
/// What the triggers say at the largest version, after which SQLite would go on with a float.
const CANNOT_GROW: [&str; 2] = [
    "products: the version cannot grow any more",
    crate::expect::MUST_MOVE,
];
const COLUMN_IS_NEEDED: &str = "no such column: NEW.version";
const TABLE_OPTIONS: &str = "WITHOUT ROWID";
/// A trigger of the application that writes the row once more.
const UPDATED_AT: &str = "
    ALTER TABLE products ADD COLUMN updated_at TEXT;
    CREATE TRIGGER products_updated_at AFTER UPDATE OF name, stock ON products
    BEGIN UPDATE products SET updated_at = 'now' WHERE id = NEW.id; END;
";

/// A file of its own for one test.
struct Database {
    folder: TempDir,
}

impl Database {
    fn create() -> Database {
        Database {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    fn connect(&self) -> Conn {
        let file = self.folder.path().join("shop.db");
        let mut conn = SqliteConnection::establish(file.to_str().unwrap()).unwrap();
        Setup::default().apply(&mut conn).unwrap();
        conn
    }
}

/// Everything that the schema says about products, as SQLite keeps it.
fn schema(conn: &mut Conn) -> Vec<String> {
    diesel::select(sql::<Text>(
        "name || ': ' || sql FROM sqlite_schema WHERE tbl_name = 'products' AND sql IS NOT NULL ORDER BY name",
    ))
    .load(conn)
    .unwrap()
}
