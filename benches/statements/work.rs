//! What is measured, and the rows that it is done to.

use crate::product::{CREATE, Product};

/// A way to do the work. Every method does it once, to the next row, and checks that it was done.
pub trait Work {
    fn checked_update(&mut self);
    fn save(&mut self);
    fn modify(&mut self);
    /// A checked update with an old version, up to the answer which version the row has now.
    fn conflict(&mut self);
    fn load(&mut self);
    fn guarded_update(&mut self);
    fn touch(&mut self);
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Workload {
    CheckedUpdate,
    Save,
    Modify,
    Conflict,
    Load,
    GuardedUpdate,
    Touch,
}

impl Workload {
    pub const ALL: [Workload; 7] = [
        Workload::CheckedUpdate,
        Workload::Save,
        Workload::Modify,
        Workload::Conflict,
        Workload::Load,
        Workload::GuardedUpdate,
        Workload::Touch,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Workload::CheckedUpdate => "checked_update",
            Workload::Save => "save",
            Workload::Modify => "modify",
            Workload::Conflict => "conflict",
            Workload::Load => "load",
            Workload::GuardedUpdate => "guarded_update",
            Workload::Touch => "touch",
        }
    }

    pub fn run(self, side: &mut impl Work, times: usize) {
        let times = 0..times;
        match self {
            Workload::CheckedUpdate => times.for_each(|_| side.checked_update()),
            Workload::Save => times.for_each(|_| side.save()),
            Workload::Modify => times.for_each(|_| side.modify()),
            Workload::Conflict => times.for_each(|_| side.conflict()),
            Workload::Load => times.for_each(|_| side.load()),
            Workload::GuardedUpdate => times.for_each(|_| side.guarded_update()),
            Workload::Touch => times.for_each(|_| side.touch()),
        }
    }
}

const ROWS: i64 = 100;
const NAME: &str = "Darjeeling, first flush, 250 g";
const STOCK: i32 = 2_000_000_000;

/// The rows of a side, as it knows them.
pub struct Rows {
    products: Vec<Product>,
    next: usize,
}

impl Rows {
    /// What [`create`] makes.
    pub fn new() -> Self {
        let product = |id| Product {
            id,
            name: NAME.to_owned(),
            stock: STOCK,
            version: 0,
        };
        Rows {
            products: (1..=ROWS).map(product).collect(),
            next: 0,
        }
    }

    pub fn next(&mut self) -> &mut Product {
        let at = self.next;
        self.next = (at + 1) % self.products.len();
        &mut self.products[at]
    }
}

/// Whether the key is SQLite's own number of the row: one tree less for every side.
pub fn rowid_is_key() -> bool {
    std::env::var_os("OCC_BENCH_ROWID").is_some()
}

/// The table with its rows, as SQL.
pub fn create() -> String {
    let create = match rowid_is_key() {
        true => CREATE.replace("id BIGINT PRIMARY KEY", "id INTEGER PRIMARY KEY"),
        false => CREATE.to_owned(),
    };
    format!(
        "{create}; INSERT INTO products (id, name, stock)
         WITH RECURSIVE ids (id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM ids WHERE id < {ROWS})
         SELECT id, '{NAME}', {STOCK} FROM ids"
    )
}
