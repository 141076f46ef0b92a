//! What is shown to people, and what the processes say to each other.

use crate::process::{code, folder, run, stderr};
use crate::shop::{Shop, on_every_server};
use serde_json::Value;
use std::path::Path;

on_every_server! {
    main_job_table_shows_every_mode_and_how_evenly_the_workers_were_served
}

fn main_job_table_shows_every_mode_and_how_evenly_the_workers_were_served(shop: &Shop) {
    let output = shop.run("--stock 40 --orders 60 --workers 3 --mode guarded");
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert_eq!(
        stderr(&output),
        "",
        "no progress bar where there is no terminal"
    );
    let stdout = String::from_utf8(output.stdout).unwrap();
    let head = format!(
        "60 orders of one unit, 40 in stock, 3 threads, {}\n",
        shop.server
    );
    assert!(stdout.starts_with(&head), "{stdout}");
    let table: Vec<Vec<_>> = stdout
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    let head = table
        .iter()
        .position(|line| line.first() == Some(&"mode"))
        .unwrap();
    let (names, values) = (&table[head], &table[head + 1]);
    assert_eq!(
        names,
        &[
            "mode",
            "accepted",
            "refused",
            "left",
            "lost",
            "conflicts",
            "retries",
            "seconds",
            "orders/s",
            "served"
        ]
    );
    assert_eq!(values[..7], ["guarded", "40", "20", "0", "0", "0", "0"]);
    let (least, most) = values[9].split_once("..").unwrap();
    let (least, most): (u32, u32) = (least.parse().unwrap(), most.parse().unwrap());
    assert!(least <= most && most <= 40 && 3 * most >= 40, "{stdout}");
}

#[test]
fn main_job_without_a_database_url_runs_in_a_temporary_file_that_goes() {
    let output = run(folder().path(), "--stock 4 --orders 6 --mode guarded");
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let stdout = String::from_utf8(output.stdout).unwrap();
    let (_, file) = stdout
        .lines()
        .next()
        .unwrap()
        .split_once("SQLite ")
        .unwrap();
    assert!(file.ends_with("decrement_stock.db"), "{stdout}");
    assert!(!Path::new(file).exists(), "{file}");
}

#[test]
fn main_job_worker_that_its_parent_leaves_goes_home() {
    let output = run(folder().path(), "--internal-worker");
    assert_eq!(code(&output), 0);
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["error"], "the parent has hung up");
}
