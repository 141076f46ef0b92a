use diesel_occ::prelude::*;

diesel::table! {
    products (id) { id -> BigInt, name -> Text, version -> BigInt, }
}

#[derive(Versioned)]
#[diesel(table_name = products)]
struct Product(i64, String, i64);

#[derive(Versioned)]
#[diesel(table_name = products)]
struct Nothing;

fn main() {}
