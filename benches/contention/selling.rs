//! What every worker does, however it sells: piece by piece, until it is sold out or the time is up.

use crate::product::Product;
use diesel_occ::{Conflict, Error, Observer};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// What a worker has to say in the end.
#[derive(Debug, Clone, Copy, Default)]
pub struct Tally {
    pub accepted: u64,
    pub conflicts: u64,
    /// Sales that ended in an error, and were begun again.
    pub exhausted: u64,
    /// From the start to the last sale.
    pub time: Duration,
}

pub enum Sale {
    Accepted,
    SoldOut,
    Conflict,
    GaveUp,
}

pub fn sell_all(time: Duration, mut sell: impl FnMut() -> Sale) -> Tally {
    let mut tally = Tally::default();
    let started = Instant::now();
    while started.elapsed() < time {
        match sell() {
            Sale::Accepted => {
                tally.accepted += 1;
                tally.time = started.elapsed();
            }
            Sale::SoldOut => break,
            Sale::Conflict => tally.conflicts += 1,
            Sale::GaveUp => tally.exhausted += 1,
        }
    }
    tally
}

#[derive(Clone, Default)]
pub struct Conflicts(Arc<AtomicU64>);

impl Conflicts {
    pub fn seen(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Observer for Conflicts {
    fn conflict(&self, _: &Conflict) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

pub enum Refused {
    SoldOut,
    GaveUp,
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        match error {
            Error::GuardFailed(_) => Refused::SoldOut,
            _ => Refused::GaveUp,
        }
    }
}

pub fn take_one(product: &mut Product) -> Result<(), Refused> {
    if product.stock == 0 {
        return Err(Refused::SoldOut);
    }
    product.stock -= 1;
    Ok(())
}
