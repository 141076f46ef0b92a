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

fn name<C: Connection>(conn: &mut C) -> diesel_occ::Result<String> {
    Ok(conn.fetch::<Product>(1)?.name)
}

fn main() {}
