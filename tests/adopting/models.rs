//! The table as the migrations make it, and as it may have been there before.

use diesel::prelude::*;
use diesel_occ::prelude::*;

/// The table as it was before, with data: no version.
pub const BEFORE: &str = "
    CREATE TABLE categories (id BIGINT PRIMARY KEY NOT NULL);
    CREATE TABLE products (
        id BIGINT PRIMARY KEY NOT NULL, name TEXT NOT NULL, stock INTEGER NOT NULL CHECK (stock >= 0),
        gone BOOLEAN NOT NULL DEFAULT FALSE, category BIGINT,
        FOREIGN KEY (category) REFERENCES categories (id) ON DELETE SET NULL ON UPDATE CASCADE
    );
    INSERT INTO categories VALUES (1);
    INSERT INTO products (id, name, stock, category) VALUES (42, 'tea', 50, 1), (43, 'coffee', 5, NULL);
";

/// What makes the foreign key write the row of product 42.
pub const FOREIGN_KEY_ACTIONS: [&str; 2] =
    ["DELETE FROM categories", "UPDATE categories SET id = 2"];

diesel::table! {
    products (id) {
        id -> BigInt,
        name -> Text,
        stock -> Integer,
        gone -> Bool,
        version -> BigInt,
    }
}

#[derive(Debug, Clone, PartialEq, Queryable, Versioned)]
#[diesel(table_name = products)]
#[versioned(soft_delete = gone)]
pub struct Product {
    pub id: i64,
    pub name: String,
    pub stock: i32,
    pub gone: bool,
    pub version: i64,
}

/// The same table with a version that may be NULL.
pub mod legacy {
    use super::*;

    diesel::table! {
        products (id) { id -> BigInt, name -> Text, stock -> Integer, version -> Nullable<BigInt>, }
    }

    #[derive(Debug, Clone, PartialEq, Queryable, Versioned)]
    #[diesel(table_name = products)]
    pub struct Product {
        pub id: i64,
        pub name: String,
        pub stock: i32,
        pub version: Option<i64>,
    }
}
