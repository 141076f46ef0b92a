//! How a transaction begins, as each server writes it.

use std::borrow::Cow;
use std::fmt;

/// What one transaction may see of the others. The names are those of the SQL standard; what each means is the server's:
/// <https://www.postgresql.org/docs/current/transaction-iso.html>,
/// <https://mariadb.com/kb/en/set-transaction/>, <https://www.sqlite.org/isolation.html>.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum IsolationLevel {
    /// Reads may see what others have not committed. PostgreSQL takes it for `ReadCommitted`.
    ReadUncommitted,
    /// Each statement reads what is committed when it begins.
    ReadCommitted,
    /// Every statement reads what was committed when the transaction first read.
    RepeatableRead,
    /// As if the transactions ran one after the other. What cannot be ordered so is refused: run it again.
    Serializable,
}

impl IsolationLevel {
    pub(super) fn sql(self) -> &'static str {
        match self {
            IsolationLevel::ReadUncommitted => "READ UNCOMMITTED",
            IsolationLevel::ReadCommitted => "READ COMMITTED",
            IsolationLevel::RepeatableRead => "REPEATABLE READ",
            IsolationLevel::Serializable => "SERIALIZABLE",
        }
    }
}

#[cfg(any(feature = "postgres", feature = "mysql"))]
impl IsolationLevel {
    /// As the servers write it in their settings: `read committed`, `READ-COMMITTED`.
    pub(super) fn named(name: &str) -> Option<Self> {
        let name = name.to_ascii_uppercase().replace('-', " ");
        [
            IsolationLevel::ReadUncommitted,
            IsolationLevel::ReadCommitted,
            IsolationLevel::RepeatableRead,
            IsolationLevel::Serializable,
        ]
        .into_iter()
        .find(|level| level.sql() == name)
    }
}

impl fmt::Display for IsolationLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.sql())
    }
}

/// What is asked of a transaction at its beginning; by default nothing but that it begins.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Begin {
    pub(crate) isolation: Option<IsolationLevel>,
    pub(crate) read_only: bool,
    pub(crate) deferrable: bool,
    /// Whether the guard savepoint comes behind it.
    pub(crate) guarded: bool,
}

impl Default for Begin {
    fn default() -> Self {
        Begin {
            isolation: None,
            read_only: false,
            deferrable: false,
            guarded: true,
        }
    }
}

impl Begin {
    /// A transaction in which no statement of the user's runs.
    pub(crate) fn unguarded() -> Self {
        Begin {
            guarded: false,
            ..Begin::default()
        }
    }
}

/// How the statements around a transaction go to the server together.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bundle {
    /// As text with semicolons.
    Batch,
    /// As one compound statement, which MariaDB keeps prepared.
    Compound,
}

/// The SQL for what is asked, or what the server has not.
pub(crate) type BeginSql = fn(&Begin) -> Result<Cow<'static, str>, &'static str>;
