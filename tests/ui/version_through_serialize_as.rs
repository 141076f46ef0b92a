use diesel_occ::prelude::*;

diesel::table! {
    products (id) { id -> BigInt, name -> Text, version -> BigInt, }
}

struct Revision(i64);

#[derive(Versioned)]
#[diesel(table_name = products)]
struct Product {
    id: i64,
    name: String,
    #[diesel(serialize_as = i64)]
    version: Revision,
}

fn main() {}
