//! Adopting the crate on a table that has data: the migrations of `migrations/adopting/sqlite`, copied and run as an
//! application runs its own, and what other writers of the table do to the version.
#![cfg(feature = "sqlite")]

use diesel::connection::SimpleConnection;
use diesel::dsl::sql;
use diesel::migration::{Migration, MigrationSource};
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Text};
use diesel::sqlite::Sqlite;
use diesel_migrations::{FileBasedMigrations, MigrationHarness};
use diesel_occ::prelude::*;
use diesel_occ::sqlite::Setup;
use diesel_occ::{ConflictKind, Error, Fault, Removal};
use std::path::Path;
use std::sync::Barrier;
use tempfile::TempDir;

const COLUMN: &str = "2025-01-01-000000_products_version";
const BUMP: &str = "2025-01-01-000001_products_version_bump";
const REQUIRED: &str = "2025-01-01-000002_products_version_required";

/// The table as it was before: no version.
const BEFORE: &str = "
    CREATE TABLE categories (id BIGINT PRIMARY KEY NOT NULL);
    CREATE TABLE products (
        id BIGINT PRIMARY KEY NOT NULL, name TEXT NOT NULL, stock INTEGER NOT NULL CHECK (stock >= 0),
        gone BOOLEAN NOT NULL DEFAULT FALSE, category BIGINT REFERENCES categories (id) ON DELETE SET NULL
    );
    INSERT INTO categories VALUES (1);
    INSERT INTO products (id, name, stock, category) VALUES (42, 'tea', 50, 1), (43, 'coffee', 5, NULL);
";

diesel::table! {
    products (id) {
        id -> BigInt,
        name -> Text,
        stock -> Integer,
        gone -> Bool,
        version -> BigInt,
    }
}

#[derive(Debug, Clone, PartialEq, Queryable, Versioned)]
#[diesel(table_name = products)]
#[versioned(soft_delete = gone)]
struct Product {
    id: i64,
    name: String,
    stock: i32,
    gone: bool,
    version: i64,
}

/// The same table with a version that may be NULL.
mod legacy {
    use super::*;

    diesel::table! {
        products (id) { id -> BigInt, name -> Text, stock -> Integer, version -> Nullable<BigInt>, }
    }

    #[derive(Debug, Clone, PartialEq, Queryable, Versioned)]
    #[diesel(table_name = products)]
    pub struct Product {
        pub id: i64,
        pub name: String,
        pub stock: i32,
        pub version: Option<i64>,
    }
}

/// The database of an application, and its migrations folder.
struct Shop {
    folder: TempDir,
}

impl Shop {
    /// A table with data, on which these migrations were run.
    fn with(migrations: &[&str]) -> Shop {
        let shop = Shop {
            folder: tempfile::tempdir().unwrap(),
        };
        shop.connect().batch_execute(BEFORE).unwrap();
        for migration in migrations {
            shop.copy(migration, str::to_owned);
        }
        shop.migrate();
        shop
    }

    /// The table with a nullable version instead, and these migrations.
    fn legacy(migrations: &[&str]) -> Shop {
        let shop = Shop::with(&[]);
        let mut conn = shop.connect();
        conn.batch_execute("ALTER TABLE products ADD COLUMN version BIGINT")
            .unwrap();
        for migration in migrations {
            shop.copy(migration, str::to_owned);
        }
        shop.migrate();
        shop
    }

    fn connect(&self) -> SqliteConnection {
        let file = self.folder.path().join("shop.db");
        let mut conn = SqliteConnection::establish(file.to_str().unwrap()).unwrap();
        Setup::default().apply(&mut conn).unwrap();
        conn
    }

    fn migrations(&self) -> FileBasedMigrations {
        let folder = self.folder.path().join("migrations");
        std::fs::create_dir_all(&folder).unwrap();
        FileBasedMigrations::from_path(folder).unwrap()
    }

    fn copy(&self, migration: &str, edit: impl Fn(&str) -> String) {
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations/adopting/sqlite");
        let to = self.folder.path().join("migrations").join(edit(migration));
        std::fs::create_dir_all(&to).unwrap();
        for file in ["up.sql", "down.sql"] {
            let text = std::fs::read_to_string(from.join(migration).join(file)).unwrap();
            std::fs::write(to.join(file), edit(&text)).unwrap();
        }
    }

