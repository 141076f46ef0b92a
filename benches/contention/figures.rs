//! What a run of all workers came to, and the medians of several runs.

use crate::report::{median, spread};
use crate::selling::Tally;

/// What came of one run.
pub struct Figures {
    /// Sales a second.
    pub rate: f64,
    /// Least, median and most of a worker.
    pub accepted: [f64; 3],
    /// The least of a worker, of an equal share.
    pub least: f64,
    pub conflicts: f64,
    pub exhausted: f64,
    /// Sales that the row does not show, or shows too many.
    pub lost: f64,
}

impl Figures {
    pub fn of(tallies: &[Tally], sold: i64, version: i64) -> Self {
        let mut accepted: Vec<f64> = tallies.iter().map(|tally| tally.accepted as f64).collect();
        accepted.sort_by(f64::total_cmp);
        let total: u64 = tallies.iter().map(|tally| tally.accepted).sum();
        let time = tallies.iter().map(|tally| tally.time).max();
        let time = time.expect("workers").as_secs_f64();
        let count = |number: fn(&Tally) -> u64| tallies.iter().map(number).sum::<u64>() as f64;
        let counted = i64::try_from(total).expect("a number of sales");
        Figures {
            rate: total as f64 / time,
            accepted: [accepted[0], median(&accepted), accepted[accepted.len() - 1]],
            least: accepted[0] / (total as f64 / accepted.len() as f64),
            conflicts: count(|tally| tally.conflicts),
            exhausted: count(|tally| tally.exhausted),
            lost: (counted.abs_diff(sold) + counted.abs_diff(version)) as f64,
        }
    }
}

/// The runs of a side.
pub struct Runs(pub Vec<Figures>);

impl Runs {
    pub fn each(&self, figure: impl Fn(&Figures) -> f64) -> Vec<f64> {
        self.0.iter().map(figure).collect()
    }

    pub fn median(&self, figure: impl Fn(&Figures) -> f64) -> f64 {
        median(&self.each(figure))
    }

    pub fn most(&self, figure: impl Fn(&Figures) -> f64) -> f64 {
        self.each(figure).into_iter().fold(0.0, f64::max)
    }

    pub fn shares(&self) -> String {
        let [least, middle, most] = [0, 1, 2].map(|at| self.median(|run| run.accepted[at]));
        format!(
            "least share {} accepted {least}/{middle}/{most} conflicts {}",
            spread(&self.each(|run| run.least)),
            self.median(|run| run.conflicts)
        )
    }
}
