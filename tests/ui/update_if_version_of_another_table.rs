use diesel::prelude::*;
use diesel_occ::prelude::*;

diesel::table! {
    products (id) { id -> BigInt, name -> Text, version -> BigInt, }
}

diesel::table! {
    users (id) { id -> BigInt, version -> BigInt, }
}

fn main() {
    let row = products::table.find(1);
    let _ = row.update_if(users::version, 7, products::name.eq("lamp"));
}
