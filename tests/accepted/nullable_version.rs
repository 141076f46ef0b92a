//! Rows from before the column was added have no version yet. The type may go by another name.
use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel_occ::prelude::*;

diesel::table! {
    products (id) { id -> BigInt, name -> Text, version -> Nullable<BigInt>, }
}

type Revision = Option<i64>;

#[derive(Clone, Queryable, Versioned)]
struct Product {
    id: i64,
    name: String,
    version: Revision,
}

#[test]
fn row_o8_nullable_version_is_accepted() -> diesel_occ::Result<()> {
    let mut conn = SqliteConnection::establish(":memory:").unwrap();
    conn.batch_execute(
        "CREATE TABLE products (id BIGINT PRIMARY KEY, name TEXT NOT NULL, version BIGINT);
         INSERT INTO products VALUES (1, 'lamp', NULL);",
    )?;
    let product = conn.fetch::<Product>(1)?;
    let saved = conn.save(&Product {
        name: "desk".into(),
        ..product
    })?;
    assert_eq!((saved.id, saved.version), (1, Some(1)));
    assert_eq!(conn.save(&saved)?.version, Some(2));
    Ok(())
}
