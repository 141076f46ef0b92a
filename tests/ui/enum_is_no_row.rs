use diesel_occ::prelude::*;

#[derive(Versioned)]
enum Product {
    Here { id: i64, version: i64 },
}

#[derive(Versioned)]
union Number {
    id: i64,
    version: i64,
}

fn main() {}
