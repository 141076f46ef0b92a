use diesel_occ::prelude::*;

diesel::table! {
    lines (order_id, number) { order_id -> BigInt, number -> BigInt, version -> BigInt, }
}

#[derive(Versioned)]
#[diesel(table_name = lines, primary_key(number))]
struct Line {
    order_id: i64,
    number: i64,
    version: i64,
}

fn main() {}
