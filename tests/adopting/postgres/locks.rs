//! What is rewritten: nothing. Who waits for whom.

use super::Conn;
use super::promises::*;
use crate::folder::{BUMP, COLUMN, REQUIRED};
use crate::models::products;
use diesel::connection::SimpleConnection;
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Text};
use diesel_migrations::MigrationHarness;

/// The file that the table lies in; a rewrite makes a new one.
fn file(conn: &mut Conn) -> i64 {
    diesel::select(sql::<BigInt>("pg_relation_filenode('products')::bigint"))
        .get_result(conn)
        .unwrap()
}

#[test]
fn adopting_the_column_of_a_large_table_is_added_and_dropped_without_a_rewrite() {
    let shop = Shop::with(&[]);
    let mut conn = shop.connect();
    conn.batch_execute(
        "INSERT INTO products (id, name, stock)
         SELECT id, 'part ' || id, id % 100 FROM generate_series(100, 100099) AS id",
    )
    .unwrap();
    let before = file(&mut conn);

    shop.copy(COLUMN, str::to_owned);
    shop.migrate();
    assert_eq!(file(&mut conn), before);
    let at_0: i64 = products::table
        .filter(products::version.eq(0))
        .count()
        .get_result(&mut conn)
        .unwrap();
    assert_eq!(at_0, 100_002);

    conn.revert_last_migration(shop.migrations()).unwrap();
    assert_eq!(file(&mut conn), before);
    conn.batch_execute("ALTER TABLE products ADD COLUMN drawn FLOAT DEFAULT random()")
        .unwrap();
    assert_ne!(file(&mut conn), before, "this one does rewrite it");
}

/// Opens a transaction that this statement began.
fn in_a_transaction(shop: &Shop, statement: &str) -> Conn {
    let mut conn = shop.connect();
    conn.batch_execute("BEGIN").unwrap();
    conn.batch_execute(statement).unwrap();
    conn
}

/// Runs the migration, giving up sooner than the file says.
fn migrate_impatiently(shop: &Shop, migration: &str) -> Result<(), String> {
    shop.copy(migration, |text| text.replace("'5s'", "'100ms'"));
    let migrated = patient(shop)
        .run_pending_migrations(shop.migrations())
        .map(drop);
    migrated.map_err(|error| error.to_string())
}

/// A connection that would wait, but not for ever.
fn patient(shop: &Shop) -> Conn {
    let mut conn = shop.connect();
    conn.batch_execute("SET statement_timeout = '10s'").unwrap();
    conn
}

fn assert_gave_up(result: Result<(), String>) {
    let said = result.unwrap_err();
    let timeout = "canceling statement due to lock timeout";
    assert!(said.contains(timeout), "{said}");
}

#[test]
fn adopting_the_column_gives_up_behind_a_transaction_that_has_read_the_table() {
    let shop = Shop::with(&[]);
    let mut reader = in_a_transaction(&shop, "SELECT id FROM products");
    assert_gave_up(migrate_impatiently(&shop, COLUMN));
    // Nobody was kept out, and it can be run again.
    at_a_prompt(&shop, "UPDATE products SET stock = 20").unwrap();
    reader.batch_execute("COMMIT").unwrap();
    shop.migrate();
    assert_eq!(version(&mut reader, 42), 0);
}

#[test]
fn adopting_a_trigger_is_created_while_others_read_and_gives_up_behind_one_that_writes() {
    for trigger in [BUMP, REQUIRED] {
        let shop = Shop::with(&[COLUMN]);
        let mut reader = in_a_transaction(&shop, "SELECT id FROM products");
        let mut writer = in_a_transaction(&shop, "DELETE FROM products WHERE id = 43");
        assert_gave_up(migrate_impatiently(&shop, trigger));
        writer.batch_execute("COMMIT").unwrap();
        migrate_impatiently(&shop, trigger).unwrap();

        let mut conn = patient(&shop);
        let dropped = conn.revert_last_migration(shop.migrations());
        assert_gave_up(dropped.map(drop).map_err(|error| error.to_string()));
        reader.batch_execute("COMMIT").unwrap();
        conn.revert_last_migration(shop.migrations()).unwrap();
    }
}

#[test]
fn adopting_no_migration_leaves_its_timeout_on_the_connection() {
    for migrations in [&[COLUMN][..], &[COLUMN, BUMP], &[COLUMN, REQUIRED]] {
        let shop = Shop::with(&[]);
        let mut conn = shop.connect();
        conn.batch_execute("SET lock_timeout = '7s'").unwrap();
        for migration in migrations {
            shop.copy(migration, str::to_owned);
        }
        conn.run_pending_migrations(shop.migrations()).unwrap();
        conn.revert_all_migrations(shop.migrations()).unwrap();
        let timeout: String = diesel::select(sql::<Text>("current_setting('lock_timeout')"))
            .get_result(&mut conn)
            .unwrap();
        assert_eq!(timeout, "7s");
    }
}
