//! The table and its model, as the documentation has them.

use diesel::prelude::*;
use diesel_occ::Versioned;

diesel::table! {
    products (id) {
        id -> BigInt,
        name -> Text,
        stock -> Integer,
        version -> BigInt,
    }
}

#[derive(Debug, Clone, PartialEq, Queryable, Selectable, Versioned)]
#[diesel(table_name = products)]
pub struct Product {
    pub id: i64,
    pub name: String,
    pub stock: i32,
    pub version: i64,
}

/// `BIGINT`, as the documentation and the tests have it: the table and the index of its key are two trees.
pub const CREATE: &str = "CREATE TABLE products (
    id BIGINT PRIMARY KEY,
    name TEXT NOT NULL,
    stock INTEGER NOT NULL,
    version BIGINT NOT NULL DEFAULT 0
)";
