//! One product that everybody wants: what the modes make of it.

use crate::process::{code, keys, number, stderr};
use crate::shop::{Shop, on_every_server};

on_every_server! {
    main_job_checked_modes_sell_every_unit_once_by_threads_and_by_processes
    row_r1_default_retries_suffice_on_the_hottest_row
    row_o2_unchecked_loses_updates_and_the_checked_modes_do_not
    row_p4_pessimistic_loses_no_race_and_starves_nobody
    main_job_unchecked_that_loses_nothing_exits_with_three_and_says_so
}

fn main_job_checked_modes_sell_every_unit_once_by_threads_and_by_processes(shop: &Shop) {
    for workers in ["", "--processes"] {
        for mode in ["optimistic", "pessimistic", "guarded"] {
            let arguments = format!("--mode {mode} --workers 8 --stock 500 --orders 600 {workers}");
            let lines = shop.lines(&arguments, 0);
            let [line] = lines.as_slice() else {
                panic!("{lines:?}")
            };
            assert_eq!(
                keys(line),
                [
                    "accepted",
                    "backend",
                    "conflicts",
                    "least",
                    "left",
                    "lost",
                    "mode",
                    "most",
                    "orders",
                    "refused",
                    "retries",
                    "seconds",
                    "workers"
                ]
            );
            assert_eq!(
                (&line["mode"], &line["backend"]),
                (&mode.into(), &shop.backend.into())
            );
            let counts = ["workers", "orders", "accepted", "refused", "left", "lost"];
            let counts = counts.map(|name| number(line, name));
            assert_eq!(counts, [8, 600, 500, 100, 0, 0], "{arguments}");
            assert!(line["seconds"].as_f64().unwrap() > 0.0);
            assert_eq!(shop.number("SELECT stock FROM decrement_stock_products"), 0);
        }
    }
}

fn row_r1_default_retries_suffice_on_the_hottest_row(shop: &Shop) {
    for workers in ["", "--processes"] {
        for mode in ["optimistic", "pessimistic", "guarded"] {
            let arguments = format!("--mode {mode} --stock 1000 --orders 1200 {workers}");
            let line = &shop.lines(&arguments, 0)[0];
            let counts = ["accepted", "refused", "left", "lost"].map(|name| number(line, name));
            assert_eq!(counts, [1000, 200, 0, 0], "{arguments}");
            assert_eq!(number(line, "retries"), number(line, "conflicts"), "{line}");
        }
    }
}

fn row_o2_unchecked_loses_updates_and_the_checked_modes_do_not(shop: &Shop) {
    for workers in ["", "--processes"] {
        let lines = shop.lines(&format!("--mode all --stock 300 --orders 360 {workers}"), 0);
        let modes: Vec<_> = lines
            .iter()
            .map(|line| line["mode"].as_str().unwrap())
            .collect();
        assert_eq!(modes, ["unchecked", "optimistic", "pessimistic", "guarded"]);
        for line in &lines {
            let [accepted, left, lost] =
                ["accepted", "left", "lost"].map(|name| number(line, name));
            assert_eq!(lost, accepted - (300 - left), "{line}");
            assert_eq!(lost > 0, line["mode"] == "unchecked", "{line}");
            assert_eq!(accepted + number(line, "refused"), 360, "{line}");
        }
    }
}

/// By threads, which take their orders from one queue: what each of them gets is what the lock gives it.
fn row_p4_pessimistic_loses_no_race_and_starves_nobody(shop: &Shop) {
    let arguments = "--mode pessimistic --workers 8 --stock 4000 --orders 4000";
    let line = &shop.lines(arguments, 0)[0];
    let counts = ["accepted", "lost", "conflicts", "retries"].map(|name| number(line, name));
    assert_eq!(counts, [4000, 0, 0, 0], "{line}");
    let share = 4000 / 8;
    assert!(2 * number(line, "least") >= share, "{line}");
}

fn main_job_unchecked_that_loses_nothing_exits_with_three_and_says_so(shop: &Shop) {
    let output = shop.run("--workers 1 --orders 20");
    assert_eq!(code(&output), 3);
    assert!(
        stderr(&output).contains("unchecked lost nothing"),
        "{}",
        stderr(&output)
    );
}
