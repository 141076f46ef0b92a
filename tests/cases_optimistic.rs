//! Reports by users of other systems, each as one small test: the version, the update, the delete, the retry. The letter and
//! number name the report; the row of the feature table that it belongs to says what is promised.
#![cfg(all(feature = "sqlite", feature = "r2d2"))]

mod support;

use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel_occ::prelude::*;
use diesel_occ::{ConflictKind, Error, Removal};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use support::*;

on_every_connection! {
    // A flag of the thread leaked from one policy into another.
    fn case_optimistic_r11_two_policies_at_once_keep_apart(bed) {
        let (conn, other) = (&mut bed.connect(), &mut bed.connect());
        let (mut outer, mut inner) = (0, 0);
        let result = conn.modify(42, Mode::optimistic().retry(Retry::never()), |_: &mut Product| {
            outer += 1;
            let policy = Retry::default().attempts(3).timer(FakeTimer::new(0.0));
            let lost = other.transact(&policy, |tx| { inner += 1; tx.touch(Product::at(43, 9)) });
            assert!(matches!(lost, Err(Error::RetriesExhausted(_))));
        });
        result.unwrap();
        assert_eq!((outer, inner), (1, 3));
    }

    // A second save after a conflict went through, because the failed one had moved the version in memory.
    fn case_optimistic_v1_a_second_save_after_a_conflict_conflicts_too(bed) {
        let (first, second) = (&mut bed.connect(), &mut bed.connect());
        let mut stale = second.fetch::<Product>(42).unwrap();
        let mut winner = first.fetch::<Product>(42).unwrap();
        winner.stock = 1;
        first.save(&winner).unwrap();
        stale.stock = 2;
        for _ in 0..2 {
            assert!(matches!(second.save(&stale), Err(Error::Conflict(_))));
        }
        assert_eq!(first.fetch::<Product>(42).unwrap().stock, 1);
    }

    // A version that moved behind a savepoint was kept in memory after the savepoint was taken back.
    fn case_optimistic_v3_an_update_after_a_rolled_back_savepoint_starts_from_the_stored_version(bed) {
        let conn = &mut bed.connect();
        conn.transact(&Retry::never(), |tx| -> Result<(), App> {
            let product = tx.fetch::<Product>(42)?;
            let undone: Result<(), App> = tx.savepoint(|tx| {
                tx.save(&product)?;
                Err(App::OutOfStock)
            });
            assert!(undone.is_err());
            tx.save(&product)?;
            Ok(())
        }).unwrap();
        assert_eq!(conn.fetch::<Product>(42).unwrap().version, 8);
    }

    // At the largest number the version wrapped, became a float, or the process ended.
    fn case_optimistic_v5_the_largest_version_is_a_typed_error_and_the_row_stays(bed) {
        let conn = &mut bed.connect();
        conn.batch_execute("
            UPDATE products SET version = 9223372036854775807 WHERE id = 42; UPDATE docs SET v = 32767 WHERE id = 2;
            UPDATE parts SET lock_version = 2147483647;
        ").unwrap();
        let product = conn.fetch::<Product>(42).unwrap();
        let part = conn.fetch::<Part>((1, "x".into())).unwrap();
        let doc = conn.fetch::<Doc>(2).unwrap();
        assert!(matches!(conn.save(&product), Err(Error::VersionOverflow(_))));
        assert!(matches!(conn.save(&part), Err(Error::VersionOverflow(_))));
        assert!(matches!(conn.save(&doc), Err(Error::VersionOverflow(_))));
        assert_eq!(conn.fetch::<Product>(42).unwrap(), product);
        assert_eq!(conn.fetch::<Part>((1, "x".into())).unwrap(), part);
        assert_eq!(conn.fetch::<Doc>(2).unwrap(), doc);
    }

    // NULL = NULL is not true: rows from before the version column could never be saved, or were saved by everybody.
    fn case_optimistic_v7_of_two_first_updates_of_a_row_without_a_version_one_wins(bed) {
        let (first, second) = (&mut bed.connect(), &mut bed.connect());
        let (one, two) = (first.fetch::<Doc>(1).unwrap(), second.fetch::<Doc>(1).unwrap());
        assert_eq!(first.save(&Doc { body: "one".into(), ..one }).unwrap().v, Some(1));
        let lost = second.save(&Doc { body: "two".into(), ..two });
        assert!(matches!(lost, Err(Error::Conflict(_))), "{lost:?}");
        assert_eq!(second.fetch::<Doc>(1).unwrap().body, "one");
    }

    // The server read the row again right before it wrote, so that what the client had seen was never compared.
    fn case_optimistic_v11_the_expected_version_is_the_clients_and_not_a_fresh_one(bed) {
        let (conn, other) = (&mut bed.connect(), &mut bed.connect());
        let form = conn.fetch::<Product>(42).unwrap().version;
        other.touch(Product::at(42, form)).unwrap();
        let lost = conn.versioned_update(Product::at(42, form), products::stock.eq(0));
        assert!(matches!(lost, Err(Error::Conflict(_))), "{lost:?}");
    }

    // Fields and a forced increment in one unit of work moved the version twice.
    fn case_optimistic_v13_changes_and_bump_in_one_statement_move_the_version_once(bed) {
        let conn = &mut bed.connect();
        let product = conn.fetch::<Product>(42).unwrap();
        let log = Log::on(conn);
        let row = conn.versioned_update(&product, products::stock.eq(3)).unwrap();
        assert_eq!((row.version, log.statements().len()), (8, 1));
        conn.transact(&Retry::never(), |tx| -> Result<(), App> {
            let row = tx.versioned_update(&row, products::stock.eq(4))?;
            tx.touch(row)?;
            Ok(())
        }).unwrap();
        assert_eq!(conn.fetch::<Product>(42).unwrap().version, 10, "two writes are two versions");
    }

    // The check took the place of what else an update writes, such as the time of the change.
    fn case_optimistic_v15_other_columns_of_the_changes_are_still_written(bed) {
        let conn = &mut bed.connect();
        conn.versioned_update(Product::at(42, 7), (products::stock.eq(3), products::updated_at.eq("now"))).unwrap();
        let (stock, at): (i32, Option<String>) =
            products::table.find(42).select((products::stock, products::updated_at)).get_result(conn).unwrap();
        assert_eq!((stock, at.as_deref()), (3, Some("now")));
    }

    // Saving an object that had no changes wrote its old version back.
    fn case_optimistic_v17_a_stale_save_without_changes_does_not_turn_the_version_back(bed) {
        let (conn, other) = (&mut bed.connect(), &mut bed.connect());
        let stale = conn.fetch::<Product>(42).unwrap();
        let row = other.touch(&stale).unwrap();
        other.touch(row).unwrap();
        assert!(matches!(conn.save(&stale), Err(Error::Conflict(_))));
        assert_eq!(conn.fetch::<Product>(42).unwrap().version, 9);
    }

    // The answer to an update that changed nothing named a version that was never stored.
    fn case_optimistic_u3_an_update_that_changes_nothing_answers_the_stored_version(bed) {
        let conn = &mut bed.connect();
        let product = conn.fetch::<Product>(42).unwrap();
        let saved = conn.save(&product).unwrap();
        assert_eq!(saved, conn.fetch::<Product>(42).unwrap());
        let row = conn.versioned_update(&saved, products::stock.eq(saved.stock)).unwrap();
        assert_eq!(row.version, conn.fetch::<Product>(42).unwrap().version);
    }

    // The check was a SELECT, and the write after it had no condition.
    fn case_optimistic_u5_a_foreign_commit_between_any_read_and_the_write_is_a_conflict(bed) {
        let (conn, other) = (&mut bed.connect(), &mut bed.connect());
        let product = conn.fetch::<Product>(42).unwrap();
        conn.verify(&product).unwrap();
        other.unchecked_touch(Product::key(42)).unwrap();
        let log = Log::on(conn);
        assert!(matches!(conn.save(&product), Err(Error::Conflict(_))));
        let sent = log.statements();
        assert!(sent[0].starts_with("UPDATE") && sent[0].split(" WHERE ").nth(1).unwrap().contains("`version` = ?"), "{sent:?}");
        // And inside `modify`, between its own read and its write.
        let mut runs = 0;
        conn.modify(42, Mode::optimistic(), |product: &mut Product| {
            runs += 1;
            if runs == 1 {
                other.guarded_update(Product::key(42), products::stock.ge(0), products::stock.eq(10)).unwrap();
            }
            product.stock -= 1;
        }).unwrap();
        assert_eq!((runs, conn.fetch::<Product>(42).unwrap().stock), (2, 9));
    }

    // Saving some columns moved the version in memory and not in the database.
    fn case_optimistic_u7_after_a_partial_update_value_and_row_have_one_version(bed) {
        let conn = &mut bed.connect();
        let row = conn.versioned_update(Product::at(42, 7), products::name.eq("n")).unwrap();
        let stored = conn.fetch::<Product>(42).unwrap();
        assert_eq!((row, stored.name.as_str(), stored.stock), (Product::at(42, 8), "n", 50));
    }

    // Of a composite key one column was lost on the way to the WHERE.
    fn case_optimistic_u9_a_composite_key_is_whole_in_the_where_and_a_broken_one_writes_nothing(bed) {
        let conn = &mut bed.connect();
        let log = Log::on(conn);
        conn.versioned_update(Part::at((1, "x".into()), 3), parts::qty.eq(0)).unwrap();
        let sent = log.statements();
        assert!(sent[0].contains(" WHERE `tenant` = ? AND `id` = ? AND "), "{sent:?}");
        let untouched = Part { tenant: 2, id: "x".into(), qty: 20, revision: 3 };
        assert_eq!(conn.fetch::<Part>((2, "x".into())).unwrap(), untouched);
        let broken = conn.transact(&Retry::never(), |tx| tx.versioned_update(Loose::at(1, 7), loose::note.eq("lost")));
        assert!(matches!(&broken, Err(Error::TooManyRows(_))), "{broken:?}");
        let lost: i64 = loose::table.filter(loose::note.eq("lost")).count().get_result(conn).unwrap();
        assert_eq!(lost, 0);
    }

    // A bulk update went past the versions, and who held a row overwrote it.
    fn case_optimistic_u13_a_set_based_update_moves_every_version_and_stale_holders_conflict(bed) {
        let (conn, other) = (&mut bed.connect(), &mut bed.connect());
        let held: Vec<Product> = products::table.order(products::id).select(Product::as_select()).load(conn).unwrap();
        let sale = products::table.filter(products::stock.gt(0));
        let rows = sale.unchecked_update(products::version, products::stock.eq(products::stock - 1)).execute(other).unwrap();
        assert_eq!(rows, 2);
        for product in &held {
            assert!(matches!(conn.save(product), Err(Error::Conflict(_))));
            assert_eq!(conn.fetch::<Product>(product.id).unwrap().version, product.version + 1);
        }
    }

    // A delete with an old version went through.
    fn case_optimistic_d1_a_stale_delete_conflicts_and_the_row_remains(bed) {
        let (conn, other) = (&mut bed.connect(), &mut bed.connect());
        let held = conn.fetch::<Product>(42).unwrap();
        other.touch(&held).unwrap();
        assert!(matches!(conn.versioned_delete(&held), Err(Error::Conflict(_))));
        assert_eq!(conn.fetch::<Product>(42).unwrap().version, 8);
    }

    // "Not found" for a row that is there with another version.
    fn case_optimistic_d3_a_row_with_another_version_is_modified_and_not_missing(bed) {
        let conn = &mut bed.connect();
        for error in [conn.touch(Product::at(42, 3)).unwrap_err(), conn.versioned_delete(Product::at(42, 3)).unwrap_err()] {
            assert!(matches!(&error, Error::Conflict(conflict) if conflict.kind == ConflictKind::Modified), "{error:?}");
        }
    }

    // A soft delete skipped the check, and a row that is marked as deleted could still be updated.
    fn case_optimistic_d5_a_soft_delete_is_checked_and_what_comes_later_finds_the_row_deleted(bed) {
        let conn = &mut bed.connect();
        assert!(matches!(conn.soft_delete(Doc::at(2, Some(1)), docs::deleted_at.eq(1)), Err(Error::Conflict(_))));
        assert_eq!(conn.fetch::<Doc>(2).unwrap().deleted_at, None);
        let row = conn.soft_delete(Doc::at(2, Some(5)), docs::deleted_at.eq(1)).unwrap();
        let late = conn.versioned_update(&row, docs::body.eq("late")).unwrap_err();
        assert!(matches!(&late, Error::Conflict(conflict) if conflict.kind == ConflictKind::Deleted), "{late:?}");
    }

    // Deleting twice was an error, or deleting a changed row was none.
    fn case_optimistic_d7_a_delete_that_may_find_nothing_tells_three_outcomes_apart(bed) {
        let conn = &mut bed.connect();
        let changed = conn.versioned_delete_if_exists(Product::at(42, 3));
        assert!(matches!(&changed, Err(Error::Conflict(conflict)) if conflict.kind == ConflictKind::Modified), "{changed:?}");
        assert_eq!(conn.versioned_delete_if_exists(Product::at(42, 7)).unwrap(), Removal::Deleted);
        assert_eq!(conn.versioned_delete_if_exists(Product::at(42, 7)).unwrap(), Removal::AlreadyGone);
    }

    // A PUT after a DELETE made the row again.
    fn case_optimistic_d9_an_update_of_a_missing_row_never_inserts(bed) {
        let conn = &mut bed.connect();
        let product = conn.fetch::<Product>(42).unwrap();
        conn.versioned_delete(&product).unwrap();
        assert!(conn.save(&product).is_err());
        assert!(conn.versioned_update(&product, products::stock.eq(1)).is_err());
        assert!(conn.unchecked_update(Product::key(42), products::stock.eq(1)).is_err());
        assert!(conn.guarded_update(Product::key(42), products::stock.ge(0), products::stock.eq(1)).is_err());
        assert!(conn.modify(42, Mode::optimistic(), |product: &mut Product| product.stock = 1).is_err());
        assert_eq!(products::table.filter(products::id.eq(42)).count().get_result::<i64>(conn).unwrap(), 0);
    }

    // The version of a row that the session itself had removed was checked at COMMIT, which then failed.
    fn case_optimistic_d11_a_verified_row_can_be_deleted_in_the_same_transaction(bed) {
        let conn = &mut bed.connect();
        conn.transact(&Retry::never(), |tx| -> Result<(), App> {
            let product = tx.fetch::<Product>(42)?;
            tx.verify(&product)?;
            let row = tx.touch(&product)?;
            tx.versioned_delete(row)?;
            Ok(())
        }).unwrap();
        assert!(matches!(conn.fetch::<Product>(42), Err(Error::NotFound(_))));
    }

    // A retry inside the failed or outdated transaction, for ever.
    fn case_optimistic_r1_a_retry_inside_a_transaction_runs_once(bed) {
        let conn = &mut bed.connect();
        let mut runs = 0;
        let result: Result<(), App> = conn.transaction(|conn| {
            conn.transact(&Retry::default(), |tx| { runs += 1; tx.touch(Product::at(42, 1))?; Ok(()) })
        });
        assert!(matches!(result, Err(App::Occ(Error::Conflict(_)))), "{result:?}");
        assert_eq!(runs, 1);
    }

    // After a retryable error the session was dead.
    fn case_optimistic_r3_after_a_conflict_the_connection_goes_on(bed) {
        let conn = &mut bed.connect();
        let product = conn.fetch::<Product>(42).unwrap();
        assert!(conn.touch(Product::at(42, 1)).is_err());
        assert!(conn.transact(&Retry::never(), |tx| tx.touch(Product::at(42, 1))).is_err());
        conn.save(&product).unwrap();
        conn.transact(&Retry::never(), |tx| tx.touch(Product::at(42, 8))).unwrap();
    }

    // The filter of the retry knew one class of error, and missed what was wrapped.
    fn case_optimistic_r5_a_conflict_is_found_however_it_is_wrapped(bed) {
        #[derive(Debug, thiserror::Error)]
        enum Outer {
            #[error("selling")]
            Sell(#[source] App),
            #[error("flat")]
            Flat,
        }
        impl From<Error> for Outer {
            fn from(error: Error) -> Self { Outer::Sell(error.into()) }
        }
        let conn = &mut bed.connect();
        let mut runs = 0;
        conn.transact(&Retry::default().timer(FakeTimer::new(0.0)), |tx| -> Result<(), Outer> {
            runs += 1;
            let lost = tx.touch(Product::at(42, 1));
            match runs {
                1 => lost.map_err(|error| Outer::Sell(App::Occ(error)))?,
                2 => lost.map_err(|_| Outer::Flat)?,
                _ => tx.touch(Product::at(42, 7))?,
            };
            Ok(())
        }).unwrap();
        assert_eq!(runs, 3);
        let wrapped = Outer::Sell(App::Occ(conn.touch(Product::at(42, 1)).unwrap_err()));
        assert_eq!(diesel_occ::Fault::of(&wrapped), diesel_occ::Fault::Conflict);
    }

    // Immediate retries of many writers collapsed; nobody had looked at their delays.
    fn case_optimistic_r9_delays_have_full_jitter_a_cap_and_a_deadline(bed) {
        let conn = &mut bed.connect();
        let mut delays = |random: f64| {
            let timer = FakeTimer::new(random);
            let policy = Retry::default().attempts(100).deadline(Duration::from_secs(2)).timer(timer.clone());
            conn.transact(&policy, |tx| tx.touch(Product::at(42, 1))).unwrap_err();
            timer.slept()
        };
        let (half, whole) = (delays(0.5), delays(1.0));
        assert_eq!(whole[..8], [2, 4, 8, 16, 32, 64, 128, 200]);
        assert!(whole.iter().sum::<u128>() <= 2_000 && whole.iter().all(|delay| *delay <= 200));
        assert_eq!(half[..8], [1, 2, 4, 8, 16, 32, 64, 100]);
    }

    // Check and write in two transactions, and a kill between them.
    fn case_optimistic_r15_an_error_between_two_writes_leaves_neither(bed) {
        let conn = &mut bed.connect();
        let result = conn.transact(&Retry::never(), |tx| -> Result<(), App> {
            tx.touch(Product::at(42, 7))?;
            Err(App::OutOfStock)
        });
        assert!(result.is_err());
        assert_eq!(conn.fetch::<Product>(42).unwrap().version, 7);
    }

    // The error had no facts to show or to act on.
    fn case_optimistic_h3_a_conflict_displays_table_key_expected_and_found_and_no_values(bed) {
        let conn = &mut bed.connect();
        let Err(Error::Conflict(conflict)) = conn.versioned_update(Product::at(42, 3), products::name.eq("hush")) else { panic!() };
        assert_eq!(conflict.to_string(), "products 42: expected version 3, found 7");
        assert!(!format!("{conflict:?}").contains("hush") && !format!("{conflict:?}").contains("secret"));
    }
}

mod only_on_sqlite {
    use super::*;

    on_every_connection! {
    of sqlite;

    // A count of nought was taken for a conflict although a trigger had swallowed the write.
    fn case_optimistic_u11_a_row_that_is_still_at_the_version_is_suppressed_and_not_a_conflict(bed) {
        let conn = &mut bed.connect();
        conn.batch_execute("CREATE TRIGGER quiet BEFORE UPDATE ON products BEGIN SELECT RAISE(IGNORE); END").unwrap();
        let error = conn.touch(Product::at(42, 7)).unwrap_err();
        assert!(matches!(&error, Error::Suppressed(facts) if facts.table == "products" && facts.key == "42"), "{error:?}");
    }
    }
}

on_every_server! {
    // Thirty-two writers, one row, and a policy with a budget: all succeed or give up in an orderly way.
    fn case_optimistic_r9_thirty_two_threads_all_succeed_or_are_exhausted(bed) {
        let done = Arc::new(Mutex::new((0, 0)));
        let workers: Vec<_> = (0..32)
            .map(|_| {
                let (mut conn, done) = (bed.connect(), done.clone());
                std::thread::spawn(move || {
                    match conn.modify(42, Mode::optimistic(), |product: &mut Product| {
                        product.stock -= 1
                    }) {
                        Ok(_) => done.lock().unwrap().0 += 1,
                        Err(Error::RetriesExhausted(_) | Error::LockTimeout(_)) => {
                            done.lock().unwrap().1 += 1
                        }
                        Err(error) => panic!("{error:?}"),
                    }
                })
            })
            .collect();
        for worker in workers {
            worker.join().unwrap();
        }
        let (succeeded, exhausted) = *done.lock().unwrap();
        assert_eq!(succeeded + exhausted, 32);
        assert_eq!(
            bed.connect().fetch::<Product>(42).unwrap().stock,
            50 - succeeded
        );
    }
}
