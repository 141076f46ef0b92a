//! The exponential ceiling of the delays: it doubles from a base to a cap. The only place that knows the `backoff` crate,
//! which has no maintainer; without the feature an own schedule of the same shape serves.

use std::time::Duration;

/// The ceilings of the delays, one after the other, without end.
#[cfg(feature = "backoff")]
pub(super) fn ceilings(base: Duration, cap: Duration) -> impl Iterator<Item = Duration> {
    doubling_by_backoff(base, cap)
}

/// The ceilings of the delays, one after the other, without end.
#[cfg(not(feature = "backoff"))]
pub(super) fn ceilings(base: Duration, cap: Duration) -> impl Iterator<Item = Duration> {
    doubling(base, cap)
}

/// `backoff` with its own randomness off: it draws from a source that no test can replace, and past its cap. Attempts,
/// deadline and jitter are the caller's.
#[cfg(feature = "backoff")]
fn doubling_by_backoff(base: Duration, cap: Duration) -> impl Iterator<Item = Duration> {
    use backoff::backoff::Backoff;

    let base = base.min(cap);
    let mut backoff = backoff::ExponentialBackoff {
        current_interval: base,
        initial_interval: base,
        randomization_factor: 0.0,
        multiplier: 2.0,
        max_interval: cap,
        max_elapsed_time: None,
        ..backoff::ExponentialBackoff::default()
    };
    std::iter::from_fn(move || backoff.next_backoff()).map(move |delay| delay.min(cap))
}

#[cfg(any(not(feature = "backoff"), test))]
fn doubling(base: Duration, cap: Duration) -> impl Iterator<Item = Duration> {
    std::iter::successors(Some(base.min(cap)), move |delay| {
        Some(delay.saturating_mul(2).min(cap))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn milliseconds(ceilings: impl Iterator<Item = Duration>) -> Vec<u128> {
        ceilings.take(8).map(|delay| delay.as_millis()).collect()
    }

    #[test]
    fn the_ceiling_doubles_from_the_base_to_the_cap() {
        let (base, cap) = (Duration::from_millis(2), Duration::from_millis(50));
        assert_eq!(
            milliseconds(ceilings(base, cap)),
            [2, 4, 8, 16, 32, 50, 50, 50]
        );
        assert_eq!(
            milliseconds(doubling(base, cap)),
            [2, 4, 8, 16, 32, 50, 50, 50]
        );
    }

    #[test]
    fn both_schedules_are_the_same() {
        for (base, cap) in [
            (0, 0),
            (0, 7),
            (1, 1),
            (3, 1_000),
            (900, 10),
            (86_400_000, 86_400_000),
        ] {
            let (base, cap) = (Duration::from_millis(base), Duration::from_millis(cap));
            assert_eq!(
                milliseconds(ceilings(base, cap)),
                milliseconds(doubling(base, cap)),
                "{base:?} {cap:?}"
            );
        }
    }
}
