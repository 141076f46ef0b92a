//! What is sold: the products with their stock, and the orders, checked before any database is opened. Where they come from
//! is for `csv_files` and `options`; how they are taken from the stock for `sell`.

use crate::csv_files::{self, Input};
use crate::failure::Failure;
use std::collections::BTreeMap;

/// The products and the orders of a run: the same for every mode.
#[derive(Debug)]
pub struct Workload {
    pub products: Vec<Stocked>,
    pub orders: Vec<Order>,
    /// Whether the result is also shown for each product.
    pub by_product: bool,
}

/// A product, and how much of it there is at the start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stocked {
    pub id: i64,
    pub name: String,
    pub stock: i32,
}

/// So much of one product.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line {
    pub product: i64,
    pub quantity: i32,
}

/// All its lines or none of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    lines: Vec<Line>,
}

impl Order {
    /// Every order takes its products in the same sequence, so that no two can wait for each other in a circle.
    pub fn new(mut lines: Vec<Line>) -> Self {
        lines.sort_by_key(|line| line.product);
        Order { lines }
    }

    pub fn lines(&self) -> &[Line] {
        &self.lines
    }
}

impl Workload {
    /// So many orders of one unit of one product: the hottest row there can be.
    pub fn hot(stock: i32, orders: usize) -> Self {
        let product = Stocked {
            id: 1,
            name: "The one that everybody wants".into(),
            stock,
        };
        let order = Order::new(vec![Line {
            product: product.id,
            quantity: 1,
        }]);
        Workload {
            products: vec![product],
            orders: vec![order; orders],
            by_product: false,
        }
    }

    /// The orders of two files, with every stock multiplied.
    pub fn from_files(products: Input, order_lines: Input, times: i32) -> Result<Self, Failure> {
        let products = csv_files::products(products, times)?;
        let orders = csv_files::orders(order_lines, &products)?;
        Ok(Workload {
            products,
            orders,
            by_product: true,
        })
    }

    /// "240 orders of 24 products".
    pub fn describe(&self) -> String {
        match self.products.as_slice() {
            [product] if !self.by_product => format!(
                "{} orders of one unit, {} in stock",
                self.orders.len(),
                product.stock
            ),
            products => format!(
                "{} orders of {} products",
                self.orders.len(),
                products.len()
            ),
        }
    }
}

/// How many units of each product were taken by accepted orders.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Units(BTreeMap<i64, i64>);

impl Units {
    pub fn add(&mut self, product: i64, units: i64) {
        *self.0.entry(product).or_default() += units;
    }

    pub fn add_order(&mut self, order: &Order) {
        for line in order.lines() {
            self.add(line.product, line.quantity.into());
        }
    }

    pub fn add_all(&mut self, other: &Units) {
        for (product, units) in other.iter() {
            self.add(product, units);
        }
    }

    pub fn of(&self, product: i64) -> i64 {
        self.0.get(&product).copied().unwrap_or_default()
    }

    pub fn iter(&self) -> impl Iterator<Item = (i64, i64)> {
        self.0.iter().map(|(product, units)| (*product, *units))
    }
}
