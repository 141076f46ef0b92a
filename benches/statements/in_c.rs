//! The work with the C interface alone: the floor. Statements are prepared once; values are bound and read as Diesel does.

use crate::c::{Database, Statement};
use crate::product::Product;
use crate::work::{Rows, Work, create};
use libsqlite3_sys::{SQLITE_DONE, SQLITE_ROW};
use std::hint::black_box;

pub struct InC {
    update: Statement,
    save: Statement,
    load: Statement,
    version: Statement,
    guarded_update: Statement,
    touch: Statement,
    pub db: Database,
    rows: Rows,
}

impl InC {
    pub fn new(path: &str, settings: &str) -> Self {
        let db = Database::open(path);
        db.batch(settings);
        db.batch(&create());
        InC {
            update: db.prepare(
                "UPDATE products SET stock = ?, version = version + 1 WHERE id = ? AND version = ?",
            ),
            save: db.prepare(
                "UPDATE products SET name = ?, stock = ?, version = version + 1 WHERE id = ? AND version = ?",
            ),
            load: db.prepare("SELECT id, name, stock, version FROM products WHERE id = ?"),
            version: db.prepare("SELECT version FROM products WHERE id = ?"),
            guarded_update: db.prepare(
                "UPDATE products SET stock = stock - ?, version = version + 1 WHERE id = ? AND stock >= ?",
            ),
            touch: db.prepare("UPDATE products SET version = version + 1 WHERE id = ? AND version = ?"),
            db,
            rows: Rows::new(),
        }
    }
}

fn save(statement: &mut Statement, row: &mut Product) {
    let rows = statement.execute_with_text(1, &row.name, |statement| {
        statement.bind(2, row.stock.into());
        statement.bind(3, row.id);
        statement.bind(4, row.version);
    });
    assert_eq!(rows, Ok(1));
    row.version += 1;
}

fn load(statement: &mut Statement, id: i64) -> Product {
    statement.bind(1, id);
    assert_eq!(statement.step(), SQLITE_ROW);
    let product = Product {
        id: statement.integer(0),
        name: statement.text(1),
        stock: i32::try_from(statement.integer(2)).expect("a stock"),
        version: statement.integer(3),
    };
    assert_eq!(statement.step(), SQLITE_DONE);
    statement.reset();
    product
}

impl Work for InC {
    fn checked_update(&mut self) {
        let row = self.rows.next();
        row.stock -= 1;
        self.update.bind(1, row.stock.into());
        self.update.bind(2, row.id);
        self.update.bind(3, row.version);
        assert_eq!(self.update.execute(), Ok(1));
        row.version += 1;
    }

    fn save(&mut self) {
        let row = self.rows.next();
        row.stock -= 1;
        save(&mut self.save, row);
    }

    fn modify(&mut self) {
        let row = self.rows.next();
        let mut product = load(&mut self.load, row.id);
        product.stock -= 1;
        save(&mut self.save, &mut product);
        *row = product;
    }

    fn conflict(&mut self) {
        let row = self.rows.next();
        self.update.bind(1, 1);
        self.update.bind(2, row.id);
        self.update.bind(3, row.version - 1);
        assert_eq!(self.update.execute(), Ok(0));
        self.version.bind(1, row.id);
        assert_eq!(self.version.step(), SQLITE_ROW);
        assert_eq!(self.version.integer(0), row.version);
        assert_eq!(self.version.step(), SQLITE_DONE);
        self.version.reset();
    }

    fn load(&mut self) {
        black_box(load(&mut self.load, self.rows.next().id));
    }

    fn guarded_update(&mut self) {
        let row = self.rows.next();
        self.guarded_update.bind(1, 1);
        self.guarded_update.bind(2, row.id);
        self.guarded_update.bind(3, 1);
        assert_eq!(self.guarded_update.execute(), Ok(1));
        row.stock -= 1;
        row.version += 1;
    }

    fn touch(&mut self) {
        let row = self.rows.next();
        self.touch.bind(1, row.id);
        self.touch.bind(2, row.version);
        assert_eq!(self.touch.execute(), Ok(1));
        row.version += 1;
    }
}
