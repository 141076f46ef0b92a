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

fn main() {
    let mut conn = 5;
    let _ = conn.fetch::<Product>(1);
}
