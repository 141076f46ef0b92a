use diesel_occ::prelude::*;

diesel::table! {
    products (id) { id -> BigInt, name -> Text, version -> BigInt, }
}

#[derive(Versioned)]
#[diesel(table_name = products)]
#[versioned]
struct Product {
    id: i64,
    name: String,
    #[versioned(column = version)]
    version: i64,
}

fn main() {}
