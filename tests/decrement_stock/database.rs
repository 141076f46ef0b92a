//! A database that was there before: what is in it stays, and a table that is not the example's own is not taken for it.

use crate::process::{code, number, run, stderr};
use crate::shop::{Shop, on_every_server, sqlite};
use serde_json::Value;

on_every_server! {
    main_job_database_of_somebody_keeps_what_is_in_it
    main_job_table_that_is_not_the_examples_own_is_left_alone
    main_job_checked_mode_that_loses_exits_with_one
    main_job_bad_input_makes_no_table
}

fn main_job_database_of_somebody_keeps_what_is_in_it(shop: &Shop) {
    shop.execute("CREATE TABLE customers (name TEXT); INSERT INTO customers VALUES ('Ada');");
    // Twice: the second run finds the table of the first.
    for url in [&shop.url, &shop.other_url] {
        let arguments = format!("--mode guarded --stock 5 --orders 8 --database-url {url}");
        let output = run(shop.folder.path(), &arguments);
        assert_eq!(code(&output), 0, "{}", stderr(&output));
    }
    let ada = "SELECT 7 FROM customers WHERE name = 'Ada'";
    assert_eq!(shop.number(ada), 7);
    assert_eq!(shop.number("SELECT stock FROM decrement_stock_products"), 0);
}

fn main_job_table_that_is_not_the_examples_own_is_left_alone(shop: &Shop) {
    let commented = match shop.backend {
        "sqlite" => "CREATE TABLE decrement_stock_products (id INTEGER /* Made by hand. */)",
        "postgres" => {
            "CREATE TABLE decrement_stock_products (id INTEGER); \
             COMMENT ON TABLE decrement_stock_products IS 'Made by hand.'"
        }
        _ => "CREATE TABLE decrement_stock_products (id INTEGER) COMMENT = 'Made by hand.'",
    };
    for (theirs, kind) in [
        (
            "CREATE TABLE decrement_stock_products (id INTEGER)",
            "TABLE",
        ),
        (commented, "TABLE"),
        (
            "CREATE VIEW decrement_stock_products AS SELECT 7 AS id",
            "VIEW",
        ),
    ] {
        shop.execute(theirs);
        if kind == "TABLE" {
            shop.execute("INSERT INTO decrement_stock_products VALUES (7)");
        }
        let output = shop.run("--orders 8");
        assert_eq!(code(&output), 2, "{theirs}");
        let message = ": it has a table decrement_stock_products that this example has not made";
        assert!(stderr(&output).contains(message), "{}", stderr(&output));
        assert!(output.stdout.is_empty(), "{theirs}");
        assert_eq!(
            shop.number("SELECT id FROM decrement_stock_products"),
            7,
            "{theirs}"
        );
        shop.execute(&format!("DROP {kind} decrement_stock_products"));
    }
}

/// A trigger that gives units back stands for a check that does not work.
fn main_job_checked_mode_that_loses_exits_with_one(shop: &Shop) {
    let arguments = "--stock 10 --orders 12 --json --mode";
    let output = shop.run(&format!("{arguments} guarded"));
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    shop.execute(match shop.backend {
        "sqlite" => {
            "CREATE TRIGGER giving_back AFTER UPDATE ON decrement_stock_products WHEN NEW.stock = 5 \
             BEGIN UPDATE decrement_stock_products SET stock = 6 WHERE id = NEW.id; END"
        }
        "postgres" => {
            "CREATE FUNCTION give_back() RETURNS trigger LANGUAGE plpgsql AS \
             'BEGIN NEW.stock := 6; RETURN NEW; END'; \
             CREATE TRIGGER giving_back BEFORE UPDATE ON decrement_stock_products FOR EACH ROW \
             WHEN (NEW.stock = 5) EXECUTE FUNCTION give_back()"
        }
        _ => {
            "CREATE TRIGGER giving_back BEFORE UPDATE ON decrement_stock_products FOR EACH ROW \
             SET NEW.stock = IF(NEW.stock = 5, 6, NEW.stock)"
        }
    });
    for mode in ["guarded", "optimistic", "pessimistic", "all"] {
        let output = shop.run(&format!("{arguments} {mode}"));
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

fn main_job_bad_input_makes_no_table(shop: &Shop) {
    for arguments in [
        "--stock 5 --orders x",
        "--products p.csv --order-lines o.csv",
    ] {
        let output = shop.run(arguments);
        assert_eq!(code(&output), 2, "{arguments}");
        assert!(!shop.has_the_table(), "{arguments}");
    }
}

/// SQLite takes names for the same whatever their case, and would switch the whole file to a write-ahead log.
#[test]
fn main_job_file_with_a_table_that_is_not_the_examples_own_stays_as_it_was() {
    let shop = sqlite();
    shop.execute("CREATE TABLE Decrement_Stock_Products (id INTEGER); INSERT INTO Decrement_Stock_Products VALUES (7);");
    let file = shop.folder.path().join("shop.db");
    let before = std::fs::read(&file).unwrap();
    let output = shop.run("--orders 8");
    assert_eq!(code(&output), 2);
    assert!(
        stderr(&output).contains("shop.db: it has a table decrement_stock_products"),
        "{}",
        stderr(&output)
    );
    assert_eq!(std::fs::read(&file).unwrap(), before);
}
