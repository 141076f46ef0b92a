use diesel_occ::prelude::*;

#[derive(Versioned)]
#[diesel(table_name = products)]
#[versioned(colum = version, soft_delete = gone)]
struct Product {
    name: String,
    version: String,
}

fn main() {}
