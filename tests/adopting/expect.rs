//! What a refused write has to say.

use diesel::prelude::*;
use diesel_occ::{ConflictKind, Error};

pub const MUST_MOVE: &str = "products: an UPDATE must set version = version + 1";

/// Asserts a lost race: which version was expected, and which was found.
pub fn assert_modified<T: std::fmt::Debug>(result: Result<T, Error>, expected: &str, actual: &str) {
    match result {
        Err(Error::Conflict(conflict)) => {
            assert_eq!(conflict.kind, ConflictKind::Modified);
            assert_eq!(conflict.expected, expected);
            assert_eq!(conflict.actual.as_deref(), Some(actual));
        }
        other => panic!("a conflict, not {other:?}"),
    }
}

/// Asserts that the database refused a statement with this sentence.
pub fn assert_raised<T: std::fmt::Debug>(result: QueryResult<T>, sentence: &str) {
    match result {
        Err(diesel::result::Error::DatabaseError(_, information)) => {
            assert_eq!(information.message(), sentence);
        }
        other => panic!("{sentence}, not {other:?}"),
    }
}
