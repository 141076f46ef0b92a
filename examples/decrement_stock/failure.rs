//! How a run ends when it does not end well: what is said, and the exit code.

use std::fmt;

/// The ways to end, but for success; each has its exit code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// A checked mode did what it must never do.
    Lost(String),
    /// The caller asked for something that cannot be done. No database was opened, or it was left as it was.
    BadInput(String),
    /// The mode that shows the lost update did not lose any.
    NothingShown(String),
    /// The run could not be finished: a database error, a worker that died.
    Broken(String),
}

impl Failure {
    pub fn bad_input(message: impl fmt::Display) -> Self {
        Failure::BadInput(message.to_string())
    }

    /// With what lies behind an error, which its own text leaves to `source()`.
    pub fn broken(what: impl fmt::Display, error: &dyn std::error::Error) -> Self {
        Failure::Broken(format!("{what}: {}", chain(error)))
    }

    pub fn exit_code(&self) -> u8 {
        match self {
            Failure::Lost(_) => 1,
            Failure::BadInput(_) => 2,
            Failure::NothingShown(_) => 3,
            Failure::Broken(_) => 4,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Lost(message)
            | Failure::BadInput(message)
            | Failure::NothingShown(message)
            | Failure::Broken(message) => f.write_str(message),
        }
    }
}

/// An error and everything behind it, each thing said once.
pub fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(source) = next {
        let more = source.to_string();
        if !text.ends_with(&more) {
            text = format!("{text}: {more}");
        }
        next = source.source();
    }
    text
}
