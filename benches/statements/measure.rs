//! Taking turns: every side runs a small batch, there and back again, so that what the machine does meanwhile happens to
//! all of them.

use crate::report::median;
use std::time::Instant;

/// One way to do the work: does it so many times.
pub type Side<'a> = &'a mut dyn FnMut(usize);

/// How much is run.
#[derive(Clone, Copy)]
pub struct Plan {
    pub rounds: usize,
    /// Passes over all sides in a round; even, so that each order is as frequent as its reverse.
    pub passes: usize,
    /// Operations of a side in a pass.
    pub batch: usize,
}

/// Microseconds an operation, of each side and round: the median of the round's batches, which a batch that lost the
/// processor to somebody else does not move.
pub fn interleaved(plan: Plan, sides: &mut [Side<'_>]) -> Vec<Vec<f64>> {
    for side in sides.iter_mut() {
        side(plan.batch);
    }
    let mut figures = vec![Vec::with_capacity(plan.rounds); sides.len()];
    for _ in 0..plan.rounds {
        let mut batches = vec![Vec::with_capacity(plan.passes); sides.len()];
        for pass in 0..plan.passes {
            for turn in 0..sides.len() {
                let side = match pass % 2 {
                    0 => turn,
                    _ => sides.len() - 1 - turn,
                };
                let started = Instant::now();
                sides[side](plan.batch);
                let spent = started.elapsed().as_secs_f64();
                batches[side].push(spent * 1e6 / plan.batch as f64);
            }
        }
        for (figures, batches) in figures.iter_mut().zip(batches) {
            figures.push(median(&batches));
        }
    }
    figures
}
