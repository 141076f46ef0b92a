use diesel_occ::prelude::*;

diesel::table! {
    products (id) { id -> BigInt, name -> Text, version -> BigInt, }
}

struct Label {
    name: String,
}

#[derive(Versioned)]
#[diesel(table_name = products)]
struct Product {
    id: i64,
    #[diesel(embed)]
    label: Label,
    version: i64,
}

fn main() {}
