//! What only PostgreSQL has: errors with fields, DDL in a transaction, triggers that can be switched off.

use super::promises::*;
use crate::expect::assert_modified;
use crate::folder::{BUMP, COLUMN, REQUIRED};
use crate::models::Product;
use diesel::connection::SimpleConnection;
use diesel::result::{DatabaseErrorKind, Error as DieselError};
use diesel_migrations::MigrationHarness;
use diesel_occ::prelude::*;

#[test]
fn adopting_the_refusing_trigger_names_itself_and_an_integrity_violation() {
    let shop = Shop::with(&[COLUMN, REQUIRED]);
    let typed = "UPDATE products SET stock = 20";
    let Err(DieselError::DatabaseError(kind, information)) = at_a_prompt(&shop, typed) else {
        panic!("the error of the trigger");
    };
    assert!(matches!(kind, DatabaseErrorKind::Unknown), "{kind:?}");
    assert_eq!(
        information.constraint_name(),
        Some("products_version_required")
    );
    assert_eq!(information.table_name(), Some("products"));
    // 23000, which diesel does not hand on.
    at_a_prompt(
        &shop,
        "DO $$ BEGIN UPDATE products SET stock = 20; EXCEPTION WHEN SQLSTATE '23000' THEN NULL; END $$",
    )
    .unwrap();
}

#[test]
fn adopting_a_migration_that_fails_halfway_leaves_nothing_behind() {
    let shop = Shop::with(&[COLUMN]);
    let mut conn = shop.connect();
    let before = super::schema(&mut conn);
    shop.copy(BUMP, |text| {
        text.replace("EXECUTE FUNCTION", "EXECUTE NONSENSE")
    });
    let failed = conn.run_pending_migrations(shop.migrations()).unwrap_err();
    assert!(failed.to_string().contains("syntax error"), "{failed}");
    assert_eq!(super::schema(&mut conn), before);
    shop.copy(BUMP, str::to_owned);
    shop.migrate();
    assert_ne!(super::schema(&mut conn), before);
}

#[test]
fn adopting_beside_an_updated_at_that_sets_new_every_write_moves_the_version_by_one() {
    for trigger in [BUMP, REQUIRED] {
        let shop = Shop::with(&[COLUMN, trigger]);
        let mut conn = shop.connect();
        conn.batch_execute(
            "ALTER TABLE products ADD COLUMN updated_at TIMESTAMP;
             CREATE FUNCTION products_updated_at() RETURNS trigger LANGUAGE plpgsql AS $$
             BEGIN NEW.updated_at := now(); RETURN NEW; END
             $$;
             CREATE TRIGGER products_updated_at BEFORE UPDATE ON products
             FOR EACH ROW EXECUTE FUNCTION products_updated_at();",
        )
        .unwrap();
        every_write(&mut conn);
    }
}

#[test]
fn adopting_a_writer_that_switches_the_triggers_off_is_not_noticed() {
    for trigger in [BUMP, REQUIRED] {
        let shop = Shop::with(&[COLUMN, trigger]);
        let mut conn = shop.connect();
        // As a subscriber of logical replication writes.
        shop.connect()
            .batch_execute("SET session_replication_role = replica; UPDATE products SET stock = 20")
            .unwrap();
        assert_eq!((stock(&mut conn, 42), version(&mut conn, 42)), (20, 0));
        conn.touch(Product::at(42, 0)).unwrap();
        assert_modified(conn.touch(Product::at(42, 0)), "0", "1");
    }
}
