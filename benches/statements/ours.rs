//! The work with this crate.

use crate::product::{Product, products};
use crate::work::{Rows, Work};
use diesel::prelude::*;
use diesel::sqlite::Sqlite;
use diesel_occ::{Error, Mode, Versioned, VersionedConnection};
use std::hint::black_box;

pub struct Ours<'c, C> {
    pub conn: &'c mut C,
    rows: Rows,
}

impl<'c, C> Ours<'c, C> {
    pub fn new(conn: &'c mut C) -> Self {
        let rows = Rows::new();
        Ours { conn, rows }
    }
}

impl<C: VersionedConnection<Backend = Sqlite>> Work for Ours<'_, C> {
    fn checked_update(&mut self) {
        let row = self.rows.next();
        row.stock -= 1;
        let changes = products::stock.eq(row.stock);
        let new = self.conn.versioned_update(&*row, changes);
        row.version = new.expect("an update").version;
    }

    fn save(&mut self) {
        let row = self.rows.next();
        row.stock -= 1;
        *row = self.conn.save(row).expect("a save");
    }

    fn modify(&mut self) {
        let row = self.rows.next();
        let sell = |product: &mut Product| product.stock -= 1;
        let saved = self.conn.modify(row.id, Mode::optimistic(), sell);
        *row = saved.expect("a modify");
    }

    fn conflict(&mut self) {
        let row = self.rows.next();
        let stale = Product::at(row.id, row.version - 1);
        let refused = self.conn.versioned_update(stale, products::stock.eq(1));
        assert!(matches!(&refused, Err(Error::Conflict(_))), "{refused:?}");
        black_box(refused.err());
    }

    fn load(&mut self) {
        let row: Product = self.conn.fetch(self.rows.next().id).expect("a row");
        black_box(row);
    }

    fn guarded_update(&mut self) {
        let row = self.rows.next();
        let (enough, taken) = (
            products::stock.ge(1),
            products::stock.eq(products::stock - 1),
        );
        let done = self
            .conn
            .guarded_update(Product::key(row.id), enough, taken);
        done.expect("an update");
        row.stock -= 1;
        row.version += 1;
    }

    fn touch(&mut self) {
        let row = self.rows.next();
        row.version = self.conn.touch(&*row).expect("a touch").version;
    }
}
