//! What holds where triggers see what foreign keys and other triggers write: on SQLite and PostgreSQL.

use super::promises::*;
use super::{COLUMN_IS_NEEDED, Conn, SETTINGS, UPDATED_AT};
use crate::expect::{MUST_MOVE, assert_modified, assert_raised};
use crate::folder::{BUMP, COLUMN, REQUIRED};
use crate::models::{FOREIGN_KEY_ACTIONS, Product, products};
use diesel::connection::{Connection, SimpleConnection};
use diesel::migration::MigrationSource;
use diesel::prelude::*;
use diesel_migrations::MigrationHarness;
use diesel_occ::Error;
use diesel_occ::prelude::*;

#[test]
fn adopting_a_foreign_key_that_writes_is_a_writer_that_knows_no_version() {
    for action in FOREIGN_KEY_ACTIONS {
        let shop = Shop::with(&[COLUMN]);
        at_a_prompt(&shop, action).unwrap();
        assert_eq!(version(&mut shop.connect(), 42), 0);

        let shop = Shop::with(&[COLUMN, BUMP]);
        at_a_prompt(&shop, action).unwrap();
        assert_eq!(version(&mut shop.connect(), 42), 1);

        let shop = Shop::with(&[COLUMN, REQUIRED]);
        assert_raised(at_a_prompt(&shop, action), MUST_MOVE);
    }
}

fn naming_the_columns(text: &str) -> String {
    text.replace(
        "UPDATE ON products",
        "UPDATE OF name, stock, version ON products",
    )
}

#[test]
fn adopting_an_updated_at_trigger_is_one_more_writer_to_either_trigger() {
    let shop = Shop::with(&[COLUMN, BUMP]);
    let mut conn = shop.connect();
    conn.batch_execute(UPDATED_AT).unwrap();
    let row = conn
        .versioned_update(Product::at(42, 0), products::stock.eq(49))
        .unwrap();
    assert_eq!((row.version, version(&mut conn, 42)), (1, 2), "moved twice");
    assert_modified(conn.touch(row), "1", "2");

    let shop = Shop::with(&[COLUMN, REQUIRED]);
    let mut conn = shop.connect();
    conn.batch_execute(UPDATED_AT).unwrap();
    let refused = conn.versioned_update(Product::at(42, 0), products::stock.eq(49));
    let Err(Error::Database(error)) = refused else {
        panic!("the error of the trigger, not {refused:?}");
    };
    assert_eq!(error.to_string(), MUST_MOVE);
    assert_eq!((stock(&mut conn, 42), version(&mut conn, 42)), (50, 0));
}

#[test]
fn adopting_beside_an_updated_at_trigger_either_trigger_names_its_columns() {
    for trigger in [BUMP, REQUIRED] {
        for setting in SETTINGS {
            let shop = Shop::with(&[COLUMN]);
            let mut conn = shop.connect();
            conn.batch_execute(UPDATED_AT).unwrap();
            conn.batch_execute(setting).unwrap();
            shop.copy(trigger, naming_the_columns);
            shop.migrate();
            every_write(&mut conn);
            let (now, typed) = (
                version(&mut conn, 42),
                at_a_prompt(&shop, "UPDATE products SET stock = 20 WHERE id = 42"),
            );
            match trigger {
                BUMP => {
                    assert_eq!(typed, Ok(1));
                    assert_eq!(version(&mut conn, 42), now + 1);
                }
                _ => assert_raised(typed, MUST_MOVE),
            }
        }
    }
}

#[test]
fn adopting_the_column_is_not_dropped_under_a_trigger_that_names_it() {
    for trigger in [BUMP, REQUIRED] {
        let shop = Shop::with(&[COLUMN, trigger]);
        let mut conn = shop.connect();
        let migrations =
            MigrationSource::<<Conn as Connection>::Backend>::migrations(&shop.migrations())
                .unwrap();
        let column = migrations
            .iter()
            .find(|migration| migration.name().to_string() == COLUMN)
            .unwrap();
        let refused = conn.revert_migration(column).unwrap_err().to_string();
        assert!(refused.contains(COLUMN_IS_NEEDED), "{refused}");
        assert_eq!(version(&mut conn, 42), 0);
    }
}
