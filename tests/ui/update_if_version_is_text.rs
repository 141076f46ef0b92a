use diesel::prelude::*;
use diesel_occ::prelude::*;

diesel::table! {
    products (id) { id -> BigInt, name -> Text, version -> BigInt, }
}

fn main() {
    let row = products::table.find(1);
    let _ = row.update_if(products::version, "7", products::name.eq("lamp"));
}
