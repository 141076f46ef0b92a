//! Optimistic and pessimistic concurrency for [Diesel](diesel): a version column, writes that are checked by it, row locks chosen
//! per call, and a retry that owns the transaction.
//!
//! Two requests read the same row, both compute a new value, and the second write destroys the first: nothing failed, the
//! data is simply wrong. Here a model declares its version column, every write says which version it was computed from, and
//! the affected row count decides.
//!
//! ```
//! use diesel::prelude::*;
//! use diesel_occ::prelude::*;
//!
//! diesel::table! {
//!     products (id) { id -> BigInt, name -> Text, stock -> Integer, version -> BigInt, }
//! }
//!
//! #[derive(Debug, Clone, Queryable, Versioned)]
//! #[diesel(table_name = products)]
//! struct Product { id: i64, name: String, stock: i32, version: i64 }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let mut conn = SqliteConnection::establish(":memory:")?;
//! # diesel::sql_query("CREATE TABLE products (id BIGINT PRIMARY KEY, name TEXT NOT NULL, stock INTEGER NOT NULL, version BIGINT NOT NULL DEFAULT 0)").execute(&mut conn)?;
//! # diesel::sql_query("INSERT INTO products (id, name, stock) VALUES (42, 'tea', 5)").execute(&mut conn)?;
//! // Read, change, save; after a lost race once more, on fresh data.
//! conn.modify(42, Mode::optimistic(), |product: &mut Product| product.stock -= 1)?;
//!
//! // What a form was filled in from, held against what is stored now.
//! let row = conn.versioned_update(Product::at(42, 1), products::name.eq("green tea"))?;
//! assert_eq!(row, Product::at(42, 2));
//!
//! // Several rows, all or none.
//! conn.transact(&Retry::default(), |tx| -> diesel_occ::Result<()> {
//!     let product = tx.fetch::<Product>(42)?;
//!     tx.versioned_update(&product, products::stock.eq(product.stock - 1))?;
//!     Ok(())
//! })?;
//! # Ok(())
//! # }
//! ```
//!
//! # Where things are
//!
//! | to | look at |
//! |---|---|
//! | declare the version of a model | [`Versioned`] |
//! | read and write rows, run transactions | [`VersionedConnection`] |
//! | write generic code over models and connections | [`Record`], [`VersionedConnection`] |
//! | stay in Diesel's query builder | [`UpdateIf`] |
//! | lock rows, and choose between that and a check | [`Lock`], [`LockRows`], [`Mode`] |
//! | say how often and how long | [`Retry`], [`Timer`], [`Observer`] |
//! | choose an isolation level, or a read-only transaction | [`TxOptions`] |
//! | look at a server once, at the start | [`check`] |
//! | work inside a transaction | [`Tx`] |
//! | act on what went wrong | [`Error`], [`Conflict`], [`Fault`] |
//! | set up SQLite | [`sqlite::Setup`] |
//! | read about it, a task a page | [`guide`] |
//!
//! # Features
//!
//! | feature | default | |
//! |---|---|---|
//! | `sqlite` | yes | SQLite from 3.35 |
//! | `postgres` | | PostgreSQL from 11 |
//! | `mysql` | | MariaDB from 10.6; MySQL from 8.0.1, on which no test runs |
//! | `r2d2` | yes | `retry_on` a pool, [`sqlite::Setup`] as its customizer |
//! | `backoff` | yes | the ceiling of the delays from the `backoff` crate, which has no maintainer; without it an own schedule of the same shape |
//! | `tracing` | | an event for each conflict, retry and exhausted policy |
//! | `serde` | | `Serialize` and `Deserialize` for [`RowVersion`], `Serialize` for [`Conflict`] |
//!
//! # Limits
//!
//! A writer that knows no version, such as another program or a person at a prompt, is not noticed unless the database has
//! one of the triggers of [`guide::adopting`]. On SQLite a transaction holds the write lock of the whole database from its
//! beginning. A `COMMIT` or `ROLLBACK` that is sent as SQL inside a transaction is found out, but not undone.

#![deny(missing_docs, unsafe_code)]
#![warn(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(not(any(feature = "sqlite", feature = "postgres", feature = "mysql")))]
compile_error!(
    "diesel_occ needs a backend: turn on at least one of the features `sqlite`, `postgres` and `mysql`"
);

#[doc(hidden)]
pub extern crate diesel;
extern crate self as diesel_occ;

mod backend;
mod connection;
pub mod error;
mod fault;
pub mod guide;
mod model;
mod statement;
mod transaction;

#[cfg(feature = "sqlite")]
pub use backend::sqlite;
#[doc(hidden)]
pub use backend::{Begin, Bundle, Limit, LockClause, LockedRows, Reread, Returning, Turn};
pub use backend::{Checkup, Dialect, Driver, IsolationLevel, Lock, Server, Warning, check};
pub use connection::{Edit, GuardTarget, Mode, Removal, VersionedConnection};
pub use diesel_occ_derive::Versioned;
pub use error::{Conflict, ConflictKind, Error, Result};
pub use fault::Fault;
#[doc(hidden)]
pub use model::SoftDelete;
pub use model::{
    Changes, Guard, Record, Row, RowKey, RowVersion, Uncached, VersionValue, Versioned, uncached,
};
#[doc(hidden)]
pub use model::{NoChanges, Nothing};
#[doc(hidden)]
pub use statement::KeyIs;
pub use statement::{
    DeleteOneIf, LockRows, LockedQuery, UncheckedUpdate, UpdateIf, UpdateOneIf, VersionSql,
};
#[cfg(feature = "r2d2")]
pub use transaction::retry_on;
pub use transaction::{HeldLock, Observer, Policy, Retry, RetryEvent, Timer, Tx, TxOptions};

/// What most programs need: `use diesel_occ::prelude::*;`
pub mod prelude {
    #[cfg(feature = "r2d2")]
    pub use crate::retry_on;
    pub use crate::{
        Changes, Conflict, Driver, Lock, LockRows, Mode, Record, Retry, RowVersion, Tx, UpdateIf,
        Versioned, VersionedConnection,
    };
}

/// The README's page of the API compiles as it stands there.
#[cfg(all(doctest, feature = "sqlite", feature = "r2d2"))]
#[doc = include_str!("../README.md")]
struct Readme;
