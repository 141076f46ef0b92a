use diesel_occ::prelude::*;

diesel::table! {
    products (id) { id -> BigInt, deleted_at -> Nullable<Text>, version -> BigInt, }
}

#[derive(Versioned)]
#[diesel(table_name = products)]
#[versioned(soft_delete = deleted_at)]
struct Always {
    id: i64,
    deleted_at: String,
    version: i64,
}

#[derive(Versioned)]
#[diesel(table_name = products)]
#[versioned(soft_delete = deleted_at)]
struct Three {
    id: i64,
    deleted_at: Option<bool>,
    version: i64,
}

fn main() {}
