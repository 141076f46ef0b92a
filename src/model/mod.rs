//! What a row is: its table, its key, its version, and the values that a save writes.

mod changes;
mod record;
mod row_version;
mod version;
mod versioned;

pub use changes::{Changes, Guard, NoGuard, Uncached, uncached};
pub use record::{Load, Record, State};
pub use row_version::{Row, RowKey, RowVersion};
pub use version::VersionValue;
pub use versioned::{NoChanges, Nothing, SoftDelete, Versioned};

pub(crate) use row_version::Aim;
