use diesel_occ::prelude::*;

diesel::table! {
    products (id) { id -> BigInt, name -> Text, version -> BigInt, }
}

#[derive(Versioned)]
#[diesel(table_name = products)]
struct Marked {
    id: i64,
    #[versioned]
    revision: i64,
    #[versioned]
    version: i64,
}

#[derive(Versioned)]
#[diesel(table_name = products)]
#[versioned(column = version)]
struct Named {
    id: i64,
    #[versioned]
    revision: i64,
    version: i64,
}

fn main() {}
