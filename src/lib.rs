//! Temporary front door.
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
pub use backend::{Dialect, Driver, Server};
#[doc(hidden)]
pub use backend::{Reread, Returning};
pub use connection::{Edit, GuardTarget, Mode, Removal, VersionedConnection};
pub use diesel_occ_derive::Versioned;
pub use error::{Conflict, ConflictKind, Error, Result};
pub use fault::Fault;
#[doc(hidden)]
pub use model::NoChanges;
#[doc(hidden)]
pub use model::SoftDelete;
pub use model::{
    Changes, Guard, Record, Row, RowKey, RowVersion, Uncached, VersionValue, Versioned, uncached,
};
pub use statement::{DeleteOneIf, UncheckedUpdate, UpdateIf, UpdateOneIf, VersionSql};
#[cfg(feature = "r2d2")]
pub use transaction::retry_on;
pub use transaction::{Observer, Retry, RetryEvent, Timer, Tx};

/// What most programs need: `use diesel_occ::prelude::*;`
pub mod prelude {
    #[cfg(feature = "r2d2")]
    pub use crate::retry_on;
    pub use crate::{
        Changes, Conflict, Driver, Mode, Record, Retry, RowVersion, Tx, UpdateIf, Versioned,
        VersionedConnection,
    };
}
