//! A row by its key, alone or together with the version that somebody has read.

use super::Versioned;
use std::fmt;
use std::marker::PhantomData;

/// The whole row, as opposed to a group of its fields that has a version of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row;

/// "This row, at this version": what a writer has read, and what a checked write is held against.
///
/// Made from a model (`(&product).into()`), by [`Versioned::at`] from what a client sent back, or by a checked write, which
/// answers the row at its new version. `G` is the group of fields that the version counts: [`Row`], all of them.
pub struct RowVersion<M: Versioned, G = Row> {
    /// The primary key.
    pub key: M::Key,
    /// The version that was read.
    pub version: M::Version,
    group: PhantomData<fn() -> G>,
}

impl<M: Versioned, G> RowVersion<M, G> {
    pub(crate) fn new(key: M::Key, version: M::Version) -> Self {
        RowVersion {
            key,
            version,
            group: PhantomData,
        }
    }
}

impl<M: Versioned, G> Clone for RowVersion<M, G> {
    fn clone(&self) -> Self {
        RowVersion::new(self.key.clone(), self.version.clone())
    }
}

impl<M: Versioned, G> PartialEq for RowVersion<M, G> {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key && self.version == other.version
    }
}

impl<M: Versioned, G> fmt::Debug for RowVersion<M, G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} {:?} at version {:?}",
            M::TABLE,
            self.key,
            self.version
        )
    }
}

impl<M: Versioned> From<&M> for RowVersion<M> {
    fn from(model: &M) -> Self {
        model.row_version()
    }
}

impl<M: Versioned> From<&mut M> for RowVersion<M> {
    fn from(model: &mut M) -> Self {
        model.row_version()
    }
}

impl<M: Versioned, G> From<&RowVersion<M, G>> for RowVersion<M, G> {
    fn from(row: &RowVersion<M, G>) -> Self {
        row.clone()
    }
}

/// A row by its primary key alone, for writes whose check is not the version: see [`Versioned::key`].
pub struct RowKey<M: Versioned>(pub(crate) M::Key);

impl<M: Versioned> Clone for RowKey<M> {
    fn clone(&self) -> Self {
        RowKey(self.0.clone())
    }
}

impl<M: Versioned> PartialEq for RowKey<M> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl<M: Versioned> fmt::Debug for RowKey<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}", M::TABLE, self.0)
    }
}

/// Which row a statement is to hit, and at which version if that is checked.
#[doc(hidden)]
#[derive(Debug)]
pub struct Aim<'a, M: Versioned> {
    pub(crate) key: &'a M::Key,
    pub(crate) version: Option<&'a M::Version>,
    /// Whether the statement itself makes sure that the key leads to one row: needed where no transaction could take the
    /// write back.
    pub(crate) alone: bool,
    /// Whether the changes are to mark the row as deleted.
    pub(crate) marks: bool,
}

impl<M: Versioned> Clone for Aim<'_, M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M: Versioned> Copy for Aim<'_, M> {}

#[cfg(feature = "serde")]
mod serialized {
    use super::{RowVersion, Versioned};
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    #[serde(rename = "RowVersion")]
    struct Fields<K, V> {
        key: K,
        version: V,
    }

    impl<M: Versioned, G> Serialize for RowVersion<M, G>
    where
        M::Key: Serialize,
        M::Version: Serialize,
    {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            Fields {
                key: &self.key,
                version: &self.version,
            }
            .serialize(serializer)
        }
    }

    impl<'de, M: Versioned, G> Deserialize<'de> for RowVersion<M, G>
    where
        M::Key: Deserialize<'de>,
        M::Version: Deserialize<'de>,
    {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            let fields = Fields::<M::Key, M::Version>::deserialize(deserializer)?;
            Ok(RowVersion::new(fields.key, fields.version))
        }
    }
}
