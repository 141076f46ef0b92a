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

fn main() -> diesel_occ::Result<()> {
    let mut conn = SqliteConnection::establish(":memory:").unwrap();
    conn.unchecked_update(Product::at(1, 7), products::name.eq("lamp"))?;
    Ok(())
}
