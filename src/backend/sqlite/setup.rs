//! The settings that an SQLite connection needs before it meets other writers.

use crate::backend::{Driver, depth};
use crate::error::{Error, Result, Unsupported};
use crate::fault::{self, Fault};
use std::time::{Duration, Instant};

/// The settings of an SQLite connection: how long it waits for another writer, the journal, how durable a COMMIT is, and
/// whether foreign keys hold. SQLite forgets all but the journal when the connection closes, so apply it to each one, or
/// give it to the pool.
///
/// ```
/// use diesel::prelude::*;
/// use diesel_occ::sqlite::Setup;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let file = folder.path().join("shop.db");
/// # let file = file.to_str().ok_or("path")?;
/// let mut conn = SqliteConnection::establish(file)?;
/// Setup::default().apply(&mut conn)?;
/// # #[cfg(feature = "r2d2")] {
/// use diesel::r2d2::{ConnectionManager, Pool};
/// let pool = Pool::builder()
///     .connection_customizer(Box::new(Setup::default()))
///     .build(ConnectionManager::<SqliteConnection>::new(file))?;
/// # let _ = pool;
/// # }
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setup {
    busy_timeout: Duration,
    journal: Journal,
    synchronous: Synchronous,
    foreign_keys: bool,
}

/// Where SQLite writes a transaction before it is committed (`PRAGMA journal_mode`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Journal {
    /// Readers never wait for the writer, nor the writer for readers. A property of the file. A database in memory keeps
    /// its own mode, and says nothing.
    Wal,
    /// A rollback journal: a reader makes COMMIT wait.
    Delete,
}

/// How far a COMMIT gets before it answers (`PRAGMA synchronous`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Synchronous {
    /// On the disk: a power cut loses nothing that was committed.
    Full,
    /// With [`Journal::Wal`], a power cut may lose the last commits, but never corrupts the file. Much faster.
    Normal,
}

impl Default for Setup {
    fn default() -> Self {
        Setup {
            busy_timeout: Duration::from_secs(5),
            journal: Journal::Wal,
            synchronous: Synchronous::Full,
            foreign_keys: true,
        }
    }
}

impl Setup {
    /// How long a statement outside `transact` waits for another writer. Whole milliseconds; longer than 24 days counts as
    /// that. Default: 5 s.
    pub fn busy_timeout(self, busy_timeout: Duration) -> Self {
        Setup {
            busy_timeout,
            ..self
        }
    }

    /// The journal. Default: [`Journal::Wal`].
    pub fn journal(self, journal: Journal) -> Self {
        Setup { journal, ..self }
    }

    /// How durable a COMMIT is. Default: [`Synchronous::Full`].
    pub fn synchronous(self, synchronous: Synchronous) -> Self {
        Setup {
            synchronous,
            ..self
        }
    }

    /// Whether foreign keys hold. Default: yes, other than SQLite's own.
    pub fn foreign_keys(self, foreign_keys: bool) -> Self {
        Setup {
            foreign_keys,
            ..self
        }
    }

    /// Applies the settings, in one batch of statements.
    ///
    /// Changing the journal needs the file for itself: while another connection keeps it busy this tries again, for as long
    /// as the busy timeout says.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] on another server, before any SQL. [`Error::Database`] inside a transaction, where SQLite would
    /// ignore half of them, and when the file cannot be written.
    pub fn apply<C: Driver>(&self, conn: &mut C) -> Result<()> {
        let server = conn.server();
        if server.name != super::SQLITE.name {
            return Err(Error::Unsupported(Unsupported {
                server: server.name,
                what: "PRAGMA settings of SQLite",
            }));
        }
        if depth(conn)? > 0 {
            return Err(diesel::result::Error::AlreadyInTransaction.into());
        }
        let settings = self.sql();
        let started = Instant::now();
        loop {
            match conn.batch_execute(&settings) {
                // SQLite does not ask the busy handler while the journal changes.
                Err(error)
                    if fault::classify(server.faults, &error).fault == Fault::Busy
                        && started.elapsed() < self.busy_timeout =>
                {
                    std::thread::sleep(Duration::from_micros(fastrand::u64(..2_000)));
                }
                answer => return Ok(answer?),
            }
        }
    }

    fn sql(&self) -> String {
        let milliseconds = i32::try_from(self.busy_timeout.as_millis()).unwrap_or(i32::MAX);
        let journal = match self.journal {
            Journal::Wal => "WAL",
            Journal::Delete => "DELETE",
        };
        let synchronous = match self.synchronous {
            Synchronous::Full => "FULL",
            Synchronous::Normal => "NORMAL",
        };
        let foreign_keys = if self.foreign_keys { "ON" } else { "OFF" };
        format!(
            "PRAGMA busy_timeout = {milliseconds}; PRAGMA journal_mode = {journal}; \
             PRAGMA synchronous = {synchronous}; PRAGMA foreign_keys = {foreign_keys}"
        )
    }
}

/// Each new connection of a pool is set up; one that is not SQLite, in a pool of a `MultiConnection`, is left as it is.
#[cfg(feature = "r2d2")]
impl<C> diesel::r2d2::CustomizeConnection<C, diesel::r2d2::Error> for Setup
where
    C: Driver + diesel::r2d2::R2D2Connection + 'static,
{
    fn on_acquire(&self, conn: &mut C) -> Result<(), diesel::r2d2::Error> {
        match self.apply(conn) {
            Ok(()) | Err(Error::Unsupported(_)) => Ok(()),
            Err(Error::Database(error)) => Err(diesel::r2d2::Error::QueryError(error)),
            Err(other) => Err(diesel::r2d2::Error::QueryError(
                diesel::result::Error::QueryBuilderError(Box::new(other)),
            )),
        }
    }
}
