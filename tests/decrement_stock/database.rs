//! A database that was there before: what is in it stays, and a table that is not the example's own is not taken for it.

use crate::process::{code, folder, number, run, stderr};
use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use serde_json::Value;
use std::path::Path;

fn connect(file: &Path) -> SqliteConnection {
    SqliteConnection::establish(file.to_str().unwrap()).unwrap()
}

#[test]
fn main_job_database_of_somebody_keeps_what_is_in_it() {
    let folder = folder();
    let file = folder.path().join("shop.db");
    let theirs = "CREATE TABLE customers (name TEXT); INSERT INTO customers VALUES ('Ada');";
    connect(&file).batch_execute(theirs).unwrap();
    // Twice: the second run finds the table of the first.
    for url in ["shop.db", "sqlite://shop.db"] {
        let arguments = format!("--mode guarded --stock 5 --orders 8 --database-url {url}");
        let output = run(folder.path(), &arguments);
        assert_eq!(code(&output), 0, "{}", stderr(&output));
    }
    let conn = &mut connect(&file);
    let stock = diesel::dsl::sql::<diesel::sql_types::BigInt>;
    let count = |conn: &mut SqliteConnection, query| {
        diesel::select(stock(query))
            .get_result::<i64>(conn)
            .unwrap()
    };
    assert_eq!(
        count(conn, "(SELECT count(*) FROM customers WHERE name = 'Ada')"),
        1
    );
    assert_eq!(
        count(conn, "(SELECT stock FROM decrement_stock_products)"),
        0
    );
}

#[test]
fn main_job_table_that_is_not_the_examples_own_is_left_alone() {
    let folder = folder();
    let file = folder.path().join("shop.db");
    let theirs = "CREATE TABLE Decrement_Stock_Products (id INTEGER); INSERT INTO Decrement_Stock_Products VALUES (7);";
    connect(&file).batch_execute(theirs).unwrap();
    let before = std::fs::read(&file).unwrap();
    let output = run(folder.path(), "--orders 8 --database-url shop.db");
    assert_eq!(code(&output), 2);
    assert!(
        stderr(&output).contains("shop.db: it has a table decrement_stock_products"),
        "{}",
        stderr(&output)
    );
    assert_eq!(std::fs::read(&file).unwrap(), before);
}

/// A trigger that gives units back stands for a check that does not work.
#[test]
fn main_job_checked_mode_that_loses_exits_with_one() {
    let folder = folder();
    let arguments = "--stock 10 --orders 12 --database-url shop.db --json --mode";
    let output = run(folder.path(), &format!("{arguments} guarded"));
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let giving_back = "CREATE TRIGGER giving_back AFTER UPDATE ON decrement_stock_products WHEN NEW.stock = 5 \
        BEGIN UPDATE decrement_stock_products SET stock = 6 WHERE id = NEW.id; END";
    connect(&folder.path().join("shop.db"))
        .batch_execute(giving_back)
        .unwrap();
    for mode in ["guarded", "optimistic", "all"] {
        let output = run(folder.path(), &format!("{arguments} {mode}"));
        assert_eq!(code(&output), 1, "{mode}: {}", stderr(&output));
        assert!(
            stderr(&output).contains("is a checked mode, and its count is wrong: "),
            "{}",
            stderr(&output)
        );
        let stdout = String::from_utf8(output.stdout).unwrap();
        let line: Value = serde_json::from_str(stdout.lines().last().unwrap()).unwrap();
        let counts = ["accepted", "refused", "left", "lost"].map(|name| number(&line, name));
        assert_eq!(counts, [12, 0, 6, 8], "{mode}");
    }
}
