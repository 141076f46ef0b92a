use diesel_occ::prelude::*;

diesel::table! {
    products (id) { id -> BigInt, name -> Text, version -> BigInt, }
}

#[derive(Versioned)]
#[diesel(table_name = products, primary_key(id, id))]
struct Twice {
    id: i64,
    version: i64,
}

#[derive(Versioned)]
#[diesel(table_name = products, primary_key())]
struct Never {
    id: i64,
    version: i64,
}

fn main() {}
