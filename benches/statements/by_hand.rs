//! The work with Diesel alone, as well as one can write it: the check in the filter, the row count looked at, no LIMIT in a
//! load by key.

use crate::product::{Product, products};
use crate::work::{Rows, Work};
use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;
use std::hint::black_box;

pub struct ByHand<'c> {
    pub conn: &'c mut SqliteConnection,
    rows: Rows,
}

#[derive(AsChangeset)]
#[diesel(table_name = products)]
struct Fields<'a> {
    name: &'a str,
    stock: i32,
}

/// What a hand-written program tells its caller.
#[derive(Debug, PartialEq, Eq)]
enum Refused {
    Modified { version: i64 },
    Deleted,
}

impl<'c> ByHand<'c> {
    pub fn new(conn: &'c mut SqliteConnection) -> Self {
        let rows = Rows::new();
        ByHand { conn, rows }
    }
}

fn save(conn: &mut SqliteConnection, row: &mut Product) {
    let fields = Fields {
        name: &row.name,
        stock: row.stock,
    };
    let target = products::table
        .find(row.id)
        .filter(products::version.eq(row.version));
    let rows = diesel::update(target)
        .set((fields, products::version.eq(products::version + 1)))
        .execute(conn);
    assert_eq!(rows, Ok(1));
    row.version += 1;
}

fn load(conn: &mut SqliteConnection, id: i64) -> Product {
    products::table
        .find(id)
        .select(Product::as_select())
        .get_result(conn)
        .expect("a row")
}

impl Work for ByHand<'_> {
    fn checked_update(&mut self) {
        let row = self.rows.next();
        row.stock -= 1;
        let target = products::table
            .find(row.id)
            .filter(products::version.eq(row.version));
        let rows = diesel::update(target)
            .set((
                products::stock.eq(row.stock),
                products::version.eq(products::version + 1),
            ))
            .execute(self.conn);
        assert_eq!(rows, Ok(1));
        row.version += 1;
    }

    fn save(&mut self) {
        let row = self.rows.next();
        row.stock -= 1;
        save(self.conn, row);
    }

    fn modify(&mut self) {
        let row = self.rows.next();
        let mut product = load(self.conn, row.id);
        product.stock -= 1;
        save(self.conn, &mut product);
        *row = product;
    }

    fn conflict(&mut self) {
        let row = self.rows.next();
        let stale = row.version - 1;
        let target = products::table
            .find(row.id)
            .filter(products::version.eq(stale));
        let rows = diesel::update(target)
            .set((
                products::stock.eq(1),
                products::version.eq(products::version + 1),
            ))
            .execute(self.conn);
        assert_eq!(rows, Ok(0));
        let version = products::table
            .find(row.id)
            .select(products::version)
            .get_result(self.conn)
            .optional()
            .expect("a look");
        let refused = version.map_or(Refused::Deleted, |version| Refused::Modified { version });
        assert_eq!(
            refused,
            Refused::Modified {
                version: row.version
            }
        );
        black_box(refused);
    }

    fn load(&mut self) {
        black_box(load(self.conn, self.rows.next().id));
    }

    fn guarded_update(&mut self) {
        let row = self.rows.next();
        let target = products::table.find(row.id).filter(products::stock.ge(1));
        let rows = diesel::update(target)
            .set((
                products::stock.eq(products::stock - 1),
                products::version.eq(products::version + 1),
            ))
            .execute(self.conn);
        assert_eq!(rows, Ok(1));
        row.stock -= 1;
        row.version += 1;
    }

    fn touch(&mut self) {
        let row = self.rows.next();
        let target = products::table
            .find(row.id)
            .filter(products::version.eq(row.version));
        let rows = diesel::update(target)
            .set(products::version.eq(products::version + 1))
            .execute(self.conn);
        assert_eq!(rows, Ok(1));
        row.version += 1;
    }
}
