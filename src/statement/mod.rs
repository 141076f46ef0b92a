//! The SQL: query nodes that Diesel's connections keep prepared, because they say themselves that it is safe.

mod check;
mod delete;
mod explain;
mod record;
mod run;
mod shape;
mod states;
mod unchecked;
mod update;
mod update_if;
mod version_in_changes;

pub use unchecked::{UncheckedUpdate, VersionSql};
pub use update_if::{DeleteOneIf, UpdateIf, UpdateOneIf};

pub(crate) use explain::{Refusal, next_version, too_many};
pub(crate) use update_if::must_be_alone;
