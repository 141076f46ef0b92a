use diesel_occ::prelude::*;
use std::time::SystemTime;

diesel::table! {
    products (id) { id -> BigInt, name -> Text, updated_at -> Timestamp, }
}

#[derive(Versioned)]
#[diesel(table_name = products)]
struct Product {
    id: i64,
    name: String,
    #[versioned]
    updated_at: SystemTime,
}

fn main() {}
