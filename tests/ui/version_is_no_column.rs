use diesel_occ::prelude::*;

diesel::table! {
    products (id) { id -> BigInt, name -> Text, version -> BigInt, }
}

#[derive(Versioned)]
#[diesel(table_name = products)]
#[versioned(column = lock_version)]
struct Product {
    id: i64,
    name: String,
    version: i64,
}

fn main() {}
