//! Everything a retry takes from outside: the clock, the sleep and the random source.

use std::time::{Duration, Instant};

/// What a retry needs of the world around it, in one object, so that a test can replace all three. The defaults are the
/// real ones.
///
/// ```
/// use diesel_occ::Timer;
/// use std::sync::Mutex;
/// use std::time::{Duration, Instant};
///
/// /// A clock that only sleeping moves.
/// struct Fake(Mutex<Instant>);
///
/// impl Timer for Fake {
///     fn now(&self) -> Instant {
///         *self.0.lock().unwrap()
///     }
///     fn sleep(&self, time: Duration) {
///         *self.0.lock().unwrap() += time;
///     }
///     fn random(&self) -> f64 {
///         0.5
///     }
/// }
///
/// let timer = Fake(Mutex::new(Instant::now()));
/// let before = timer.now();
/// timer.sleep(Duration::from_secs(3));
/// assert_eq!(timer.now() - before, Duration::from_secs(3));
/// ```
pub trait Timer: Send + Sync {
    /// The time, on a clock that never goes back.
    fn now(&self) -> Instant {
        Instant::now()
    }

    /// Waits. No connection of a pool is held meanwhile by [`retry_on`](crate::retry_on).
    fn sleep(&self, time: Duration) {
        std::thread::sleep(time);
    }

    /// A number from 0 to 1, drawn uniformly. One outside counts as the nearest of the two.
    fn random(&self) -> f64 {
        fastrand::f64()
    }
}

/// The real clock, sleep and random source.
#[derive(Debug)]
pub(super) struct RealTimer;

impl Timer for RealTimer {}

/// A wait drawn uniformly from nothing to `longest`: full jitter, so that those who collided once do not meet again.
pub(super) fn jittered(timer: &dyn Timer, longest: Duration) -> Duration {
    let share = timer.random();
    // A NaN would make `mul_f64` panic.
    let share = if share.is_nan() {
        1.0
    } else {
        share.clamp(0.0, 1.0)
    };
    longest.mul_f64(share)
}
