//! Rows that have no version yet: a column that is there already, and may be NULL.

use super::*;
use crate::expect::{MUST_MOVE, assert_modified, assert_raised};
use std::sync::Barrier;

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
