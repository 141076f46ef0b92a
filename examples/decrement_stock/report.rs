//! What a mode came to, as a line of the table, as JSON, and as a verdict.

use crate::sell::{Sales, Way};
use crate::workload::{Units, Workload};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

/// The result of one mode.
#[derive(Debug)]
pub struct Report {
    pub way: Way,
    backend: &'static str,
    workers: usize,
    orders: usize,
    total: Sales,
    /// Accepted orders of the worker that got the least, and of the one that got the most.
    served: (u64, u64),
    products: Vec<Sold>,
    by_product: bool,
    elapsed: Duration,
}

/// What became of one product, in units.
#[derive(Debug, Clone, Copy)]
struct Sold {
    id: i64,
    initial: i64,
    accepted: i64,
    left: i64,
}

impl Sold {
    /// What was sold and is still in stock, as far as the database knows.
    fn lost(self) -> i64 {
        self.accepted - (self.initial - self.left)
    }
}

impl Report {
    pub fn new(
        way: Way,
        backend: &'static str,
        workload: &Workload,
        workers: &[Sales],
        left: &BTreeMap<i64, i32>,
        elapsed: Duration,
    ) -> Self {
        let mut total = Sales::default();
        for sales in workers {
            total.accepted += sales.accepted;
            total.refused += sales.refused;
            total.conflicts += sales.conflicts;
            total.retries += sales.retries;
            total.units.add_all(&sales.units);
        }
        let served = workers.iter().map(|sales| sales.accepted);
        let served = (
            served.clone().min().unwrap_or_default(),
            served.max().unwrap_or_default(),
        );
        Report {
            way,
            backend,
            workers: workers.len(),
            orders: workload.orders.len(),
            products: sold(workload, &total.units, left),
            total,
            served,
            by_product: workload.by_product,
            elapsed,
        }
    }

    fn left(&self) -> i64 {
        self.products.iter().map(|product| product.left).sum()
    }

    pub fn lost(&self) -> i64 {
        self.products.iter().map(|product| product.lost()).sum()
    }

    /// Whether every order was answered, and every product has what it must have: not only in the sum, and not below zero.
    pub fn is_exact(&self) -> bool {
        let answered = self.total.accepted + self.total.refused;
        answered == self.orders as u64
            && self
                .products
                .iter()
                .all(|product| product.lost() == 0 && product.left >= 0)
    }

    pub fn json(&self) -> String {
        let (total, (least, most)) = (&self.total, self.served);
        // By hand, so that the fields keep their sequence; nothing in it needs escaping.
        let mut json = format!(
            r#"{{"mode":"{}","backend":"{}","workers":{},"orders":{},"accepted":{},"refused":{},"left":{},"lost":{},"conflicts":{},"retries":{},"least":{},"most":{},"seconds":{:.6}"#,
            self.way.name(),
            self.backend,
            self.workers,
            self.orders,
            total.accepted,
            total.refused,
            self.left(),
            self.lost(),
            total.conflicts,
            total.retries,
            least,
            most,
            self.elapsed.as_secs_f64(),
        );
        if self.by_product {
            let products: Vec<_> = self.products.iter().map(Sold::json).collect();
            let _ = write!(json, r#","per_product":[{}]"#, products.join(","));
        }
        json.push('}');
        json
    }

    /// A line of the table.
    pub fn row(&self) -> String {
        let (total, seconds) = (&self.total, self.elapsed.as_secs_f64());
        let (least, most) = self.served;
        format!(
            "{:<12}{:>9}{:>9}{:>9}{:>9}{:>11}{:>9}{:>9.3}{:>10.0}   {least}..{most}",
            self.way.name(),
            total.accepted,
            total.refused,
            self.left(),
            self.lost(),
            total.conflicts,
            total.retries,
            seconds,
            self.orders as f64 / seconds.max(f64::MIN_POSITIVE),
        )
    }
}

/// The head of the table.
pub fn head() -> String {
    format!(
        "{:<12}{:>9}{:>9}{:>9}{:>9}{:>11}{:>9}{:>9}{:>10}   served",
        "mode",
        "accepted",
        "refused",
        "left",
        "lost",
        "conflicts",
        "retries",
        "seconds",
        "orders/s"
    )
}

/// What the columns count.
pub const LEGEND: &str = "\
accepted, refused: orders; left, lost: units, lost = accepted units - (stock at the start - left);
served: accepted orders of the worker that got the least, and of the one that got the most";

impl Sold {
    fn json(&self) -> String {
        let Sold {
            id,
            initial,
            accepted,
            left,
        } = self;
        format!(r#"{{"id":{id},"initial":{initial},"accepted":{accepted},"left":{left}}}"#)
    }
}

fn sold(workload: &Workload, units: &Units, left: &BTreeMap<i64, i32>) -> Vec<Sold> {
    let products = workload.products.iter();
    products
        .map(|product| Sold {
            id: product.id,
            initial: product.stock.into(),
            accepted: units.of(product.id),
            // A row that is gone has nothing left.
            left: left.get(&product.id).copied().unwrap_or_default().into(),
        })
        .collect()
}
