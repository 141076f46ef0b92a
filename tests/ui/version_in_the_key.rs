use diesel_occ::prelude::*;

diesel::table! {
    products (id, version) { id -> BigInt, version -> BigInt, }
}

#[derive(Versioned)]
#[diesel(table_name = products, primary_key(id, version))]
struct Product {
    id: i64,
    version: i64,
}

fn main() {}