    fn migrate(&self) {
        let mut conn = self.connect();
        conn.run_pending_migrations(self.migrations()).unwrap();
    }
}

/// Runs the test on the column alone and beside each of the triggers, with and without `recursive_triggers`.
fn on_every_choice(test: impl Fn(&Shop, &mut SqliteConnection)) {
    for migrations in [&[COLUMN][..], &[COLUMN, BUMP], &[COLUMN, REQUIRED]] {
        for recursive in ["OFF", "ON"] {
            println!("{migrations:?}, recursive_triggers {recursive}");
            let shop = Shop::with(migrations);
            let mut conn = shop.connect();
            conn.batch_execute(&format!("PRAGMA recursive_triggers = {recursive}"))
                .unwrap();
            test(&shop, &mut conn);
        }
    }
}

/// What a person types at a prompt: plain SQL on a connection of its own. Answers the number of rows.
fn at_a_prompt(shop: &Shop, statement: &str) -> QueryResult<usize> {
    diesel::sql_query(statement).execute(&mut shop.connect())
}

fn version(conn: &mut SqliteConnection, id: i64) -> i64 {
    products::table
        .find(id)
        .select(products::version)
        .first(conn)
        .unwrap()
}

fn legacy_version(conn: &mut SqliteConnection, id: i64) -> Option<i64> {
    legacy::products::table
        .find(id)
        .select(legacy::products::version)
        .first(conn)
        .unwrap()
}

fn stock(conn: &mut SqliteConnection, id: i64) -> i32 {
    products::table
        .find(id)
        .select(products::stock)
        .first(conn)
        .unwrap()
}

/// Everything that the schema says about products, as SQLite keeps it.
fn schema(conn: &mut SqliteConnection) -> Vec<String> {
    diesel::select(sql::<Text>(
        "name || ': ' || sql FROM sqlite_schema WHERE tbl_name = 'products' AND sql IS NOT NULL ORDER BY name",
    ))
    .load(conn)
    .unwrap()
}

/// Asserts a lost race: which version was expected, and which was found.
fn assert_modified<T: std::fmt::Debug>(result: Result<T, Error>, expected: &str, actual: &str) {
    match result {
        Err(Error::Conflict(conflict)) => {
            assert_eq!(conflict.kind, ConflictKind::Modified);
            assert_eq!(conflict.expected, expected);
            assert_eq!(conflict.actual.as_deref(), Some(actual));
        }
        other => panic!("a conflict, not {other:?}"),
    }
}

/// Asserts that a trigger refused a statement with this sentence.
fn assert_raised<T: std::fmt::Debug>(result: QueryResult<T>, sentence: &str) {
    match result {
        Err(diesel::result::Error::DatabaseError(_, information)) => {
            assert_eq!(information.message(), sentence);
        }
        other => panic!("{sentence}, not {other:?}"),
    }
}

const MUST_MOVE: &str = "products: an UPDATE must set version = version + 1";

// ---- the column ---------------------------------------------------------------------------------------------

#[test]
fn adopting_keeps_the_data_and_gives_every_row_version_0() {
    let shop = Shop::with(&[COLUMN]);
    let mut conn = shop.connect();
    let tea = Product {
        id: 42,
        name: "tea".into(),
        stock: 50,
        gone: false,
        version: 0,
    };
    assert_eq!(conn.fetch::<Product>(42).unwrap(), tea);
    let coffee = conn.fetch::<Product>(43).unwrap();
    assert_eq!(
        (coffee.name.as_str(), coffee.stock, coffee.version),
        ("coffee", 5, 0)
    );
    let count: i64 = products::table.count().get_result(&mut conn).unwrap();
    assert_eq!(count, 2);
}

#[test]
fn adopting_an_insert_without_the_version_gets_0() {
    on_every_choice(|shop, conn| {
        at_a_prompt(
            shop,
            "INSERT INTO products (id, name, stock) VALUES (44, 'cocoa', 1)",
        )
        .unwrap();
        assert_eq!(version(conn, 44), 0);
        diesel::insert_into(products::table)
            .values((
                products::id.eq(45),
                products::name.eq("milk"),
                products::stock.eq(2),
            ))
            .execute(conn)
            .unwrap();
        assert_eq!(version(conn, 45), 0);
    });
}

