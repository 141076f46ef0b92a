//! What a server and a session are set to, and what of it an application should know at its start.

use super::{Driver, IsolationLevel};
use crate::error::Result;
use std::fmt;

/// Looks at the server and the session behind a connection: to be called once, when an application starts.
///
/// A few statements; one more on MySQL and MariaDB writes a temporary table of its own, to see what a same-value update
/// counts. Nothing is left behind.
///
/// # Errors
///
/// [`Error::Database`](crate::Error::Database) when a question is refused.
///
/// ```
/// # use diesel::prelude::*;
/// let mut conn = SqliteConnection::establish(":memory:")?;
/// let checkup = diesel_occ::check(&mut conn)?;
/// assert_eq!(checkup.server, "SQLite");
/// assert!(checkup.returning);
/// for warning in &checkup.warnings {
///     eprintln!("{warning}");
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn check<C: Driver>(conn: &mut C) -> Result<Checkup> {
    Ok(conn.examine()?)
}

/// What [`check`] has found.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Checkup {
    /// The server's name: `SQLite`, `PostgreSQL`, `MariaDB` or `MySQL`.
    pub server: &'static str,
    /// Its version, as it says it.
    pub version: String,
    /// The isolation level of a transaction that asks for none.
    pub isolation: IsolationLevel,
    /// The language of its messages (`lc_messages`). SQLite speaks English only.
    pub language: String,
    /// Whether a row that an UPDATE finds counts although its values stay the same. `None` where it could not be tried.
    pub counts_found_rows: Option<bool>,
    /// Whether SELECT has SKIP LOCKED.
    pub skip_locked: bool,
    /// Whether UPDATE has RETURNING, so that `versioned_update_returning` is one statement.
    pub returning: bool,
    /// Whether a value that does not fit its column is an error.
    pub strict: bool,
    /// What of it may hurt.
    pub warnings: Vec<Warning>,
}

/// A setting under which this crate promises less.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Warning {
    /// PostgreSQL speaks a language other than English or French. A deadlock or a lock timeout is then not known by its
    /// words, and not retried. Set `lc_messages` to `C` for the role or the database.
    Language {
        /// The value of `lc_messages`.
        language: String,
    },
    /// An UPDATE counts the rows that it changed, not those it found: something between here and the server has dropped
    /// the client's `CLIENT_FOUND_ROWS`. Checked writes move the version and are not fooled; other code of the
    /// application may be.
    ChangedRowsCounted,
    /// The session is not in strict mode: a value that does not fit is cut, and the statement succeeds.
    NotStrict,
    /// The session opens a transaction by itself (`autocommit = 0`): what a write outside a transaction of Diesel's stores is gone
    /// unless somebody commits it.
    NoAutocommit,
    /// By default a transaction reads what others have not committed.
    ReadsUncommitted,
    /// Older than what this crate is written for.
    OldServer {
        /// The first version that is fine.
        minimum: &'static str,
    },
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Warning::Language { language } => write!(
                f,
                "messages are in `{language}`: deadlocks and lock timeouts are not recognised, hence not retried"
            ),
            Warning::ChangedRowsCounted => f.write_str(
                "an UPDATE counts changed rows and not found ones (CLIENT_FOUND_ROWS is off)",
            ),
            Warning::NotStrict => {
                f.write_str("the session is not in strict mode: values are cut without an error")
            }
            Warning::NoAutocommit => {
                f.write_str("autocommit is off: a write outside a transaction is not stored")
            }
            Warning::ReadsUncommitted => {
                f.write_str("transactions read what others have not committed")
            }
            Warning::OldServer { minimum } => write!(f, "the server is older than {minimum}"),
        }
    }
}

impl fmt::Display for Checkup {
    /// A line for each finding, warnings last.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let yes = |yes: bool| if yes { "yes" } else { "no" };
        writeln!(f, "server: {} {}", self.server, self.version)?;
        writeln!(f, "isolation: {}", self.isolation)?;
        writeln!(f, "messages: {}", self.language)?;
        writeln!(
            f,
            "counts found rows: {}",
            self.counts_found_rows.map_or("not known", yes)
        )?;
        writeln!(f, "SKIP LOCKED: {}", yes(self.skip_locked))?;
        writeln!(f, "UPDATE .. RETURNING: {}", yes(self.returning))?;
        write!(f, "strict: {}", yes(self.strict))?;
        for warning in &self.warnings {
            write!(f, "\nwarning: {warning}")?;
        }
        Ok(())
    }
}
