//! The small types of the operations: how `modify` protects itself, what its closure returns, what a delete found.

use crate::backend::Lock;
use crate::error::{Error, Result};
use crate::transaction::Retry;

/// How [`modify`](crate::VersionedConnection::modify) protects a row between reading and writing it: a value, chosen for
/// each call.
///
/// ```
/// use diesel_occ::{Mode, Retry};
///
/// let mode = Mode::optimistic().retry(Retry::default().attempts(5));
/// # let _ = mode;
/// ```
#[derive(Debug, Clone)]
pub struct Mode {
    pub(super) retry: Retry,
    /// Taken before the row is read.
    pub(super) lock: Option<Lock>,
}

impl Mode {
    /// Takes no lock, and finds out by the version when writing. Runs again after a lost race, as [`Retry::default`] says.
    ///
    /// A call that has lost its row six times in succession would go on losing it to those who come new. On PostgreSQL, MySQL and
    /// MariaDB, outside a transaction, its further runs wait in the server's queue: BEGIN, a locking read, the closure, the
    /// write, COMMIT. A policy of at most six attempts never takes a lock.
    pub fn optimistic() -> Self {
        Mode {
            retry: Retry::default(),
            lock: None,
        }
    }

    /// Reads the row with its lock, so that no other writer gets in between: the others wait. The write checks the version and
    /// moves it all the same, so that whoever has read the row without a lock finds out.
    ///
    /// The lock is the one that an UPDATE takes: `FOR NO KEY UPDATE` on PostgreSQL, which lets rows be inserted that refer to
    /// this one; `FOR UPDATE` on MySQL and MariaDB; on SQLite the write lock of the database. It waits as long as the server
    /// is set to, on SQLite as long as the policy says. After a deadlock or the server's lock timeout it runs again.
    pub fn pessimistic() -> Self {
        Mode::pessimistic_with(Lock::of_a_write())
    }

    /// The same with another lock, or another patience: `Mode::pessimistic_with(Lock::for_update().no_wait())`. On SQLite
    /// [`within`](Lock::within) and [`no_wait`](Lock::no_wait) say how long BEGIN waits. A lock that the caller did not want
    /// to wait for, or not so long, is not asked for again.
    pub fn pessimistic_with(lock: Lock) -> Self {
        Mode {
            retry: Retry::default(),
            lock: Some(lock),
        }
    }

    /// Runs again as this policy says.
    pub fn retry(self, retry: Retry) -> Self {
        Mode { retry, ..self }
    }
}

/// What a closure given to [`modify`](crate::VersionedConnection::modify) may return: nothing, or a `Result<(), E>`.
#[diagnostic::on_unimplemented(
    message = "a closure given to `modify` returns nothing or a `Result<(), E>` with `E: From<diesel_occ::Error>`, not `{Self}`",
    label = "this closure returns `{Self}`",
    note = "end it with a semicolon; what else it has to say goes into a variable that it captures"
)]
pub trait Edit {
    /// The error of the closure, and so of `modify`.
    type Error: From<Error>;

    #[doc(hidden)]
    fn done(self) -> Result<(), Self::Error>;
}

impl Edit for () {
    type Error = Error;

    fn done(self) -> Result<()> {
        Ok(())
    }
}

impl<E: From<Error>> Edit for Result<(), E> {
    type Error = E;

    fn done(self) -> Result<(), E> {
        self
    }
}

/// What a delete found that may find nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "whether the row was there"]
pub enum Removal {
    /// The row, and it is deleted now.
    Deleted,
    /// No row: somebody else was first, or it never was there.
    AlreadyGone,
}
