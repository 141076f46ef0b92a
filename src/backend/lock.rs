//! Which lock a read takes on its rows, and how long it waits for it. How that is said is for each server's own file.

use std::borrow::Cow;
use std::time::Duration;

/// No wait for a lock is longer: the settings of the servers end soon after.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// A lock on rows that are read: how strong, and what happens where somebody else holds one of them. Taken by
/// [`fetch_locked`](crate::VersionedConnection::fetch_locked), [`lock_rows`](crate::LockRows::lock_rows) and
/// [`Mode::pessimistic_with`](crate::Mode::pessimistic_with); the end of the transaction gives it back.
///
/// ```
/// use diesel_occ::Lock;
/// use std::time::Duration;
///
/// let wait_as_long_as_the_server_does = Lock::for_update();
/// let answer_at_once = Lock::for_update().no_wait();
/// let half_a_second = Lock::for_no_key_update().within(Duration::from_millis(500));
/// # let _ = (wait_as_long_as_the_server_does, answer_at_once, half_a_second);
/// ```
///
/// What a server has not is [`Error::Unsupported`](crate::Error::Unsupported), before any SQL, and never a stronger lock:
///
/// | | PostgreSQL | MySQL, MariaDB | SQLite |
/// |---|---|---|---|
/// | `for_update` | `FOR UPDATE` | `FOR UPDATE` | the write lock of the database, by `BEGIN IMMEDIATE` |
/// | `for_no_key_update` | `FOR NO KEY UPDATE` | | |
/// | `for_share` | `FOR SHARE` | `LOCK IN SHARE MODE` (MySQL: `FOR SHARE`) | |
/// | `for_key_share` | `FOR KEY SHARE` | | |
///
/// Without one of the three that follow it waits as long as the server is set to: `lock_timeout` on PostgreSQL, by default
/// for ever, `innodb_lock_wait_timeout` on MySQL and MariaDB, by default 50 s. On SQLite BEGIN has waited.
///
/// Sources: <https://www.postgresql.org/docs/current/explicit-locking.html#LOCKING-ROWS>,
/// <https://mariadb.com/kb/en/lock-in-share-mode/>, <https://dev.mysql.com/doc/refman/8.4/en/innodb-locking-reads.html>,
/// <https://www.sqlite.org/lang_transaction.html>.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[must_use = "a lock is taken by what it is given to"]
pub struct Lock {
    pub(crate) strength: Strength,
    pub(crate) wait: Wait,
}

/// Whom a lock keeps away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Strength {
    /// Those whom an UPDATE by this server would keep away.
    Write,
    Update,
    NoKeyUpdate,
    Share,
    KeyShare,
}

/// What happens where somebody else holds a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Wait {
    AsTheServerDoes,
    No,
    Skip,
    Within(Duration),
}

impl Lock {
    const fn new(strength: Strength) -> Self {
        let wait = Wait::AsTheServerDoes;
        Lock { strength, wait }
    }

    /// Keeps away everybody else who wants to lock, change or delete the row.
    pub const fn for_update() -> Self {
        Lock::new(Strength::Update)
    }

    /// The same, but lets others insert rows that refer to this one: what an UPDATE takes that leaves the key alone.
    pub const fn for_no_key_update() -> Self {
        Lock::new(Strength::NoKeyUpdate)
    }

    /// Keeps writers away, and lets others share the row. Two who share it and then both write wait for each other: the
    /// server ends one of them with a deadlock.
    pub const fn for_share() -> Self {
        Lock::new(Strength::Share)
    }

    /// Keeps away only who would delete the row or change its key.
    pub const fn for_key_share() -> Self {
        Lock::new(Strength::KeyShare)
    }

    /// What an UPDATE takes on this server: `FOR NO KEY UPDATE`, `FOR UPDATE`, or what BEGIN has taken.
    pub(crate) const fn of_a_write() -> Self {
        Lock::new(Strength::Write)
    }

    /// Does not wait: [`Error::LockUnavailable`](crate::Error::LockUnavailable) at once where somebody else holds a row. The
    /// transaction can go on.
    pub const fn no_wait(self) -> Self {
        let wait = Wait::No;
        Lock { wait, ..self }
    }

    /// Leaves out the rows that somebody else holds, as a queue of jobs wants it. For one row it is
    /// [`no_wait`](Lock::no_wait).
    pub const fn skip_locked(self) -> Self {
        let wait = Wait::Skip;
        Lock { wait, ..self }
    }

    /// Waits so long at most, then [`Error::LockTimeout`](crate::Error::LockTimeout). The transaction can go on, and the
    /// server's own limits are afterwards what they were. At most a day; zero is one try.
    ///
    /// The time is that of the whole statement, its own work included.
    pub const fn within(self, limit: Duration) -> Self {
        let wait = Wait::Within(limit);
        Lock { wait, ..self }
    }

    /// How long it waits, where it says so.
    pub(crate) fn limit(self) -> Option<Duration> {
        match self.wait {
            Wait::AsTheServerDoes => None,
            Wait::No | Wait::Skip => Some(Duration::ZERO),
            Wait::Within(limit) => Some(limit.min(LONGEST)),
        }
    }
}

/// What makes a SELECT a locking one.
#[doc(hidden)]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockClause {
    /// What stands in front of the SELECT.
    pub(crate) before: Cow<'static, str>,
    pub(crate) strength: &'static str,
    pub(crate) wait: Cow<'static, str>,
    pub(crate) kept: Kept,
}

/// How a locking statement is kept prepared.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    Not,
    /// Under its text.
    ByText,
    /// By the model alone, for the plain lock of a write.
    AsWrite,
    /// The same for `FOR UPDATE`.
    AsUpdate,
}

impl LockClause {
    /// What stands behind the SELECT, and nothing else.
    pub(crate) const fn behind(strength: &'static str, wait: &'static str) -> Self {
        LockClause {
            before: Cow::Borrowed(""),
            strength,
            wait: Cow::Borrowed(wait),
            kept: Kept::ByText,
        }
    }
}

/// The SQL for a lock, or what the server has not.
pub(crate) type LockSql = fn(Strength, Wait) -> Result<LockClause, &'static str>;

/// What limits the next statement of a transaction, and what takes the limit back.
#[doc(hidden)]
#[derive(Debug)]
pub struct Limit {
    pub(crate) set: String,
    pub(crate) restore: String,
}
