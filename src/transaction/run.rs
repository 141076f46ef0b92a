//! One run of a policy: the loop of every retry asks it what comes next.

use super::observer::{HeldLock, RetryEvent, anybody, tell};
use super::options::Policy;
use super::retry::Retry;
use super::seen::Seen;
use super::timer::{Timer, jittered};
use crate::backend::{Begin, Lock};
use crate::error::{Error, LockTimeout, RetriesExhausted};
use crate::fault::Fault;
use std::time::{Duration, Instant};

/// The longest wait before the next try for SQLite's write lock, by the number of tries so far. Its own busy handler sleeps
/// ever longer, so that of eight writers the first ones starve; here who has waited long looks more often than who comes
/// new. Who has waited very long stands in a long queue, in which every look costs the others time.
fn longest_wait(tries: u32) -> Duration {
    Duration::from_micros(match tries {
        0..4 => 2_000,
        4..8 => 1_000,
        8..16 => 500,
        16..64 => 250,
        64..256 => 500,
        256..1_024 => 1_000,
        _ => 5_000,
    })
}

pub(crate) struct Run<'r> {
    retry: &'r Retry,
    begin: Begin,
    /// How long each attempt waits for the lock that BEGIN takes, where less than the policy's time.
    patience: Option<Duration>,
    attempts: u32,
    started: Instant,
    ceilings: Option<Box<dyn Iterator<Item = Duration> + 'r>>,
}

/// What follows an attempt that failed.
#[derive(Debug)]
pub(crate) enum Next {
    /// Wait so long, then run the work again.
    Again(Duration),
    /// The failure stands as it is.
    Stop,
    /// The policy has no patience left.
    Exhausted(Error),
}

impl<'r> Run<'r> {
    pub(crate) fn new(policy: &'r impl Policy) -> Self {
        let retry = policy.retries();
        Run {
            retry,
            begin: policy.begins(),
            patience: None,
            attempts: 0,
            started: retry.clock().now(),
            ceilings: None,
        }
    }

    /// The same for work that sends no statement of the user's, and may take a lock.
    pub(crate) fn of_one_row(retry: &'r Retry, lock: Option<Lock>) -> Self {
        Run {
            begin: Begin::unguarded(),
            patience: lock.and_then(Lock::limit),
            ..Run::new(retry)
        }
    }

    /// What is asked of the transaction.
    pub(super) fn begin(&self) -> Begin {
        self.begin
    }

    /// Decides after a failed attempt, by what was seen in it, and tells the observers.
    pub(crate) fn next(&mut self, seen: &Seen, retryable: impl Fn(Fault) -> bool) -> Next {
        self.attempts += 1;
        let observer = self.retry.watcher();
        if let Some(conflict) = &seen.conflict {
            tell(observer, |observer| observer.conflict(conflict));
        }
        let (limit, _) = self.retry.limits();
        let fault = match seen.fault {
            Some(fault) if retryable(fault) && limit > 1 => fault,
            _ => return Next::Stop,
        };
        let ceilings = self
            .ceilings
            .get_or_insert_with(|| Box::new(self.retry.ceilings()));
        let delay = ceilings
            .next()
            .map(|ceiling| jittered(self.retry.clock(), ceiling));
        match delay {
            Some(delay) if self.attempts < limit && self.remains(delay) => {
                let event = RetryEvent {
                    attempts: self.attempts,
                    fault,
                    delay,
                };
                tell(observer, |observer| observer.retry(&event));
                Next::Again(delay)
            }
            _ => {
                let (attempts, elapsed) = (self.attempts, self.elapsed());
                let exhausted = RetriesExhausted {
                    attempts,
                    elapsed,
                    last: fault,
                    conflict: seen.conflict.clone().map(Box::new),
                };
                tell(observer, |observer| observer.exhausted(&exhausted));
                Next::Exhausted(Error::RetriesExhausted(exhausted))
            }
        }
    }

    pub(crate) fn sleep(&self, delay: Duration) {
        self.retry.clock().sleep(delay);
    }

    /// Waits a short time after so many tries for a lock; false when the policy's time is up.
    pub(crate) fn wait_after(&self, tries: u32) -> bool {
        let delay = jittered(self.retry.clock(), longest_wait(tries));
        let remains = self.remains(delay);
        if remains {
            self.sleep(delay);
        }
        remains
    }

    /// The same for the lock that BEGIN takes, which was asked for at this time.
    pub(super) fn wait_to_begin(&self, tries: u32, asked: Instant) -> bool {
        let Some(patience) = self.patience else {
            return self.wait_after(tries);
        };
        let left = patience.saturating_sub(self.clock().now().saturating_duration_since(asked));
        let delay = jittered(self.clock(), longest_wait(tries)).min(left);
        let remains = !left.is_zero() && self.remains(delay);
        if remains {
            self.sleep(delay);
        }
        remains
    }

    pub(crate) fn lock_timeout(&self, what: &str) -> Error {
        self.lock_timeout_since(what, self.started)
    }

    pub(super) fn lock_timeout_since(&self, what: &str, asked: Instant) -> Error {
        Error::LockTimeout(LockTimeout {
            what: what.to_owned(),
            waited: self.clock().now().saturating_duration_since(asked),
        })
    }

    /// What is left of the policy's time; `None` when it is not limited.
    #[cfg(feature = "r2d2")]
    pub(crate) fn left(&self) -> Option<Duration> {
        self.retry
            .limits()
            .1
            .map(|deadline| deadline.saturating_sub(self.elapsed()))
    }

    fn remains(&self, delay: Duration) -> bool {
        self.retry
            .limits()
            .1
            .is_none_or(|deadline| self.elapsed() + delay <= deadline)
    }

    fn elapsed(&self) -> Duration {
        self.clock().now().saturating_duration_since(self.started)
    }

    pub(super) fn clock(&self) -> &'r dyn Timer {
        self.retry.clock()
    }

    /// Tells the observers which locks a transaction has given back.
    pub(super) fn tell_released(&self, locks: &[HeldLock]) {
        let observer = self.retry.watcher();
        for lock in locks {
            tell(observer, |observer| observer.lock_released(lock));
        }
    }

    /// Whether anybody is told.
    pub(super) fn is_observed(&self) -> bool {
        anybody(self.retry.watcher())
    }
}
