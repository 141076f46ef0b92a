//! What is rewritten: nothing. Who waits for whom.

use super::Conn;
use super::promises::*;
use crate::folder::{BUMP, COLUMN, REQUIRED};
use crate::models::products;
use diesel::connection::SimpleConnection;
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::BigInt;
use diesel_migrations::MigrationHarness;
use std::time::{Duration, Instant};

/// The file that the table lies in; a rewrite makes a new one. MySQL calls the view `innodb_tables`.
fn file(conn: &mut Conn) -> i64 {
    diesel::select(sql::<BigInt>(
        "CAST(space AS SIGNED) FROM information_schema.innodb_sys_tables WHERE name = CONCAT(DATABASE(), '/products')",
    ))
    .get_result(conn)
    .unwrap()
}

#[test]
fn adopting_the_column_of_a_large_table_is_added_and_dropped_without_a_rewrite() {
    let shop = Shop::with(&[]);
    let mut conn = shop.connect();
    // 2 rows, doubled 16 times.
    for doubled in 0..16 {
        let step = 100 << doubled;
        conn.batch_execute(&format!(
            "INSERT INTO products (id, name, stock) SELECT id + {step}, name, stock FROM products"
        ))
        .unwrap();
    }
    let before = file(&mut conn);

    shop.copy(COLUMN, str::to_owned);
    shop.migrate();
    assert_eq!(file(&mut conn), before);
    let at_0: i64 = products::table
        .filter(products::version.eq(0))
        .count()
        .get_result(&mut conn)
        .unwrap();
    assert_eq!(at_0, 131_072);

    conn.revert_last_migration(shop.migrations()).unwrap();
    assert_eq!(file(&mut conn), before);
    conn.batch_execute("ALTER TABLE products FORCE").unwrap();
    assert_ne!(file(&mut conn), before, "this one does rewrite it");
}

#[test]
fn adopting_the_column_is_refused_where_it_would_copy_the_table() {
    for (table, instead) in [
        (
            "ALTER TABLE products ROW_FORMAT = COMPRESSED",
            "ALGORITHM=INPLACE, LOCK=NONE",
        ),
        (
            "ALTER TABLE products ADD FULLTEXT INDEX (name)",
            "ALGORITHM=INPLACE, LOCK=SHARED",
        ),
        (
            "ALTER TABLE products DROP FOREIGN KEY products_ibfk_1; ALTER TABLE products ENGINE = MyISAM",
            "ALGORITHM=COPY, LOCK=SHARED",
        ),
    ] {
        let shop = Shop::with(&[]);
        let mut conn = shop.connect();
        conn.batch_execute(table).unwrap();
        let before = super::schema(&mut conn);
        shop.copy(COLUMN, str::to_owned);
        let refused = conn.run_pending_migrations(shop.migrations()).unwrap_err();
        assert!(
            refused
                .to_string()
                .contains("ALGORITHM=INSTANT is not supported"),
            "{refused}"
        );
        assert_eq!(super::schema(&mut conn), before);
        assert!(conn.has_pending_migration(shop.migrations()).unwrap());

        shop.copy(COLUMN, |text| text.replace("ALGORITHM=INSTANT", instead));
        shop.migrate();
        assert_eq!(version(&mut conn, 42), 0);
    }
}

#[test]
fn adopting_no_migration_leaves_its_timeout_on_the_connection() {
    for migrations in [&[COLUMN][..], &[COLUMN, BUMP], &[COLUMN, REQUIRED]] {
        let shop = Shop::with(&[]);
        let mut conn = shop.connect();
        let before = timeout(&mut conn);
        for migration in migrations {
            shop.copy(migration, str::to_owned);
            conn.run_pending_migrations(shop.migrations()).unwrap();
            assert_eq!(timeout(&mut conn), before);
        }
        for _ in migrations {
            conn.revert_last_migration(shop.migrations()).unwrap();
            assert_eq!(timeout(&mut conn), before);
        }
    }
}

fn timeout(conn: &mut Conn) -> i64 {
    diesel::select(sql::<BigInt>("@@SESSION.lock_wait_timeout"))
        .get_result(conn)
        .unwrap()
}

#[test]
fn adopting_each_migration_gives_up_behind_a_transaction_that_has_read_the_table() {
    for migrations in [&[COLUMN][..], &[COLUMN, BUMP], &[COLUMN, REQUIRED]] {
        let (last, before) = migrations.split_last().unwrap();
        let shop = Shop::with(before);
        let mut reader = shop.connect();
        reader
            .batch_execute("START TRANSACTION; SELECT id FROM products")
            .unwrap();

        shop.copy(last, |text| {
            text.replace("lock_wait_timeout = 5", "lock_wait_timeout = 1")
        });
        let mut conn = shop.connect();
        conn.batch_execute("SET SESSION lock_wait_timeout = 20")
            .unwrap();
        let since = Instant::now();
        let gave_up = conn.run_pending_migrations(shop.migrations()).unwrap_err();
        assert!(
            gave_up.to_string().contains("Lock wait timeout exceeded"),
            "{gave_up}"
        );
        assert!(
            since.elapsed() < Duration::from_secs(10),
            "by the time in the file"
        );

        // Nobody was kept out, and it can be run again.
        at_a_prompt(&shop, "UPDATE products SET stock = 20").unwrap();
        reader.batch_execute("COMMIT").unwrap();
        shop.migrate();
        assert_eq!(stock(&mut conn, 42), 20);
    }
}
