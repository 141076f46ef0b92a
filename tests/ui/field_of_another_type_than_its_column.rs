use diesel_occ::prelude::*;

diesel::table! {
    products (id) { id -> BigInt, name -> Text, version -> BigInt, }
}

#[derive(Versioned)]
#[diesel(table_name = products)]
struct Product {
    id: i64,
    name: i32,
    version: i64,
}

fn main() {}
