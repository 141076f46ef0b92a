//! PostgreSQL.

#[path = "promises/mod.rs"]
mod promises;
#[path = "promises/seen_by_triggers.rs"]
mod seen_by_triggers;

mod locks;
mod special;

use crate::server;
use diesel::connection::SimpleConnection;
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::Text;

type Conn = PgConnection;

const SERVER: &str = "postgres";

/// What a connection may be set to.
const SETTINGS: &[&str] = &[
    "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED",
    "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL REPEATABLE READ",
    "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL SERIALIZABLE",
];

/// What an INSERT without a list of columns gets to hear: nothing, what is missing is filled up.
const BARE_VALUES: Result<usize, &str> = Ok(1);
const ALSO_REFUSED: &[&str] = &[
    "UPDATE ONLY products SET stock = 20",
    "UPDATE products SET version = NULL WHERE id = 42",
    "WITH typed AS (UPDATE products SET stock = 20 RETURNING id) SELECT id FROM typed",
];
const THE_BUMP_COMES_FIRST: bool = true;
const UPSERT: &str = "INSERT INTO products (id, name, stock) VALUES (42, 'tea', 20)
    ON CONFLICT (id) DO UPDATE SET stock = excluded.stock";
const REPLACES: &[&[&str]] = &[&[
    "DELETE FROM products WHERE id = 42",
    "INSERT INTO products (id, name, stock) VALUES (42, 'mate', 20)",
]];
/// What is said at the largest version, by the trigger that bumps and to the statement that the other one would let pass.
const CANNOT_GROW: [&str; 2] = ["bigint out of range"; 2];
const COLUMN_IS_NEEDED: &str = "cannot drop column version of table products";
const TABLE_OPTIONS: &str = "";
/// A trigger of the application that writes the row once more.
const UPDATED_AT: &str = "
    ALTER TABLE products ADD COLUMN updated_at TIMESTAMP;
    CREATE FUNCTION products_updated_at() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN UPDATE products SET updated_at = now() WHERE id = NEW.id; RETURN NULL; END
    $$;
    CREATE TRIGGER products_updated_at AFTER UPDATE OF name, stock ON products
    FOR EACH ROW EXECUTE FUNCTION products_updated_at();
";

/// A schema of its own for one test.
struct Database {
    name: String,
}

impl Database {
    fn create() -> Database {
        let name = server::random_name();
        let create = format!("CREATE SCHEMA {name}");
        Database::server().batch_execute(&create).unwrap();
        Database { name }
    }

    fn url() -> String {
        server::url("OCC_TEST_POSTGRES_URL")
    }

    fn server() -> Conn {
        PgConnection::establish(&Database::url()).unwrap()
    }

    fn connect(&self) -> Conn {
        let url = Database::url();
        let and = if url.contains('?') { '&' } else { '?' };
        let name = &self.name;
        PgConnection::establish(&format!("{url}{and}options=-csearch_path%3D{name}")).unwrap()
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let drop = format!(
            "SET client_min_messages = warning; SET lock_timeout = '5s'; DROP SCHEMA {} CASCADE",
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
            SELECT concat_ws(' ', column_name, data_type, is_nullable, column_default) AS line
            FROM information_schema.columns
            WHERE table_schema = current_schema() AND table_name = 'products'
            UNION ALL SELECT pg_get_triggerdef(oid) FROM pg_trigger
            WHERE tgrelid = 'products'::regclass AND NOT tgisinternal
            UNION ALL SELECT pg_get_functiondef(oid) FROM pg_proc
            WHERE pronamespace = current_schema()::regnamespace
        ) AS lines ORDER BY line",
    ))
    .load(conn)
    .unwrap()
}
