//! What only MySQL and MariaDB do: DDL that commits, foreign keys that fire no trigger, triggers that lose their column.

use super::promises::*;
use crate::expect::{MUST_MOVE, assert_raised};
use crate::folder::{BUMP, COLUMN, REQUIRED, template};
use crate::models::{FOREIGN_KEY_ACTIONS, Product};
use diesel::connection::SimpleConnection;
use diesel_migrations::MigrationHarness;
use diesel_occ::prelude::*;

#[test]
fn adopting_a_foreign_key_that_writes_fires_no_trigger() {
    for migrations in [&[COLUMN][..], &[COLUMN, BUMP], &[COLUMN, REQUIRED]] {
        for action in FOREIGN_KEY_ACTIONS {
            let shop = Shop::with(migrations);
            let mut conn = shop.connect();
            let tea = conn.fetch::<Product>(42).unwrap();
            assert_eq!(at_a_prompt(&shop, action), Ok(1));
            assert_eq!(version(&mut conn, 42), 0);
            conn.verify(&tea).unwrap();
            let written = "UPDATE products SET version = version + 1
                           WHERE id = 42 AND (category IS NULL OR category = 2)";
            assert_eq!(at_a_prompt(&shop, written), Ok(1), "{migrations:?}");
        }
    }
}

#[test]
fn adopting_nothing_keeps_the_column_under_a_trigger_and_every_update_fails_without_it() {
    for trigger in [BUMP, REQUIRED] {
        let shop = Shop::with(&[COLUMN, trigger]);
        let mut conn = shop.connect();
        conn.batch_execute(&template("mysql", COLUMN, "down.sql"))
            .unwrap();
        assert_raised(
            at_a_prompt(&shop, "UPDATE products SET stock = 20"),
            "Unknown column 'version' in 'NEW'",
        );
        conn.batch_execute(&template("mysql", trigger, "down.sql"))
            .unwrap();
        assert_eq!(at_a_prompt(&shop, "UPDATE products SET stock = 20"), Ok(2));
    }
}

#[test]
fn adopting_a_trigger_cannot_write_its_own_table_once_more() {
    let shop = Shop::with(&[COLUMN, BUMP]);
    shop.connect()
        .batch_execute(
            "ALTER TABLE products ADD COLUMN updated_at TIMESTAMP NULL;
             CREATE TRIGGER products_updated_at AFTER UPDATE ON products
             FOR EACH ROW UPDATE products SET updated_at = now() WHERE id = NEW.id;",
        )
        .unwrap();
    assert_raised(
        at_a_prompt(&shop, "UPDATE products SET stock = 20"),
        "Can't update table 'products' in stored function/trigger because it is already used by statement which \
         invoked this stored function/trigger",
    );
}

#[test]
fn adopting_beside_an_updated_at_every_write_moves_the_version_by_one() {
    for trigger in [BUMP, REQUIRED] {
        let shop = Shop::with(&[COLUMN, trigger]);
        let mut conn = shop.connect();
        conn.batch_execute(
            "ALTER TABLE products ADD COLUMN updated_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
             ADD COLUMN seen_at TIMESTAMP NULL;
             CREATE TRIGGER products_seen_at BEFORE UPDATE ON products FOR EACH ROW SET NEW.seen_at = now();",
        )
        .unwrap();
        every_write(&mut conn);
    }
}

#[test]
fn adopting_the_refusing_trigger_signals_45000() {
    let shop = Shop::with(&[COLUMN, REQUIRED]);
    let mut conn = shop.connect();
    conn.batch_execute(
        "CREATE PROCEDURE typed() BEGIN
             DECLARE EXIT HANDLER FOR SQLSTATE '45000' INSERT INTO categories VALUES (45000);
             UPDATE products SET stock = 20;
         END;
         CALL typed();",
    )
    .unwrap();
    assert_eq!(
        at_a_prompt(&shop, "DELETE FROM categories WHERE id = 45000"),
        Ok(1)
    );
    assert_raised(
        at_a_prompt(&shop, "UPDATE products SET stock = 20"),
        MUST_MOVE,
    );
}

#[test]
fn adopting_a_migration_of_several_changes_that_fails_halfway_keeps_the_first() {
    let shop = Shop::with(&[]);
    let mut conn = shop.connect();
    shop.copy(COLUMN, |text| {
        text.replace("SET SESSION lock_wait_timeout = DEFAULT", "NONSENSE")
    });
    let failed = conn.run_pending_migrations(shop.migrations()).unwrap_err();
    assert!(
        failed.to_string().contains("error in your SQL syntax"),
        "{failed}"
    );
    assert_eq!(version(&mut conn, 42), 0, "the column is there");
    shop.copy(COLUMN, str::to_owned);
    let again = conn.run_pending_migrations(shop.migrations()).unwrap_err();
    assert!(
        again
            .to_string()
            .contains("Duplicate column name 'version'"),
        "{again}"
    );
}
