//! Back again, and on to other tables.

use super::super::{TABLE_OPTIONS, schema};
use super::*;
use crate::expect::assert_raised;
use diesel::dsl::sql;
use diesel::sql_types::BigInt;

#[test]
fn adopting_every_down_restores_the_schema_and_keeps_the_data() {
    for trigger in [BUMP, REQUIRED] {
        let shop = Shop::with(&[]);
        let mut conn = shop.connect();
        let before = schema(&mut conn);
        shop.copy(COLUMN, str::to_owned);
        shop.migrate();
        let with_column = schema(&mut conn);
        assert_ne!(with_column, before);
        shop.copy(trigger, str::to_owned);
        shop.migrate();
        assert_ne!(schema(&mut conn), with_column);
        conn.versioned_update(Product::at(42, 0), products::stock.eq(49))
            .unwrap();

        conn.revert_last_migration(shop.migrations()).unwrap();
        assert_eq!(schema(&mut conn), with_column);
        assert_eq!(
            at_a_prompt(&shop, "UPDATE products SET stock = 48 WHERE id = 42"),
            Ok(1)
        );
        assert_eq!(version(&mut conn, 42), 1);
        conn.revert_last_migration(shop.migrations()).unwrap();
        assert_eq!(schema(&mut conn), before);
        assert_eq!((stock(&mut conn, 42), stock(&mut conn, 43)), (48, 5));
    }
}

#[test]
fn adopting_the_files_serve_a_table_of_another_name_and_key() {
    let rename = |text: &str| {
        text.replace("products", "parts")
            .replace("NEW.id", "NEW.part_no")
            .replace("WHERE id", "WHERE part_no")
    };
    for trigger in [BUMP, REQUIRED] {
        let shop = Shop::with(&[]);
        let mut conn = shop.connect();
        conn.batch_execute(
            &format!(
                "CREATE TABLE parts (part_no VARCHAR(20) PRIMARY KEY NOT NULL, qty INTEGER NOT NULL) {TABLE_OPTIONS};
                 INSERT INTO parts VALUES ('x', 1)"
            ),
        )
        .unwrap();
        shop.copy(COLUMN, rename);
        shop.copy(trigger, rename);
        shop.migrate();
        let typed = at_a_prompt(&shop, "UPDATE parts SET qty = 2");
        let version: i64 = diesel::select(sql::<BigInt>("version FROM parts"))
            .get_result(&mut conn)
            .unwrap();
        match trigger {
            BUMP => assert_eq!((typed, version), (Ok(1), 1)),
            _ => {
                assert_raised(typed, "parts: an UPDATE must set version = version + 1");
                assert_eq!(version, 0);
            }
        }
    }
}
