use diesel_occ::prelude::*;

diesel::table! {
    products (id) { id -> BigInt, name -> Text, version -> BigInt, }
}

#[derive(Versioned)]
#[diesel(table_name = products)]
#[versioned(column = version)]
#[versioned(column = version)]
struct Product {
    id: i64,
    #[diesel(column_name = name, column_name = title)]
    name: String,
    #[versioned]
    #[versioned]
    version: i64,
}

fn main() {}
