//! The workers as threads of this process, each with a connection of its own. The orders lie on one pile, and whoever is
//! free takes the next.

use crate::connection;
use crate::failure::Failure;
use crate::sell::{Sales, Seller, Shift};
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Sells all orders; answers the sales of each worker, and the time from the moment when all of them were ready.
pub fn sell(shift: &Shift<'_>, done: &AtomicUsize) -> Result<(Vec<Sales>, Duration), Failure> {
    let next = AtomicUsize::new(0);
    let ready = Barrier::new(shift.workers + 1);
    let work = || -> Result<Sales, Failure> {
        let seller = connection::open(shift.url).map(|conn| Seller::new(conn, shift.way));
        // Who failed to open comes too, or the others would wait for ever.
        ready.wait();
        let mut seller = seller?;
        while let Some(order) = shift.orders.get(next.fetch_add(1, Ordering::Relaxed)) {
            seller.sell(order).inspect_err(|_| {
                // The run is over: nobody takes another one.
                next.store(shift.orders.len(), Ordering::Relaxed);
            })?;
            done.fetch_add(1, Ordering::Relaxed);
        }
        Ok(seller.sales())
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..shift.workers).map(|_| scope.spawn(work)).collect();
        ready.wait();
        let started = Instant::now();
        let sales: Vec<_> = workers.into_iter().map(|worker| worker.join()).collect();
        let elapsed = started.elapsed();
        let sales: Result<_, _> = sales
            .into_iter()
            .map(|sales| sales.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect();
        Ok((sales?, elapsed))
    })
}
