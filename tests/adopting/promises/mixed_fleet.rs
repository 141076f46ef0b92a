//! Programs of both kinds at work on one row.

use super::*;
use std::time::Duration;

const SELL_ONE: &str = "UPDATE products SET stock = stock - 1 WHERE id = 42";

/// One `modify` that a raw decrement overtakes between its read and its write, and how often its closure ran.
fn overtaken(shop: &Shop) -> u32 {
    let mut conn = shop.connect();
    let mut runs = 0;
    conn.modify(42, Mode::optimistic(), |tea: &mut Product| {
        runs += 1;
        if runs == 1 {
            assert_eq!(at_a_prompt(shop, SELL_ONE), Ok(1));
        }
        tea.stock -= 1;
    })
    .unwrap();
    runs
}

#[test]
fn adopting_without_the_bump_a_modify_that_a_raw_decrement_overtakes_loses_it() {
    let shop = Shop::with(&[COLUMN]);
    assert_eq!(overtaken(&shop), 1);
    let mut conn = shop.connect();
    assert_eq!((stock(&mut conn, 42), version(&mut conn, 42)), (49, 1));
}

#[test]
fn adopting_with_the_bump_a_modify_that_a_raw_decrement_overtakes_runs_again() {
    let shop = Shop::with(&[COLUMN, BUMP]);
    assert_eq!(overtaken(&shop), 2);
    let mut conn = shop.connect();
    assert_eq!((stock(&mut conn, 42), version(&mut conn, 42)), (48, 2));
}

#[test]
fn adopting_with_the_bump_both_kinds_of_writers_at_once_sell_exactly_what_they_sold() {
    const WRITERS: i32 = 3;
    const EACH: i32 = 20;
    let shop = Shop::with(&[COLUMN, BUMP]);
    at_a_prompt(&shop, "UPDATE products SET stock = 1000, version = 1000").unwrap();
    let start = std::sync::Barrier::new(2 * WRITERS as usize);
    let patient = Retry::default()
        .attempts(10_000)
        .cap(Duration::from_millis(10))
        .deadline(Duration::from_secs(60));
    std::thread::scope(|scope| {
        for _ in 0..WRITERS {
            scope.spawn(|| {
                let mut conn = shop.connect();
                start.wait();
                for _ in 0..EACH {
                    let mode = Mode::optimistic().retry(patient.clone());
                    conn.modify(42, mode, |tea: &mut Product| tea.stock -= 1)
                        .unwrap();
                }
            });
            scope.spawn(|| {
                let mut conn = shop.connect();
                start.wait();
                for _ in 0..EACH {
                    let rows = diesel::sql_query(SELL_ONE).execute(&mut conn);
                    assert_eq!(rows, Ok(1));
                }
            });
        }
    });
    let mut conn = shop.connect();
    let sold = 2 * WRITERS * EACH;
    assert_eq!(stock(&mut conn, 42), 1000 - sold);
    assert_eq!(version(&mut conn, 42), 1000 + i64::from(sold));
}
