use diesel_occ::prelude::*;

diesel::table! {
    products (id) { id -> BigInt, name -> Text, version -> BigInt, }
}

#[derive(Versioned)]
#[diesel(table_name = products)]
struct Product {
    id: i64,
    #[diesel(column_name = "the name")]
    name: String,
    version: i64,
}

fn main() {}
