//! Who owns BEGIN and COMMIT: a transaction that cannot lie about its end, and the policy that runs it again.

mod attempt;
mod boundary;
mod ceiling;
mod copy;
mod locks;
mod observer;
mod options;
mod retry;
mod run;
mod seen;
mod timer;
mod turn;
mod tx;
mod tx_connection;

pub use observer::{HeldLock, Observer, RetryEvent};
pub use options::{Policy, TxOptions};
pub use retry::Retry;
pub use timer::Timer;
pub use tx::Tx;

#[cfg(feature = "r2d2")]
mod pool;
#[cfg(feature = "r2d2")]
pub use pool::retry_on;

pub(crate) use attempt::attempt;
pub(crate) use run::{Next, Run};
pub(crate) use seen::Seen;
pub(crate) use turn::Turns;
