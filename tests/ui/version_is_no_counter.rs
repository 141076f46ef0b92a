use diesel_occ::prelude::*;

diesel::table! {
    products (id) { id -> BigInt, name -> Text, version -> BigInt, }
}

struct Uuid([u8; 16]);

#[derive(Versioned)]
#[diesel(table_name = products)]
struct Random {
    id: i64,
    version: Uuid,
}

#[derive(Versioned)]
#[diesel(table_name = products)]
struct Flag {
    id: i64,
    version: bool,
}

#[derive(Versioned)]
#[diesel(table_name = products)]
struct Float {
    id: i64,
    version: Option<f64>,
}

#[derive(Versioned)]
#[diesel(table_name = products)]
struct Bytes {
    id: i64,
    version: [u8; 8],
}

fn main() {}
