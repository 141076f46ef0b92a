//! What is refused: exit code 2, a message that says where, nothing on standard output, and nothing written.

use crate::process::{code, folder, run, stderr};

const PRODUCTS: &str = "productID,productName,unitsInStock\n1,tea,5\n2,\"two\nlines\",7\n";
const ORDERS: &str = "orderID,productID,quantity\n1,1,1\n\n1,2,3\n";

#[test]
fn main_job_bad_files_are_named_with_the_line_and_no_database_is_made() {
    let products = |rows: &str| format!("{PRODUCTS}{rows}");
    let orders = |rows: &str| format!("{ORDERS}{rows}");
    for (products, orders, message) in [
        (
            PRODUCTS.into(),
            orders("2,3,1\n"),
            "orders.csv: line 5: product 3 is not among",
        ),
        (
            PRODUCTS.into(),
            orders("2,1,-1\n"),
            "orders.csv: line 5: quantity is -1",
        ),
        (
            PRODUCTS.into(),
            orders("2,1,0\n"),
            "orders.csv: line 5: quantity is 0",
        ),
        (
            PRODUCTS.into(),
            orders("2,1,many\n"),
            "orders.csv: line 5: quantity is \"many\"",
        ),
        (
            PRODUCTS.into(),
            orders("2,1\n"),
            "orders.csv: line 5: 2 fields where the header has 3",
        ),
        (
            PRODUCTS.into(),
            orders("2,1,1,1\n"),
            "orders.csv: line 5: 4 fields",
        ),
        (
            PRODUCTS.into(),
            orders("\r\n\r\n,1,1\n"),
            "orders.csv: line 7: orderID is \"\"",
        ),
        (
            PRODUCTS.into(),
            orders("1,1,2147483647\n"),
            "orders.csv: line 5: order 1 takes more than",
        ),
        (
            PRODUCTS.into(),
            "orderID,productID\n1,1\n".into(),
            "orders.csv: line 1: there is no column quantity",
        ),
        (
            PRODUCTS.into(),
            "orderID,productID,quantity\n".into(),
            "orders.csv: no orders in it",
        ),
        (
            products("1,tea,5\n"),
            ORDERS.into(),
            "products.csv: line 5: product 1 is already in line 2",
        ),
        (
            products("3,x,-1\n"),
            ORDERS.into(),
            "products.csv: line 5: unitsInStock is -1",
        ),
        (
            products("3,x,1073741824\n"),
            ORDERS.into(),
            "products.csv: line 5: unitsInStock 1073741824 times 2 is more than",
        ),
        (
            products("3,x,\n"),
            ORDERS.into(),
            "products.csv: line 5: unitsInStock is \"\"",
        ),
        (
            "productID,productName\n1,tea\n".into(),
            ORDERS.into(),
            "products.csv: line 1: there is no column unitsInStock",
        ),
        (
            String::new(),
            ORDERS.into(),
            "products.csv: line 1: there is no column productID",
        ),
    ] {
        let folder = folder();
        std::fs::write(folder.path().join("products.csv"), products).unwrap();
        std::fs::write(folder.path().join("orders.csv"), orders).unwrap();
        let output = run(
            folder.path(),
            "--products products.csv --order-lines orders.csv --times 2 --database-url shop.db",
        );
        assert_eq!(code(&output), 2, "{message}: {}", stderr(&output));
        assert!(
            stderr(&output).contains(message),
            "{message}: {}",
            stderr(&output)
        );
        assert!(output.stdout.is_empty(), "{message}");
        assert!(!folder.path().join("shop.db").exists(), "{message}");
    }
}

#[test]
fn main_job_bad_options_are_named_and_no_database_is_made() {
    for (arguments, message) in [
        (
            "--mode adaptive",
            "--mode adaptive comes with a later version",
        ),
        (
            "--mode careful",
            "--mode careful: there are unchecked, optimistic, pessimistic, guarded and all",
        ),
        ("--workers 0", "--workers 0: it must be from 1 to"),
        ("--stock -1", "--stock -1: it must be from 0"),
        ("--orders x", "--orders x: invalid digit"),
        ("--times 2", "--times is for files"),
        (
            "--demo --orders 5",
            "--stock and --orders do not go with files",
        ),
        (
            "--demo --products p.csv --order-lines o.csv",
            "--demo brings its own files",
        ),
        ("--products p.csv", "--products needs --order-lines"),
        ("--products p.csv --order-lines o.csv", "p.csv: "),
        (
            "--demo --times 2147483647",
            "examples/data/products.csv: line 2: ",
        ),
        ("--colour", "invalid option '--colour'"),
        ("now", "unexpected argument \"now\""),
    ] {
        let folder = folder();
        let output = run(
            folder.path(),
            &format!("--database-url shop.db {arguments}"),
        );
        assert_eq!(code(&output), 2, "{arguments}: {}", stderr(&output));
        assert!(
            stderr(&output).contains(message),
            "{arguments}: {}",
            stderr(&output)
        );
        assert!(output.stdout.is_empty(), "{arguments}");
        assert!(!folder.path().join("shop.db").exists(), "{arguments}");
    }
}

#[cfg(not(feature = "postgres"))]
#[test]
fn main_job_postgres_that_is_not_compiled_in_says_which_feature_brings_it() {
    assert_feature_is_named("postgres", "postgres");
    assert_feature_is_named("postgresql", "postgres");
}

#[cfg(not(feature = "mysql"))]
#[test]
fn main_job_mysql_that_is_not_compiled_in_says_which_feature_brings_it() {
    assert_feature_is_named("mysql", "mysql");
}

#[cfg(not(all(feature = "postgres", feature = "mysql")))]
fn assert_feature_is_named(scheme: &str, feature: &str) {
    let folder = folder();
    let url = format!("{scheme}://ada:kanari@localhost/shop");
    let output = run(folder.path(), &format!("--database-url {url}"));
    assert_eq!(code(&output), 2, "{}", stderr(&output));
    assert!(output.stdout.is_empty());
    assert_eq!(
        stderr(&output),
        format!(
            "decrement_stock: --database-url: {scheme}:// needs the feature `{feature}`: cargo run --features \
             {feature} --example decrement_stock -- --database-url {scheme}://..\n"
        )
    );
}

#[test]
fn main_job_database_that_cannot_serve_is_refused() {
    for (url, message) in [
        ("https://localhost/shop", "nothing here talks https://"),
        ("mariadb://localhost/shop", "by mysql://"),
        (":memory:", "the path of a file that all of them can open"),
        (
            "sqlite://:memory:",
            "the path of a file that all of them can open",
        ),
        (
            "missing/shop.db",
            "missing/shop.db: unable to open database file",
        ),
        ("letter.txt", "letter.txt: file is not a database"),
    ] {
        let folder = folder();
        let letter = folder.path().join("letter.txt");
        std::fs::write(&letter, "Dear customer,\nit is sold out.\n".repeat(40)).unwrap();
        let output = run(folder.path(), &format!("--orders 5 --database-url {url}"));
        assert_eq!(code(&output), 2, "{url}: {}", stderr(&output));
        assert!(
            stderr(&output).contains(message),
            "{url}: {}",
            stderr(&output)
        );
        assert!(output.stdout.is_empty(), "{url}");
        let files = std::fs::read_dir(folder.path()).unwrap();
        assert_eq!(files.count(), 1, "{url} left something behind");
    }
}
