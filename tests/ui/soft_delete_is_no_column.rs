use diesel_occ::prelude::*;

diesel::table! {
    products (id) { id -> BigInt, deleted_at -> Nullable<Text>, version -> BigInt, }
}

#[derive(Versioned)]
#[diesel(table_name = products)]
#[versioned(soft_delete = removed_at)]
struct Product {
    id: i64,
    deleted_at: Option<String>,
    version: i64,
}

fn main() {}
