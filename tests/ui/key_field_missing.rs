use diesel_occ::prelude::*;

diesel::table! {
    products (id) { id -> BigInt, name -> Text, version -> BigInt, }
}

#[derive(Versioned)]
#[diesel(table_name = products)]
struct Product {
    number: i64,
    name: String,
    version: i64,
}

diesel::table! {
    lines (order_id, number) { order_id -> BigInt, number -> BigInt, version -> BigInt, }
}

#[derive(Versioned)]
#[diesel(table_name = lines, primary_key(order_id, number))]
struct Line {
    number: i64,
    version: i64,
}

fn main() {}
