//! What holds on every server. Compiled once for each, on its `Conn`.

mod back;
mod column;
mod mixed_fleet;
mod other_writers;
mod replaced;
mod without_version;

use super::{Conn, Database, SERVER, SETTINGS};
use crate::folder::{BUMP, COLUMN, Folder, REQUIRED, template};
use crate::models::{BEFORE, Product, legacy, products};
use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel_migrations::{FileBasedMigrations, MigrationHarness};
use diesel_occ::prelude::*;

/// The database of an application, and its migrations folder.
pub struct Shop {
    database: Database,
    folder: Folder,
}

impl Shop {
    /// A table with data, on which these migrations were run.
    pub fn with(migrations: &[&str]) -> Shop {
        let shop = Shop {
            database: Database::create(),
            folder: Folder::new(SERVER),
        };
        shop.connect().batch_execute(BEFORE).unwrap();
        for migration in migrations {
            shop.copy(migration, str::to_owned);
        }
        shop.migrate();
        shop
    }

    /// The table with a nullable version instead, and these migrations.
    pub fn legacy(migrations: &[&str]) -> Shop {
        let shop = Shop::with(&[]);
        shop.connect()
            .batch_execute("ALTER TABLE products ADD COLUMN version BIGINT")
            .unwrap();
        for migration in migrations {
            shop.copy(migration, str::to_owned);
        }
        shop.migrate();
        shop
    }

    pub fn connect(&self) -> Conn {
        self.database.connect()
    }

    pub fn copy(&self, migration: &str, edit: impl Fn(&str) -> String) {
        self.folder.copy(migration, edit);
    }

    pub fn migrations(&self) -> FileBasedMigrations {
        self.folder.migrations()
    }

    pub fn migrate(&self) {
        let mut conn = self.connect();
        conn.run_pending_migrations(self.migrations()).unwrap();
    }
}

/// Runs the test on the column alone and beside each of the triggers, under each setting of a connection.
pub fn on_every_choice(test: impl Fn(&Shop, &mut Conn)) {
    for migrations in [&[COLUMN][..], &[COLUMN, BUMP], &[COLUMN, REQUIRED]] {
        for setting in SETTINGS {
            println!("{migrations:?}, {setting}");
            let shop = Shop::with(migrations);
            let mut conn = shop.connect();
            conn.batch_execute(setting).unwrap();
            test(&shop, &mut conn);
        }
    }
}

/// What a person types at a prompt: plain SQL on a connection of its own. Answers the number of rows.
pub fn at_a_prompt(shop: &Shop, statement: &str) -> QueryResult<usize> {
    diesel::sql_query(statement).execute(&mut shop.connect())
}

pub fn version(conn: &mut Conn, id: i64) -> i64 {
    products::table
        .find(id)
        .select(products::version)
        .first(conn)
        .unwrap()
}

pub fn legacy_version(conn: &mut Conn, id: i64) -> Option<i64> {
    legacy::products::table
        .find(id)
        .select(legacy::products::version)
        .first(conn)
        .unwrap()
}

pub fn stock(conn: &mut Conn, id: i64) -> i32 {
    products::table
        .find(id)
        .select(products::stock)
        .first(conn)
        .unwrap()
}

/// One write of each kind; after each one the row is at the next version, and at the one that was answered.
pub fn every_write(conn: &mut Conn) {
    let mut expected = version(conn, 42);
    let mut step = |conn: &mut Conn, answered: Option<i64>, what: &str| {
        expected += 1;
        assert_eq!(version(conn, 42), expected, "{what}");
        assert_eq!(answered.unwrap_or(expected), expected, "{what} answers");
    };

    let tea = conn.fetch::<Product>(42).unwrap();
    let row = conn.versioned_update(&tea, products::stock.eq(49)).unwrap();
    step(conn, Some(row.version), "versioned_update");
    let tea = conn
        .versioned_update_returning(row, products::stock.eq(48))
        .unwrap();
    step(conn, Some(tea.version), "versioned_update_returning");
    assert_eq!(tea, conn.fetch::<Product>(42).unwrap());
    let tea = conn.save(&tea).unwrap();
    step(conn, Some(tea.version), "save");
    let saved = conn.save_all(&[tea]).unwrap();
    step(conn, Some(saved[0].version), "save_all");
    let row = conn.touch(&saved[0]).unwrap();
    step(conn, Some(row.version), "touch");
    let row = conn
        .guarded_update(row, products::stock.ge(1), products::stock.eq(47))
        .unwrap();
    step(conn, Some(row.version), "guarded_update at a version");
    conn.guarded_update(
        Product::key(42),
        products::stock.ge(1),
        products::stock.eq(46),
    )
    .unwrap();
    step(conn, None, "guarded_update by key");
    let tea = conn
        .modify(42, Mode::optimistic(), |tea: &mut Product| tea.stock -= 1)
        .unwrap();
    step(conn, Some(tea.version), "modify");
    let row = conn.soft_delete(&tea, products::gone.eq(true)).unwrap();
    step(conn, Some(row.version), "soft_delete");
    conn.unchecked_update(Product::key(42), products::gone.eq(false))
        .unwrap();
    step(conn, None, "unchecked_update");
    conn.unchecked_touch(Product::key(42)).unwrap();
    step(conn, None, "unchecked_touch");
    let now = version(conn, 42);
    let moved = products::table
        .find(42)
        .update_if(products::version, now, products::stock.eq(50))
        .execute(conn)
        .unwrap();
    step(conn, Some(moved), "update_if");
    let rows = products::table
        .filter(products::id.eq(42))
        .unchecked_update(products::version, products::stock.eq(50))
        .execute(conn)
        .unwrap();
    assert_eq!(rows, 1);
    step(conn, None, "unchecked_update of a query");
}