#[test]
fn row_o1_the_first_checked_update_makes_the_version_1() {
    on_every_choice(|_, conn| {
        let tea = conn.fetch::<Product>(42).unwrap();
        let row = conn.versioned_update(&tea, products::stock.eq(49)).unwrap();
        assert_eq!(row, Product::at(42, 1));
        assert_eq!(version(conn, 42), 1);
    });
}

#[test]
fn row_o1_every_write_moves_the_version_by_exactly_one_beside_either_trigger() {
    on_every_choice(|_, conn| {
        every_write(conn);
        conn.transact(&Retry::default(), |tx| -> diesel_occ::Result<()> {
            every_write(tx.conn()?);
            Ok(())
        })
        .unwrap();
    });
}

/// One write of each kind; after each one the row is at the next version, and at the one that was answered.
fn every_write(conn: &mut SqliteConnection) {
    let mut expected = version(conn, 42);
    let mut step = |conn: &mut SqliteConnection, answered: Option<i64>, what: &str| {
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

#[test]
fn row_o2_a_stale_write_conflicts_beside_either_trigger() {
    on_every_choice(|_, conn| {
        let stale = conn.fetch::<Product>(42).unwrap();
        conn.touch(&stale).unwrap();
        assert_modified(conn.save(&stale), "0", "1");
        assert_modified(conn.versioned_delete(&stale), "0", "1");
        conn.versioned_delete(Product::at(42, 1)).unwrap();
        let removal = conn.unchecked_delete(Product::key(43)).unwrap();
        assert_eq!(removal, Removal::Deleted);
    });
}

// ---- writers that know no version ---------------------------------------------------------------------------

#[test]
fn adopting_without_a_trigger_a_writer_that_knows_no_version_is_not_noticed() {
    let shop = Shop::with(&[COLUMN]);
    let mut conn = shop.connect();
    let tea = conn.fetch::<Product>(42).unwrap();

    assert_eq!(
        at_a_prompt(&shop, "UPDATE products SET stock = 20 WHERE id = 42").unwrap(),
        1
    );

    assert_eq!(version(&mut conn, 42), 0);
    conn.verify(&tea).unwrap();
    let saved = conn.save(&tea).unwrap();
    assert_eq!(saved.version, 1);
    assert_eq!(stock(&mut conn, 42), 50, "what the person typed is lost");
}

#[test]
fn adopting_with_the_bump_a_writer_that_knows_no_version_is_noticed() {
    for recursive in ["OFF", "ON"] {
        let shop = Shop::with(&[COLUMN, BUMP]);
        let mut conn = shop.connect();
        let tea = conn.fetch::<Product>(42).unwrap();

        let mut prompt = shop.connect();
        prompt
            .batch_execute(&format!("PRAGMA recursive_triggers = {recursive}"))
            .unwrap();
        let rows = diesel::sql_query("UPDATE products SET stock = 20 WHERE id = 42")
            .execute(&mut prompt)
            .unwrap();
        assert_eq!(rows, 1, "the statement of the trigger is not counted");

        assert_modified(conn.verify(&tea), "0", "1");
        assert_modified(conn.save(&tea), "0", "1");
        assert_eq!(stock(&mut conn, 42), 20);
        conn.touch(Product::at(42, 1)).unwrap();
    }
}

#[test]
fn adopting_the_bump_counts_an_update_that_changes_nothing() {
    let shop = Shop::with(&[COLUMN, BUMP]);
    let mut conn = shop.connect();
    at_a_prompt(&shop, "UPDATE products SET stock = stock").unwrap();
    assert_eq!((version(&mut conn, 42), version(&mut conn, 43)), (1, 1));
}

#[test]
fn adopting_the_bump_lets_no_version_go_back_and_leaves_one_that_went_ahead() {
    let shop = Shop::with(&[COLUMN, BUMP]);
    let mut conn = shop.connect();
    at_a_prompt(&shop, "UPDATE products SET version = 9 WHERE id = 42").unwrap();
    assert_eq!(version(&mut conn, 42), 9);
    at_a_prompt(
        &shop,
        "UPDATE products SET stock = 20, version = 3 WHERE id = 42",
    )
    .unwrap();
    assert_eq!(version(&mut conn, 42), 10);
    // A program that writes back every column that it has read.
    at_a_prompt(
        &shop,
        "UPDATE products SET stock = 21, version = 10 WHERE id = 42",
    )
    .unwrap();
    assert_eq!(version(&mut conn, 42), 11);
}

#[test]
fn adopting_the_bump_follows_a_row_whose_key_changes() {
    let shop = Shop::with(&[COLUMN, BUMP]);
    at_a_prompt(&shop, "UPDATE products SET id = 142 WHERE id = 42").unwrap();
    assert_eq!(version(&mut shop.connect(), 142), 1);
}

#[test]
fn adopting_the_refusing_trigger_stops_a_writer_that_knows_no_version() {
    let shop = Shop::with(&[COLUMN, REQUIRED]);
    let mut conn = shop.connect();
    let tea = conn.fetch::<Product>(42).unwrap();
    for statement in [
        "UPDATE products SET stock = 20 WHERE id = 42",
        "UPDATE OR IGNORE products SET stock = 20 WHERE id = 42",
        "UPDATE products SET stock = stock",
        "UPDATE products SET stock = 20, version = 0 WHERE id = 42",
        "UPDATE products SET stock = 20, version = version + 2 WHERE id = 42",
        "UPDATE products SET stock = 20, version = version - 1 WHERE id = 42",
        "UPDATE products SET version = '1x' WHERE id = 42",
    ] {
        assert_raised(at_a_prompt(&shop, statement), MUST_MOVE);
    }
    assert_eq!(conn.fetch::<Product>(42).unwrap(), tea);
    conn.save(&tea).unwrap();

    at_a_prompt(
        &shop,
        "UPDATE products SET stock = 20, version = version + 1 WHERE id = 42",
    )
    .unwrap();
    assert_eq!((stock(&mut conn, 42), version(&mut conn, 42)), (20, 2));
}

#[test]
fn adopting_what_the_refusing_trigger_raises_is_no_conflict_and_not_retried() {
    let shop = Shop::with(&[COLUMN, REQUIRED]);
    let mut conn = shop.connect();
    let mut runs = 0;
    let refused = conn.transact(&Retry::default(), |tx| -> diesel_occ::Result<()> {
        runs += 1;
        diesel::update(products::table.find(42))
            .set(products::stock.eq(20))
            .execute(tx)?;
        Ok(())
    });
    let Err(Error::Database(error)) = refused else {
        panic!("the error of the trigger, not {refused:?}");
    };
    assert_eq!(error.to_string(), MUST_MOVE);
    assert_eq!(Fault::of(&error), Fault::Permanent);
    assert_eq!(runs, 1);
    conn.touch(Product::at(42, 0)).unwrap();
}

#[test]
fn adopting_with_both_triggers_the_refusing_one_has_its_way() {
    let shop = Shop::with(&[COLUMN, BUMP, REQUIRED]);
    let mut conn = shop.connect();
    assert_raised(
        at_a_prompt(&shop, "UPDATE products SET stock = 20"),
        MUST_MOVE,
    );
    every_write(&mut conn);
}

#[test]
fn adopting_a_foreign_key_that_sets_null_is_a_writer_that_knows_no_version() {
    let delete = "DELETE FROM categories";
    let shop = Shop::with(&[COLUMN]);
    at_a_prompt(&shop, delete).unwrap();
    assert_eq!(version(&mut shop.connect(), 42), 0);

    let shop = Shop::with(&[COLUMN, BUMP]);
    at_a_prompt(&shop, delete).unwrap();
    assert_eq!(version(&mut shop.connect(), 42), 1);

    let shop = Shop::with(&[COLUMN, REQUIRED]);
    assert_raised(at_a_prompt(&shop, delete), MUST_MOVE);
}

#[test]
fn adopting_a_row_that_is_replaced_starts_again_at_0_and_no_trigger_sees_it() {
    let replace = "REPLACE INTO products (id, name, stock) VALUES (42, 'mate', 20)";
    let insert = "INSERT INTO products (id, name, stock) VALUES (42, 'mate', 20)";
    for statements in [
        &[replace][..],
        &["DELETE FROM products WHERE id = 42", insert],
    ] {
        on_every_choice(|shop, conn| {
            let tea = conn.fetch::<Product>(42).unwrap();
            for statement in statements {
                at_a_prompt(shop, statement).unwrap();
            }
            assert_eq!(version(conn, 42), 0);
            conn.save(&tea).unwrap();
            assert_eq!(stock(conn, 42), 50, "what was put there is lost");
        });
    }
}

#[test]
fn adopting_an_upsert_is_an_update_to_the_triggers() {
    let upsert = "INSERT INTO products (id, name, stock) VALUES (42, 'tea', 20)
                  ON CONFLICT (id) DO UPDATE SET stock = excluded.stock";
    let shop = Shop::with(&[COLUMN, BUMP]);
    at_a_prompt(&shop, upsert).unwrap();
    assert_eq!(version(&mut shop.connect(), 42), 1);
    let shop = Shop::with(&[COLUMN, REQUIRED]);
    assert_raised(at_a_prompt(&shop, upsert), MUST_MOVE);
}

// ---- a trigger of the application that writes the row once more ---------------------------------------------

const UPDATED_AT: &str = "
    ALTER TABLE products ADD COLUMN updated_at TEXT;
    CREATE TRIGGER products_updated_at AFTER UPDATE OF name, stock ON products
    BEGIN UPDATE products SET updated_at = 'now' WHERE id = NEW.id; END;
";

fn naming_the_columns(text: &str) -> String {
    text.replace(
        "UPDATE ON products",
        "UPDATE OF name, stock, version ON products",
    )
}

#[test]
fn adopting_an_updated_at_trigger_is_one_more_writer_to_either_trigger() {
    let shop = Shop::with(&[COLUMN, BUMP]);
    let mut conn = shop.connect();
    conn.batch_execute(UPDATED_AT).unwrap();
    let row = conn
        .versioned_update(Product::at(42, 0), products::stock.eq(49))
        .unwrap();
    assert_eq!((row.version, version(&mut conn, 42)), (1, 2), "moved twice");
    assert_modified(conn.touch(row), "1", "2");

    let shop = Shop::with(&[COLUMN, REQUIRED]);
    let mut conn = shop.connect();
    conn.batch_execute(UPDATED_AT).unwrap();
    let refused = conn.versioned_update(Product::at(42, 0), products::stock.eq(49));
    let Err(Error::Database(error)) = refused else {
        panic!("the error of the trigger, not {refused:?}");
    };
    assert_eq!(error.to_string(), MUST_MOVE);
    assert_eq!((stock(&mut conn, 42), version(&mut conn, 42)), (50, 0));
}

#[test]
fn adopting_beside_an_updated_at_trigger_either_trigger_names_its_columns() {
    for trigger in [BUMP, REQUIRED] {
        for recursive in ["OFF", "ON"] {
            let shop = Shop::with(&[COLUMN]);
            let mut conn = shop.connect();
            conn.batch_execute(UPDATED_AT).unwrap();
            conn.batch_execute(&format!("PRAGMA recursive_triggers = {recursive}"))
                .unwrap();
            shop.copy(trigger, naming_the_columns);
            shop.migrate();
            every_write(&mut conn);
            let (now, typed) = (
                version(&mut conn, 42),
                at_a_prompt(&shop, "UPDATE products SET stock = 20 WHERE id = 42"),
            );
            match trigger {
                BUMP => {
                    assert_eq!(typed, Ok(1));
                    assert_eq!(version(&mut conn, 42), now + 1);
                }
                _ => assert_raised(typed, MUST_MOVE),
            }
        }
    }
}

// ---- the largest version ------------------------------------------------------------------------------------

#[test]
fn row_o8_at_the_largest_version_either_trigger_refuses_what_sqlite_would_make_a_float() {
    for trigger in [BUMP, REQUIRED] {
        let shop = Shop::with(&[COLUMN]);
        let mut conn = shop.connect();
        at_a_prompt(
            &shop,
            "UPDATE products SET version = 9223372036854775807 WHERE id = 42",
        )
        .unwrap();
        shop.copy(trigger, str::to_owned);
        shop.migrate();
        let (typed, sentence) = match trigger {
            BUMP => (
                "UPDATE products SET stock = 20",
                "products: the version cannot grow any more",
            ),
            _ => (
                "UPDATE products SET stock = 20, version = version + 1",
                MUST_MOVE,
            ),
        };
        assert_raised(at_a_prompt(&shop, typed), sentence);
        assert_eq!(
            (stock(&mut conn, 42), version(&mut conn, 42)),
            (50, i64::MAX)
        );
        let full = conn.touch(Product::at(42, i64::MAX));
        assert!(matches!(full, Err(Error::VersionOverflow(_))), "{full:?}");
    }
}

// ---- rows without a version ---------------------------------------------------------------------------------

#[test]
fn row_o8_a_row_without_a_version_gets_1_by_its_first_checked_update() {
    for triggers in [&[][..], &[BUMP], &[REQUIRED]] {
        let shop = Shop::legacy(triggers);
        let mut conn = shop.connect();
        let tea = conn.fetch::<legacy::Product>(42).unwrap();
        assert_eq!(
            (tea.name.as_str(), tea.stock, tea.version),
            ("tea", 50, None)
        );
        let row = conn
            .versioned_update(&tea, legacy::products::stock.eq(49))
            .unwrap();
        assert_eq!(row, legacy::Product::at(42, Some(1)));
        assert_eq!(legacy_version(&mut conn, 42), Some(1));
        assert_modified(conn.save(&tea), "None", "1");
        conn.unchecked_touch(legacy::Product::key(43)).unwrap();
        assert_eq!(legacy_version(&mut conn, 43), Some(1));
        at_a_prompt(
            &shop,
            "INSERT INTO products (id, name, stock) VALUES (44, 'cocoa', 1)",
        )
        .unwrap();
        assert_eq!(legacy_version(&mut conn, 44), None);
    }
}

#[test]
fn row_o8_of_two_first_updates_of_a_row_without_a_version_exactly_one_wins() {
    let shop = Shop::legacy(&[]);
    let both_have_read = Barrier::new(2);
    let first_update = |stock: i32| {
        let mut conn = shop.connect();
        let tea = conn.fetch::<legacy::Product>(42).unwrap();
        assert_eq!(tea.version, None);
        both_have_read.wait();
        conn.versioned_update(&tea, legacy::products::stock.eq(stock))
    };
    let results = std::thread::scope(|scope| {
        [1, 2]
            .map(|stock| scope.spawn(move || (stock, first_update(stock))))
            .map(|thread| thread.join().unwrap())
    });
    let (won, lost): (Vec<_>, Vec<_>) = results.into_iter().partition(|(_, result)| result.is_ok());
    assert_eq!((won.len(), lost.len()), (1, 1), "{won:?} {lost:?}");
    for (_, result) in lost {
        assert_modified(result, "None", "1");
    }
    let mut conn = shop.connect();
    assert_eq!(legacy_version(&mut conn, 42), Some(1));
    assert_eq!(stock(&mut conn, 42), won[0].0);
}

#[test]
fn row_o8_without_a_version_a_writer_that_knows_none_is_noticed_by_the_triggers_alone() {
    let typed = "UPDATE products SET stock = 20 WHERE id = 42";
    let shop = Shop::legacy(&[]);
    let mut conn = shop.connect();
    let tea = conn.fetch::<legacy::Product>(42).unwrap();
    at_a_prompt(&shop, typed).unwrap();
    assert_eq!(legacy_version(&mut conn, 42), None);
    conn.save(&tea).unwrap();

    let shop = Shop::legacy(&[BUMP]);
    let mut conn = shop.connect();
    let tea = conn.fetch::<legacy::Product>(42).unwrap();
    at_a_prompt(&shop, typed).unwrap();
    assert_modified(conn.save(&tea), "None", "1");
    at_a_prompt(&shop, "UPDATE products SET version = NULL WHERE id = 42").unwrap();
    assert_eq!(legacy_version(&mut conn, 42), Some(2));

    let shop = Shop::legacy(&[REQUIRED]);
    for statement in [
        typed,
        "UPDATE products SET version = NULL",
        "UPDATE products SET version = 0",
        "UPDATE products SET version = 2",
    ] {
        assert_raised(at_a_prompt(&shop, statement), MUST_MOVE);
    }
}

#[test]
fn adopting_rows_without_a_version_can_be_given_0_later() {
    let give_0 = "UPDATE products SET version = 0 WHERE version IS NULL";
    for triggers in [&[][..], &[BUMP]] {
        let shop = Shop::legacy(triggers);
        let mut conn = shop.connect();
        conn.touch(legacy::Product::at(43, None)).unwrap();
        at_a_prompt(&shop, give_0).unwrap();
        assert_eq!((version(&mut conn, 42), version(&mut conn, 43)), (0, 1));
        conn.touch(Product::at(42, 0)).unwrap();
    }
    assert_raised(at_a_prompt(&Shop::legacy(&[REQUIRED]), give_0), MUST_MOVE);
}

// ---- and back -----------------------------------------------------------------------------------------------

#[test]
fn adopting_every_down_restores_the_schema_and_keeps_the_data() {
    for trigger in [BUMP, REQUIRED] {
        let shop = Shop::with(&[]);
        let mut conn = shop.connect();
        let before = schema(&mut conn);
        shop.copy(COLUMN, str::to_owned);
        shop.migrate();
        let with_column = schema(&mut conn);
        assert_ne!(with_column, before);
        shop.copy(trigger, str::to_owned);
        shop.migrate();
        assert_eq!(schema(&mut conn).len(), with_column.len() + 1);
        conn.versioned_update(Product::at(42, 0), products::stock.eq(49))
            .unwrap();

        conn.revert_last_migration(shop.migrations()).unwrap();
        assert_eq!(schema(&mut conn), with_column);
        assert_eq!(
            at_a_prompt(&shop, "UPDATE products SET stock = 48 WHERE id = 42"),
            Ok(1)
        );
        assert_eq!(version(&mut conn, 42), 1);
        conn.revert_last_migration(shop.migrations()).unwrap();
        assert_eq!(schema(&mut conn), before);
        assert_eq!((stock(&mut conn, 42), stock(&mut conn, 43)), (48, 5));
    }
}

#[test]
fn adopting_the_column_is_not_dropped_under_a_trigger_that_names_it() {
    for trigger in [BUMP, REQUIRED] {
        let shop = Shop::with(&[COLUMN, trigger]);
        let mut conn = shop.connect();
        let migrations = MigrationSource::<Sqlite>::migrations(&shop.migrations()).unwrap();
        let column = migrations
            .iter()
            .find(|migration| migration.name().to_string() == COLUMN)
            .unwrap();
        let refused = conn.revert_migration(column).unwrap_err().to_string();
        assert!(refused.contains("no such column: NEW.version"), "{refused}");
        assert_eq!(version(&mut conn, 42), 0);
    }
}

#[test]
fn adopting_the_files_serve_a_table_of_another_name_and_key() {
    let rename = |text: &str| {
        text.replace("products", "parts")
            .replace("NEW.id", "NEW.part_no")
            .replace("WHERE id", "WHERE part_no")
    };
    for trigger in [BUMP, REQUIRED] {
        let shop = Shop::with(&[]);
        let mut conn = shop.connect();
        conn.batch_execute(
            "CREATE TABLE parts (part_no TEXT PRIMARY KEY NOT NULL, qty INTEGER NOT NULL) WITHOUT ROWID;
             INSERT INTO parts VALUES ('x', 1)",
        )
        .unwrap();
        shop.copy(COLUMN, rename);
        shop.copy(trigger, rename);
        shop.migrate();
        let typed = at_a_prompt(&shop, "UPDATE parts SET qty = 2");
        let version: i64 = diesel::select(sql::<BigInt>("version FROM parts"))
            .get_result(&mut conn)
            .unwrap();
        match trigger {
            BUMP => assert_eq!((typed, version), (Ok(1), 1)),
            _ => {
                assert_raised(typed, "parts: an UPDATE must set version = version + 1");
                assert_eq!(version, 0);
            }
        }
    }
}

#[test]
fn adopting_the_guide_page_shows_the_files_as_they_are() {
    let page = include_str!("../src/guide/adopting.md");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations/adopting/sqlite");
    for migration in [COLUMN, BUMP, REQUIRED] {
        let text = std::fs::read_to_string(folder.join(migration).join("up.sql")).unwrap();
        let statements: Vec<&str> = text
            .lines()
            .filter(|line| !line.trim_start().starts_with("--"))
            .collect();
        let shown = format!("```sql\n{}\n```", statements.join("\n"));
        assert!(page.contains(&shown), "{shown}");
    }
}
