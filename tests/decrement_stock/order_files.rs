//! Orders of many lines, from files: exact for every product.

use crate::process::{example, folder, keys, number, root};
use crate::shop::{Shop, on_every_server};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// A product of the result, in units.
#[derive(Debug, PartialEq)]
struct Units {
    initial: i64,
    accepted: i64,
    left: i64,
}

fn per_product(line: &Value) -> BTreeMap<i64, Units> {
    let products = line["per_product"].as_array().unwrap().iter();
    let products = products.map(|product| {
        assert_eq!(keys(product), ["accepted", "id", "initial", "left"]);
        let units = Units {
            initial: number(product, "initial"),
            accepted: number(product, "accepted"),
            left: number(product, "left"),
        };
        (number(product, "id"), units)
    });
    products.collect()
}

/// The columns of a file of the repository.
fn columns<const N: usize>(file: &str, names: [&str; N]) -> Vec<[i64; N]> {
    let mut reader = csv::Reader::from_path(root().join("examples/data").join(file)).unwrap();
    let header = reader.headers().unwrap().clone();
    let places = names.map(|name| header.iter().position(|column| column == name).unwrap());
    let rows = reader.records().map(|row| {
        let row = row.unwrap();
        places.map(|place| row[place].parse().unwrap())
    });
    rows.collect()
}

on_every_server! {
    main_job_order_files_with_plenty_of_stock_end_as_computed_for_every_product
    main_job_scarce_stock_never_goes_below_zero_and_every_unit_is_accounted_for
}

/// With enough of everything else, the products without stock decide, whatever the interleaving.
fn main_job_order_files_with_plenty_of_stock_end_as_computed_for_every_product(shop: &Shop) {
    const TIMES: i64 = 100;
    let stock: BTreeMap<_, _> = columns("products.csv", ["productID", "unitsInStock"])
        .into_iter()
        .map(|[id, stock]| (id, stock * TIMES))
        .collect();
    let mut orders = BTreeMap::<_, Vec<_>>::new();
    for [order, product, quantity] in
        columns("order-lines.csv", ["orderID", "productID", "quantity"])
    {
        orders.entry(order).or_default().push((product, quantity));
    }
    let (accepted, refused): (Vec<_>, Vec<_>) = orders
        .values()
        .partition(|lines| lines.iter().all(|(product, _)| stock[product] > 0));
    let mut expected: BTreeMap<_, _> = stock
        .iter()
        .map(|(&id, &initial)| {
            (
                id,
                Units {
                    initial,
                    accepted: 0,
                    left: initial,
                },
            )
        })
        .collect();
    for (product, quantity) in accepted.iter().copied().flatten() {
        let units = expected.get_mut(product).unwrap();
        units.accepted += quantity;
        units.left -= quantity;
    }
    assert!(!refused.is_empty() && accepted.len() > refused.len());
    for workers in ["", "--processes"] {
        for mode in ["optimistic", "pessimistic", "guarded"] {
            let line = &shop.lines(
                &format!("--demo --times {TIMES} --mode {mode} {workers}"),
                0,
            )[0];
            assert_eq!(number(line, "accepted"), accepted.len() as i64);
            assert_eq!(number(line, "refused"), refused.len() as i64);
            assert_eq!(per_product(line), expected, "{mode} {workers}");
        }
    }
}

fn main_job_scarce_stock_never_goes_below_zero_and_every_unit_is_accounted_for(shop: &Shop) {
    let stock: BTreeMap<_, _> = columns("products.csv", ["productID", "unitsInStock"])
        .into_iter()
        .map(|[id, stock]| (id, stock))
        .collect();
    let data = root().join("examples/data");
    let data = data.to_str().unwrap();
    // The same files, found by their paths.
    let files = format!("--products {data}/products.csv --order-lines {data}/order-lines.csv");
    for (mode, orders, workers) in [
        ("optimistic", "--demo", ""),
        ("guarded", &files, ""),
        ("pessimistic", &files, ""),
        ("optimistic", &files, "--processes"),
        ("guarded", "--demo", "--processes"),
        ("pessimistic", "--demo", "--processes"),
    ] {
        let line = &shop.lines(&format!("--mode {mode} {orders} {workers}"), 0)[0];
        let products = per_product(line);
        assert!(products.keys().eq(stock.keys()));
        for (id, units) in &products {
            assert_eq!(units.initial, stock[id], "product {id}");
            assert_eq!(units.accepted + units.left, units.initial, "product {id}");
            assert!(units.left >= 0, "product {id}: {units:?}");
        }
        let left: i64 = products.values().map(|units| units.left).sum();
        assert_eq!((number(line, "left"), number(line, "lost")), (left, 0));
        assert!(
            number(line, "refused") > 0 && number(line, "accepted") > 0,
            "{line}"
        );
    }
}

#[test]
fn main_job_demo_files_are_what_their_generator_makes() {
    let folder = folder();
    let made = Command::new(example("make_demo_orders"))
        .arg(folder.path())
        .status()
        .unwrap();
    assert!(made.success());
    for file in ["products.csv", "order-lines.csv"] {
        let text = |folder: &Path| std::fs::read_to_string(folder.join(file)).unwrap();
        assert!(
            text(&root().join("examples/data")) == text(folder.path()),
            "{file}: run the example make_demo_orders"
        );
    }
}
