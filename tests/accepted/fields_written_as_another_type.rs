//! `serialize_as` on the key and on a field, `deserialize_as` for the way back; keywords as names.
use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel_occ::prelude::*;

mod schema {
    diesel::table! {
        products (id) { id -> BigInt, stock -> Integer, #[sql_name = "type"] r#type -> Text, version -> BigInt, }
    }
}

#[derive(Debug, Clone, PartialEq)]
struct ProductId(i64);

impl From<i64> for ProductId {
    fn from(id: i64) -> Self {
        ProductId(id)
    }
}

impl From<ProductId> for i64 {
    fn from(id: ProductId) -> Self {
        id.0
    }
}

#[derive(Clone)]
struct Stock(i32);

impl From<i32> for Stock {
    fn from(stock: i32) -> Self {
        Stock(stock)
    }
}

impl From<Stock> for i32 {
    fn from(stock: Stock) -> Self {
        stock.0
    }
}

#[derive(Clone, Queryable, Versioned)]
#[diesel(table_name = schema::products, check_for_backend(diesel::sqlite::Sqlite))]
struct Product {
    #[diesel(serialize_as = i64, deserialize_as = i64)]
    id: ProductId,
    #[diesel(serialize_as = i32, deserialize_as = i32)]
    stock: Stock,
    r#type: String,
    version: i64,
}

#[test]
fn row_o8_fields_written_as_another_type_is_accepted() -> diesel_occ::Result<()> {
    let mut conn = SqliteConnection::establish(":memory:").unwrap();
    conn.batch_execute(
        "CREATE TABLE products (id BIGINT PRIMARY KEY, stock INTEGER NOT NULL, type TEXT NOT NULL, version BIGINT NOT NULL);
         INSERT INTO products VALUES (1, 3, 'lamp', 7);",
    )?;
    let product = conn.fetch::<Product>(1)?;
    assert_eq!(product.id, ProductId(1));
    conn.save(&Product {
        stock: Stock(2),
        r#type: "desk".into(),
        ..product
    })?;
    let product = conn.fetch::<Product>(1)?;
    assert_eq!(
        (product.stock.0, product.r#type.as_str(), product.version),
        (2, "desk", 8)
    );
    Ok(())
}
