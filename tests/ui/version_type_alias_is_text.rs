use diesel_occ::prelude::*;

diesel::table! {
    products (id) { id -> BigInt, name -> Text, version -> Text, }
}

type Revision = String;

#[derive(Versioned)]
#[diesel(table_name = products)]
struct Product {
    id: i64,
    name: String,
    version: Revision,
}

fn main() {}
