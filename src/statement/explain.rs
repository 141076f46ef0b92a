//! After a write that hit no row: what the look at the row says about it.

use crate::error::{
    Conflict, ConflictKind, Error, GuardFailed, NotFound, Result, Suppressed, TooManyRows,
    VersionOverflow,
};
use crate::model::{RowVersion, State, VersionValue, Versioned};

/// A write that was refused: what it was aimed at.
pub(crate) struct Refusal<'a, V> {
    pub(crate) table: &'static str,
    pub(crate) key: String,
    /// The version that the writer had read; `None` when the write did not check it.
    pub(crate) expected: Option<&'a V>,
}

impl<V: VersionValue> Refusal<'_, V> {
    /// The cause, by the rows that have the key now. `None` when nothing stands in the way of the write, so that only the
    /// database itself can have kept it from the row.
    ///
    /// Another version wins over a guard that fails: who has read an old row is to look again before anything else.
    pub(crate) fn cause(&self, rows: &[(V, State)]) -> Option<Error> {
        let (table, key) = (self.table, self.key.clone());
        let (version, state) = match rows {
            [] => return Some(self.gone(None)),
            [row] => row,
            _ => {
                return Some(Error::TooManyRows(TooManyRows {
                    table,
                    key,
                    rows: rows.len(),
                    written: false,
                }));
            }
        };
        if *state == State::SoftDeleted {
            return Some(self.gone(Some(version)));
        }
        match self.expected {
            Some(expected) if expected != version => {
                return Some(self.conflict(ConflictKind::Modified, expected, Some(version)));
            }
            None if version.next().is_none() => return Some(overflow(table, key, version)),
            _ => {}
        }
        (*state == State::GuardFails).then(|| {
            Error::GuardFailed(GuardFailed {
                table,
                key,
                version: shown(version),
            })
        })
    }

    /// The cause where [`cause`](Refusal::cause) knows none.
    pub(crate) fn suppressed(&self, rows: &[(V, State)]) -> Error {
        let version = rows
            .first()
            .map(|(version, _)| shown(version))
            .unwrap_or_default();
        Error::Suppressed(Suppressed {
            table: self.table,
            key: self.key.clone(),
            version,
        })
    }

    /// Who has seen a version has seen the row, so it was deleted; who has not may never have had one.
    fn gone(&self, marked: Option<&V>) -> Error {
        match self.expected {
            Some(expected) => self.conflict(ConflictKind::Deleted, expected, marked),
            None => Error::NotFound(NotFound {
                table: self.table,
                key: self.key.clone(),
            }),
        }
    }

    fn conflict(&self, kind: ConflictKind, expected: &V, actual: Option<&V>) -> Error {
        Error::Conflict(Conflict {
            table: self.table,
            key: self.key.clone(),
            expected: shown(expected),
            actual: actual.map(shown),
            kind,
        })
    }
}

/// The version as a person reads it.
fn shown<V: VersionValue>(version: &V) -> String {
    let text = format!("{version:?}");
    match text
        .strip_prefix("Some(")
        .and_then(|text| text.strip_suffix(')'))
    {
        Some(number) => number.to_owned(),
        None => text,
    }
}

pub(crate) fn too_many(table: &'static str, key: String, rows: usize) -> Error {
    Error::TooManyRows(TooManyRows {
        table,
        key,
        rows,
        written: true,
    })
}

fn overflow<V: VersionValue>(table: &'static str, key: String, version: &V) -> Error {
    Error::VersionOverflow(VersionOverflow {
        table,
        key,
        version: shown(version),
    })
}

/// The row after one write. An error before any SQL when its version has no successor.
pub(crate) fn next_version<M: Versioned>(row: &RowVersion<M>) -> Result<RowVersion<M>> {
    match row.version.next() {
        Some(version) => Ok(M::at(row.key.clone(), version)),
        None => Err(overflow(M::TABLE, format!("{:?}", row.key), &row.version)),
    }
}

impl<'a, V: VersionValue> Refusal<'a, V> {
    pub(crate) fn of<M: Versioned<Version = V>>(key: &M::Key, expected: Option<&'a V>) -> Self {
        Refusal {
            table: M::TABLE,
            key: format!("{key:?}"),
            expected,
        }
    }

    /// The successor of the expected version of a write that is given by its query.
    pub(super) fn next(&self, expected: &V) -> Result<V> {
        expected
            .next()
            .ok_or_else(|| overflow(self.table, self.key.clone(), expected))
    }
}
