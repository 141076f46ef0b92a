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
    version: String,
}

fn main() -> diesel_occ::Result<()> {
    let mut conn = SqliteConnection::establish(":memory:").unwrap();
    let product = conn.fetch::<Product>(1)?;
    conn.save(&product)?;
    conn.versioned_update(Product::at(1, 7), products::name.eq("lamp"))?;
    conn.modify(1, Mode::optimistic(), |product: &mut Product| {
        product.name.clear()
    })?;
    Ok(())
}
