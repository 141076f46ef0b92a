//! The version is a renamed field, named by its column on the struct.
use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel_occ::prelude::*;

diesel::table! {
    products (id) { id -> BigInt, name -> Text, lock_version -> Integer, }
}

#[derive(Clone, Queryable, Versioned)]
#[diesel(table_name = products)]
#[versioned(column = lock_version)]
struct Product {
    id: i64,
    #[diesel(column_name = "name")]
    title: String,
    #[diesel(column_name = lock_version)]
    revision: i32,
}

#[test]
fn row_o8_version_named_on_the_struct_is_accepted() -> diesel_occ::Result<()> {
    let mut conn = SqliteConnection::establish(":memory:").unwrap();
    conn.batch_execute(
        "CREATE TABLE products (id BIGINT PRIMARY KEY, name TEXT NOT NULL, lock_version INTEGER NOT NULL);
         INSERT INTO products VALUES (1, 'lamp', 7);",
    )?;
    let saved = conn.modify(1, Mode::optimistic(), |product: &mut Product| {
        product.title.push('s')
    })?;
    assert_eq!((saved.revision, saved.title.as_str()), (8, "lamps"));
    assert_eq!(conn.fetch::<Product>(1)?.title, "lamps");
    Ok(())
}
