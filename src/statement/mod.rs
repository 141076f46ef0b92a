//! The SQL: query nodes that Diesel's connections keep prepared, because they say themselves that it is safe.

mod check;
mod column;
mod delete;
mod explain;
mod key;
mod lock_rows;
mod one_row;
mod patience;
mod record;
mod run;
mod shape;
mod states;
mod unchecked;
mod update;
mod update_if;
mod version_in_changes;
mod words;

pub use key::KeyIs;
pub use lock_rows::{LockRows, LockedQuery};
pub use one_row::{DeleteOneIf, UpdateOneIf};
pub use unchecked::{UncheckedUpdate, VersionSql};
pub use update_if::UpdateIf;

pub(crate) use check::must_be_alone;
pub(crate) use explain::{Refusal, next_version, too_many};
pub(crate) use lock_rows::{clause, in_diesel, ready, timeout, unavailable};
pub(crate) use patience::{within, without_waiting};
