use diesel::prelude::*;
use diesel_occ::prelude::*;

diesel::table! {
    products (id) { id -> BigInt, name -> Text, version -> BigInt, }
}

#[derive(Clone, Queryable, Versioned)]
#[diesel(table_name = products)]
struct Product {
    id: i64,
    name: String,
    version: i64,
}

#[derive(Debug)]
enum App {
    OutOfStock,
}

fn main() -> Result<(), App> {
    let mut conn = SqliteConnection::establish(":memory:").unwrap();
    conn.transact(&Retry::default(), |tx| -> Result<(), App> {
        let product: Product = tx.fetch(1).map_err(|_| App::OutOfStock)?;
        tx.save(&product).map_err(|_| App::OutOfStock)?;
        Ok(())
    })
}
