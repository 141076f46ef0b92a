use diesel_occ::prelude::*;

diesel::table! {
    products (id) { id -> BigInt, name -> Text, version -> BigInt, }
}

#[derive(Versioned)]
#[diesel(table_name = products)]
struct Product {
    id: i64,
    name: String,
    version: u64,
}

#[derive(Versioned)]
#[diesel(table_name = products)]
struct Legacy {
    id: i64,
    name: String,
    version: Option<usize>,
}

fn main() {}
