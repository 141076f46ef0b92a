//! The work with this crate, with Diesel alone as well as one can write it, and with the C library: once for each server,
//! since a Diesel query is written for a connection that is known.

use crate::floor::Floor;
use crate::product::{Product, products};
use crate::server::{NAME, ROWS, STOCK};
use diesel::prelude::*;
use diesel_occ::{Error, Mode, Retry, VersionedConnection};
use std::hint::black_box;

/// The rows of a side, as it knows them.
pub struct Rows {
    products: Vec<Product>,
    next: usize,
}

impl Rows {
    /// [`ROWS`] of what [`Place::fill`](crate::server::Place::fill) makes, behind so many others.
    pub fn from(first: i64) -> Self {
        let product = |id| Product {
            id,
            name: NAME.to_owned(),
            stock: STOCK,
            version: 0,
        };
        Rows {
            products: (first + 1..=first + ROWS).map(product).collect(),
            next: 0,
        }
    }

    pub fn next(&mut self) -> &mut Product {
        let at = self.next;
        self.next = (at + 1) % self.products.len();
        &mut self.products[at]
    }
}

/// What is measured. Each does it once to a row, and checks that it was done.
pub trait Side {
    fn checked_update(&mut self, row: &mut Product);
    fn save(&mut self, row: &mut Product);
    /// Load, change, checked write of every field; each committed by itself.
    fn modify(&mut self, row: &mut Product);
    /// The same in a transaction.
    fn transact(&mut self, row: &mut Product);
    /// The same with the row locked.
    fn locked(&mut self, row: &mut Product);
}

pub struct Ours<C>(pub C);
pub struct ByHand<C>(pub C);
pub struct InC<F>(pub F);
/// In C, with the text that this crate sends outside a transaction.
pub struct InCAlone<F>(pub F);

#[derive(AsChangeset)]
#[diesel(table_name = products)]
struct Fields<'a> {
    name: &'a str,
    stock: i32,
}

macro_rules! with_diesel {
    ($connection:ty, $lock:ident) => {
        impl Side for Ours<$connection> {
            fn checked_update(&mut self, row: &mut Product) {
                row.stock -= 1;
                let new = self
                    .0
                    .versioned_update(&*row, products::stock.eq(row.stock));
                row.version = new.expect("an update").version;
            }

            fn save(&mut self, row: &mut Product) {
                row.stock -= 1;
                *row = self.0.save(row).expect("a save");
            }

            fn modify(&mut self, row: &mut Product) {
                let sell = |product: &mut Product| product.stock -= 1;
                let saved = self.0.modify(row.id, Mode::optimistic(), sell);
                *row = saved.expect("a modify");
            }

            fn transact(&mut self, row: &mut Product) {
                let saved = self
                    .0
                    .transact(&Retry::default(), |tx| -> Result<Product, Error> {
                        let mut product: Product = tx.fetch(row.id)?;
                        product.stock -= 1;
                        tx.save(&product)
                    });
                *row = saved.expect("a transaction");
            }

            fn locked(&mut self, row: &mut Product) {
                let sell = |product: &mut Product| product.stock -= 1;
                let saved = self.0.modify(row.id, Mode::pessimistic(), sell);
                *row = saved.expect("a modify");
            }
        }

        impl ByHand<$connection> {
            fn load(conn: &mut $connection, id: i64) -> QueryResult<Product> {
                let row = products::table.find(id).select(Product::as_select());
                row.get_result(conn)
            }

            fn write(conn: &mut $connection, row: &mut Product) -> QueryResult<()> {
                let fields = Fields {
                    name: &row.name,
                    stock: row.stock,
                };
                let target = products::table
                    .find(row.id)
                    .filter(products::version.eq(row.version));
                let rows = diesel::update(target)
                    .set((fields, products::version.eq(products::version + 1)))
                    .execute(conn)?;
                assert_eq!(rows, 1);
                row.version += 1;
                Ok(())
            }
        }

        impl Side for ByHand<$connection> {
            fn checked_update(&mut self, row: &mut Product) {
                row.stock -= 1;
                let target = products::table
                    .find(row.id)
                    .filter(products::version.eq(row.version));
                let set = (
                    products::stock.eq(row.stock),
                    products::version.eq(products::version + 1),
                );
                assert_eq!(diesel::update(target).set(set).execute(&mut self.0), Ok(1));
                row.version += 1;
            }

            fn save(&mut self, row: &mut Product) {
                row.stock -= 1;
                Self::write(&mut self.0, row).expect("a save");
            }

            fn modify(&mut self, row: &mut Product) {
                *row = Self::load(&mut self.0, row.id).expect("a row");
                row.stock -= 1;
                Self::write(&mut self.0, row).expect("a save");
            }

            fn transact(&mut self, row: &mut Product) {
                let saved: QueryResult<Product> = self.0.transaction(|conn| {
                    let mut product = Self::load(conn, row.id)?;
                    product.stock -= 1;
                    Self::write(conn, &mut product)?;
                    Ok(product)
                });
                *row = saved.expect("a transaction");
            }

            fn locked(&mut self, row: &mut Product) {
                let saved: QueryResult<Product> = self.0.transaction(|conn| {
                    let found = products::table
                        .find(row.id)
                        .select(Product::as_select())
                        .$lock();
                    let mut product = found.get_result(conn)?;
                    product.stock -= 1;
                    Self::write(conn, &mut product)?;
                    Ok(product)
                });
                *row = saved.expect("a transaction");
            }
        }
    };
}

with_diesel!(PgConnection, for_no_key_update);
with_diesel!(MysqlConnection, for_update);

impl<F: Floor> Side for InC<F> {
    fn checked_update(&mut self, row: &mut Product) {
        row.stock -= 1;
        let rows = self.0.update(row.stock.into(), row.id, row.version);
        assert_eq!(rows, Some(1));
        row.version += 1;
    }

    fn save(&mut self, row: &mut Product) {
        row.stock -= 1;
        assert_eq!(self.0.save(row), Some(1));
        row.version += 1;
    }

    fn modify(&mut self, row: &mut Product) {
        *row = black_box(self.0.load(row.id));
        self.save(row);
    }

    fn transact(&mut self, row: &mut Product) {
        self.0.batch("BEGIN");
        self.modify(row);
        self.0.batch("COMMIT");
    }

    fn locked(&mut self, row: &mut Product) {
        self.0.batch("BEGIN");
        *row = black_box(self.0.load_locked(row.id));
        self.save(row);
        self.0.batch("COMMIT");
    }
}

impl<F: Floor> Side for InCAlone<F> {
    fn checked_update(&mut self, row: &mut Product) {
        row.stock -= 1;
        let rows = self.0.update_alone(row.stock.into(), row.id, row.version);
        assert_eq!(rows, Some(1));
        row.version += 1;
    }

    fn save(&mut self, row: &mut Product) {
        self.checked_update(row);
    }

    fn modify(&mut self, row: &mut Product) {
        *row = black_box(self.0.load(row.id));
        self.checked_update(row);
    }

    fn transact(&mut self, row: &mut Product) {
        self.modify(row);
    }
    fn locked(&mut self, row: &mut Product) {
        self.modify(row);
    }
}
