use diesel::prelude::*;
use diesel_occ::prelude::*;

diesel::table! {
    products (id) { id -> BigInt, name -> Text, version -> BigInt, }
}

#[derive(Clone, Queryable, Versioned)]
#[diesel(table_name = products)]
struct Product {
    id: i64,
    name: String,
    version: i64,
}

struct Handle(SqliteConnection);

fn main() {
    let mut conn = Handle(SqliteConnection::establish(":memory:").unwrap());
    let _ = conn.fetch::<Product>(1);
}
