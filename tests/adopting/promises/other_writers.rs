//! Writers that know no version: unseen, noticed, or refused.

use super::super::{ALSO_REFUSED, CANNOT_GROW, THE_BUMP_COMES_FIRST, UPSERT};
use super::*;
use crate::expect::{MUST_MOVE, assert_modified, assert_raised};
use diesel_occ::{Error, Fault};
use std::time::Duration;

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
    for setting in SETTINGS {
        let shop = Shop::with(&[COLUMN, BUMP]);
        let mut conn = shop.connect();
        let tea = conn.fetch::<Product>(42).unwrap();

        let mut prompt = shop.connect();
        prompt.batch_execute(setting).unwrap();
        let rows = diesel::sql_query("UPDATE products SET stock = 20 WHERE id = 42")
            .execute(&mut prompt)
            .unwrap();
        assert_eq!(rows, 1, "what the trigger does is not counted");

        assert_modified(conn.verify(&tea), "0", "1");
        assert_modified(conn.save(&tea), "0", "1");
        assert_eq!(stock(&mut conn, 42), 20);
        conn.touch(Product::at(42, 1)).unwrap();
    }
}

#[test]
fn adopting_with_the_bump_a_save_that_waits_for_such_a_writer_conflicts() {
    let shop = Shop::with(&[COLUMN, BUMP]);
    let mut conn = shop.connect();
    let tea = conn.fetch::<Product>(42).unwrap();
    let mut prompt = shop.connect();
    prompt
        .batch_execute("BEGIN; UPDATE products SET stock = 20 WHERE id = 42")
        .unwrap();
    let saved = std::thread::scope(|scope| {
        let saving = scope.spawn(|| conn.save(&tea));
        // Long enough for the save to be sent. Were it sent later, it would conflict all the same.
        std::thread::sleep(Duration::from_millis(100));
        assert!(!saving.is_finished(), "it waits");
        prompt.batch_execute("COMMIT").unwrap();
        saving.join().unwrap()
    });
    assert_modified(saved, "0", "1");
    assert_eq!(stock(&mut conn, 42), 20);
}

#[test]
fn adopting_the_bump_counts_each_row_of_an_update_also_when_it_changes_nothing() {
    let shop = Shop::with(&[COLUMN, BUMP]);
    let mut conn = shop.connect();
    conn.touch(Product::at(43, 0)).unwrap();
    let rows = at_a_prompt(&shop, "UPDATE products SET stock = stock").unwrap();
    assert_eq!(rows, 2);
    assert_eq!((version(&mut conn, 42), version(&mut conn, 43)), (1, 2));
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
    let refused = [
        "UPDATE products SET stock = 20 WHERE id = 42",
        "UPDATE products SET stock = stock",
        "UPDATE products SET stock = 20, version = 0 WHERE id = 42",
        "UPDATE products SET stock = 20, version = version + 2 WHERE id = 42",
        "UPDATE products SET stock = 20, version = version - 1 WHERE id = 42",
    ];
    for statement in refused.iter().chain(ALSO_REFUSED) {
        println!("{statement}");
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
fn adopting_with_both_triggers_the_first_one_has_its_way() {
    let shop = Shop::with(&[COLUMN, BUMP, REQUIRED]);
    let mut conn = shop.connect();
    let typed = at_a_prompt(&shop, "UPDATE products SET stock = 20 WHERE id = 42");
    if THE_BUMP_COMES_FIRST {
        assert_eq!(typed, Ok(1));
        assert_eq!(version(&mut conn, 42), 1);
    } else {
        assert_raised(typed, MUST_MOVE);
    }
    every_write(&mut conn);
}

#[test]
fn adopting_the_refusing_trigger_takes_over_from_the_one_that_bumps_without_a_gap() {
    let shop = Shop::with(&[COLUMN, BUMP]);
    let mut conn = shop.connect();
    shop.copy(REQUIRED, str::to_owned);
    shop.migrate();
    let typed = "UPDATE products SET stock = 20 WHERE id = 42";
    let tea = conn.fetch::<Product>(42).unwrap();
    match at_a_prompt(&shop, typed) {
        Ok(_) => assert_modified(conn.save(&tea), "0", "1"),
        refused => assert_raised(refused, MUST_MOVE),
    }
    conn.batch_execute(&template(SERVER, BUMP, "down.sql"))
        .unwrap();
    assert_raised(at_a_prompt(&shop, typed), MUST_MOVE);
    every_write(&mut conn);
}

#[test]
fn adopting_an_upsert_is_an_update_to_the_triggers() {
    let shop = Shop::with(&[COLUMN, BUMP]);
    at_a_prompt(&shop, UPSERT).unwrap();
    let mut conn = shop.connect();
    assert_eq!((stock(&mut conn, 42), version(&mut conn, 42)), (20, 1));
    let shop = Shop::with(&[COLUMN, REQUIRED]);
    assert_raised(at_a_prompt(&shop, UPSERT), MUST_MOVE);
}

#[test]
fn row_o8_at_the_largest_version_either_trigger_refuses() {
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
            BUMP => ("UPDATE products SET stock = 20", CANNOT_GROW[0]),
            _ => (
                "UPDATE products SET stock = 20, version = version + 1",
                CANNOT_GROW[1],
            ),
        };
        let said = at_a_prompt(&shop, typed).unwrap_err().to_string();
        assert!(said.starts_with(sentence), "{said}");
        assert_eq!(
            (stock(&mut conn, 42), version(&mut conn, 42)),
            (50, i64::MAX)
        );
        let full = conn.touch(Product::at(42, i64::MAX));
        assert!(matches!(full, Err(Error::VersionOverflow(_))), "{full:?}");
    }
}
