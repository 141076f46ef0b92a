use diesel_occ::prelude::*;

diesel::table! {
    products (id) { id -> BigInt, name -> Text, version -> Text, }
}

#[derive(Versioned)]
#[diesel(table_name = products)]
struct Product {
    id: i64,
    name: String,
    version: String,
}

#[derive(Versioned)]
#[diesel(table_name = products)]
struct Borrowed<'a> {
    id: i64,
    name: &'a str,
    version: &'a str,
}

fn main() {}
