//! Guards that no other test would miss: each of these was written after the guard was taken out and everything stayed green.
#![cfg(all(feature = "sqlite", feature = "r2d2"))]

mod support;

use diesel::connection::{Connection, InstrumentationEvent, SimpleConnection};
use diesel::prelude::*;
use diesel_occ::prelude::*;
use diesel_occ::{Error, Fault};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use support::*;

on_every_connection! {
    fn row_r5_a_commit_in_a_query_node_of_the_users_is_found_out_at_once(bed) {
        let conn = &mut bed.connect();
        let result = conn.transact(&Retry::default(), |tx| -> Result<(), App> {
            tx.touch(Product::at(42, 7))?;
            Sneaky.execute(tx)?;
            assert!(matches!(tx.touch(Product::at(43, 1)), Err(Error::TransactionEnded(_))));
            Ok(())
        });
        assert!(matches!(result, Err(App::Occ(Error::TransactionEnded(_)))), "{result:?}");
        assert_eq!((conn.fetch::<Product>(42).unwrap().version, conn.fetch::<Product>(43).unwrap().version), (8, 1));
    }

    fn row_r5_an_end_on_the_connection_itself_is_found_out(bed) {
        let conn = &mut bed.connect();
        for (end, version) in [("ROLLBACK", 7), ("COMMIT", 8)] {
            let result = conn.transact(&Retry::never(), |tx| -> Result<(), App> {
                tx.touch(Product::at(42, 7))?;
                tx.conn()?.batch_execute(end)?;
                assert!(matches!(tx.touch(Product::at(43, 1)), Err(Error::TransactionEnded(_))));
                Ok(())
            });
            assert!(matches!(result, Err(App::Occ(Error::TransactionEnded(_)))), "{end}: {result:?}");
            assert_eq!((conn.fetch::<Product>(42).unwrap().version, conn.fetch::<Product>(43).unwrap().version), (version, 1), "{end}");
        }
    }

    fn row_r5_a_panic_at_begin_or_commit_rolls_back(bed) {
        let conn = &mut bed.connect();
        for at in ["; SAVEPOINT occ_guard", "RELEASE SAVEPOINT"] {
            // The instrumentation panics where nothing of the user's runs any more.
            conn.set_instrumentation(move |event: InstrumentationEvent<'_>| {
                if let InstrumentationEvent::FinishQuery { query, .. } | InstrumentationEvent::StartQuery { query, .. } = event {
                    let starts = matches!(event, InstrumentationEvent::StartQuery { .. });
                    assert!(!query.to_string().contains(at) || starts == at.starts_with(';'), "instrumented");
                }
            });
            let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                conn.transact(&Retry::never(), |tx| tx.touch(Product::at(42, 7)))
            }));
            assert!(panicked.is_err(), "{at}");
            conn.set_instrumentation(|_: InstrumentationEvent<'_>| {});
            assert_eq!(depth(conn), 0, "{at}");
            // The next one begins, and reads what was there before.
            conn.transact(&Retry::never(), |tx| tx.verify(Product::at(42, 7))).unwrap();
        }
    }

    fn row_r5_an_error_in_a_nested_transact_takes_back_its_writes(bed) {
        let conn = &mut bed.connect();
        conn.transact(&Retry::never(), |tx| -> Result<(), App> {
            let inner = tx.transact(&Retry::never(), |tx| -> Result<(), App> { tx.touch(Product::at(42, 7))?; Err(App::OutOfStock) });
            assert!(inner.is_err());
            tx.touch(Product::at(43, 1))?;
            Ok(())
        }).unwrap();
        assert_eq!((conn.fetch::<Product>(42).unwrap().version, conn.fetch::<Product>(43).unwrap().version), (7, 2));
    }

    fn row_r5_a_nested_transact_that_swallowed_its_end_is_no_success(bed) {
        let conn = &mut bed.connect();
        let inner: Result<(), App> = conn.transaction(|conn| {
            conn.transact(&Retry::never(), |tx| -> Result<(), App> {
                assert!(tx.versioned_update(Loose::at(1, 7), loose::note.eq("lost")).is_err());
                Ok(())
            })
        });
        assert!(matches!(inner, Err(App::Occ(Error::Poisoned(_)))), "{inner:?}");
        assert_eq!(loose::table.filter(loose::note.eq("lost")).count().get_result::<i64>(conn).unwrap(), 0);
    }

    fn row_r5_a_modify_that_met_several_rows_poisons_its_transaction(bed) {
        let conn = &mut bed.connect();
        let result = conn.transact(&Retry::never(), |tx| -> Result<(), App> {
            let many = tx.modify(1, Mode::optimistic(), |row: &mut Loose| row.note = "lost".into());
            assert!(matches!(many, Err(Error::TooManyRows(_))), "{many:?}");
            Ok(())
        });
        assert!(matches!(result, Err(App::Occ(Error::Poisoned(_)))), "{result:?}");
        assert_eq!(loose::table.filter(loose::note.eq("lost")).count().get_result::<i64>(conn).unwrap(), 0);
    }

    fn row_o5_a_guarded_write_whose_row_changes_before_the_look_is_sent_again(bed) {
        let (conn, other) = (&mut bed.connect(), bed.connect());
        conn.unchecked_update(Product::key(42), products::stock.eq(0)).unwrap();
        let mut restock = Some(other);
        conn.set_instrumentation(move |event: InstrumentationEvent<'_>| {
            if let InstrumentationEvent::StartQuery { query, .. } = event
                && query.to_string().starts_with("SELECT")
                && let Some(mut other) = restock.take()
            {
                other.unchecked_update(Product::key(42), products::stock.eq(1)).unwrap();
            }
        });
        conn.guarded_update(Product::key(42), products::stock.ge(1), products::stock.eq(products::stock - 1)).unwrap();
        assert_eq!(conn.fetch::<Product>(42).unwrap().stock, 0);
    }

    fn row_r5_a_guarded_write_and_a_delete_if_of_several_rows_in_a_transaction_poison_it(bed) {
        let conn = &mut bed.connect();
        for case in 0..3 {
            let result = conn.transact(&Retry::never(), |tx| -> Result<(), App> {
                let notes = loose::table.filter(loose::id.eq(1));
                let error = match case {
                    0 => tx.guarded_update(Loose::key(1), loose::note.ne(""), loose::note.eq("lost")).unwrap_err(),
                    1 => notes.delete_if(loose::version, 7).execute(tx).unwrap_err(),
                    _ => notes.update_if(loose::version, 7, loose::note.eq("lost")).execute(tx).unwrap_err(),
                };
                assert!(matches!(&error, Error::TooManyRows(facts) if facts.rows == 2 && facts.written), "{error:?}");
                Ok(())
            });
            assert!(matches!(result, Err(App::Occ(Error::Poisoned(_)))), "case {case}: {result:?}");
        }
        assert_eq!(loose::table.filter(loose::note.ne("lost")).count().get_result::<i64>(conn).unwrap(), 4);
    }

    fn row_r4_a_lost_race_of_update_if_and_delete_if_runs_the_closure_again(bed) {
        let conn = &mut bed.connect();
        for delete in [false, true] {
            let mut runs = 0;
            conn.transact(&Retry::default().timer(FakeTimer::new(0.0)), |tx| -> Result<(), App> {
                runs += 1;
                let row = products::table.find(43);
                if runs == 1 {
                    match delete {
                        true => row.delete_if(products::version, 99).execute(tx).map_err(|_| App::OutOfStock)?,
                        false => { row.update_if(products::version, 99, products::stock.eq(1)).execute(tx).map_err(|_| App::OutOfStock)?; }
                    }
                }
                Ok(())
            }).unwrap();
            assert_eq!(runs, 2, "delete: {delete}");
        }
    }

    fn row_r5_a_lost_race_before_a_raw_commit_does_not_make_it_run_again(bed) {
        let conn = &mut bed.connect();
        let mut runs = 0;
        let result = conn.transact(&Retry::default().timer(FakeTimer::new(0.0)), |tx| -> Result<(), App> {
            runs += 1;
            assert!(tx.touch(Product::at(42, 1)).is_err());
            tx.touch(Product::at(42, 6 + runs))?;
            tx.batch_execute("COMMIT")?;
            Ok(())
        });
        assert!(matches!(&result, Err(App::Occ(Error::TransactionEnded(facts))) if facts.first == Some(Fault::Conflict)), "{result:?}");
        assert_eq!(runs, 1);
    }

    fn row_r5_any_spelling_of_an_end_stops_what_follows(bed) {
        let conn = &mut bed.connect();
        for end in ["commit", "Rollback", "END", "end transaction", "commit work"] {
            let (server, own) = (conn.server().name(), end.to_uppercase().starts_with("END"));
            if (own && server.starts_with("MySQL")) || (end.contains("work") && server == "SQLite") {
                continue; // no such statement
            }
            let result = conn.transact(&Retry::never(), |tx| -> Result<(), App> {
                tx.batch_execute(end)?;
                let refused = tx.touch(Product::at(42, 7)).unwrap_err();
                assert!(matches!(refused, Error::TransactionEnded(_)), "{end}: {refused:?}");
                Ok(())
            });
            assert!(matches!(&result, Err(App::Occ(Error::TransactionEnded(_)))), "{end}: {result:?}");
            assert_eq!(conn.fetch::<Product>(42).unwrap().version, 7, "{end}");
        }
    }

    fn row_o8_a_legacy_row_and_a_versioned_one_do_not_share_a_prepared_statement(bed) {
        let conn = &mut bed.connect();
        let (legacy, draft) = (conn.fetch::<Doc>(1).unwrap(), conn.fetch::<Doc>(2).unwrap());
        assert_eq!(conn.save(&legacy).unwrap().v, Some(1));
        assert_eq!(conn.touch(Doc::at(1, Some(1))).unwrap().version, Some(2));
        conn.transact(&Retry::never(), |tx| tx.save(&draft)).unwrap();
        let (legacy, draft) = (conn.fetch::<Doc>(1).unwrap(), conn.fetch::<Doc>(2).unwrap());
        assert_eq!((legacy.v, draft.v), (Some(2), Some(6)));
        assert!(matches!(conn.save(&Doc { v: None, ..draft }), Err(Error::Conflict(_))));
    }

    fn row_r5_a_savepoint_whose_transaction_is_over_is_left_all_the_same(bed) {
        let conn = &mut bed.connect();
        let result = conn.transact(&Retry::never(), |tx| -> Result<(), App> {
            let inner: Result<(), App> = tx.savepoint(|tx| {
                assert!(tx.versioned_update(Loose::at(1, 7), loose::note.eq("lost")).is_err());
                Ok(())
            });
            assert!(matches!(inner, Err(App::Occ(Error::Poisoned(_)))), "{inner:?}");
            assert_eq!(depth(tx), 1);
            Ok(())
        });
        assert!(matches!(result, Err(App::Occ(Error::Poisoned(_)))), "{result:?}");
    }

    fn row_r5_an_error_behind_a_commit_and_a_new_begin_is_not_run_again(bed) {
        let conn = &mut bed.connect();
        let mut runs = 0;
        let result = conn.transact(&Retry::default().timer(FakeTimer::new(0.0)), |tx| -> Result<(), App> {
            runs += 1;
            assert!(tx.touch(Product::at(42, 1)).is_err()); // a lost race
            tx.unchecked_touch(Product::key(42))?;
            tx.batch_execute("COMMIT; BEGIN")?;
            Err(App::OutOfStock)
        });
        assert!(matches!(result, Err(App::OutOfStock)), "{result:?}");
        assert_eq!((runs, conn.fetch::<Product>(42).unwrap().version), (1, 8));
    }

    fn row_o8_a_version_column_with_a_quote_in_its_name(bed) {
        let conn = &mut bed.connect();
        let version = quoted(conn, "ver`sion");
        conn.batch_execute(&format!("CREATE TABLE odd (id INTEGER PRIMARY KEY, {version} INTEGER NOT NULL); INSERT INTO odd VALUES (1, 1)")).unwrap();
        assert_eq!(conn.touch(Odd::at(1, 1)).unwrap(), Odd::at(1, 2));
        assert!(matches!(conn.touch(Odd::at(1, 1)), Err(Error::Conflict(_))));
    }

    fn row_r5_an_unchecked_write_of_several_rows_in_a_transaction_poisons_it(bed) {
        let conn = &mut bed.connect();
        let result = conn.transact(&Retry::never(), |tx| -> Result<(), App> {
            let error = tx.unchecked_update(Loose::key(1), loose::note.eq("lost")).unwrap_err();
            assert!(matches!(&error, Error::TooManyRows(facts) if facts.rows == 2 && facts.written), "{error:?}");
            Ok(())
        });
        assert!(matches!(result, Err(App::Occ(Error::Poisoned(_)))), "{result:?}");
        assert_eq!(loose::table.filter(loose::note.eq("lost")).count().get_result::<i64>(conn).unwrap(), 0);
    }

    fn row_o2_uncached_changes_are_not_kept_prepared(bed) {
        let conn = &mut bed.connect();
        let log = Log::on(conn);
        let row = conn.versioned_update(Product::at(42, 7), diesel_occ::uncached(products::stock.eq(1))).unwrap();
        assert_eq!(log.prepared(), 0);
        conn.versioned_update(row, products::stock.eq(2)).unwrap();
        assert_eq!(log.prepared(), 1);
    }

    fn row_o2_the_version_may_be_compared_in_the_changes(bed) {
        let conn = &mut bed.connect();
        let compared = diesel::dsl::sql::<diesel::sql_types::Integer>(&format!("CASE WHEN {} = 7 THEN 1 ELSE 2 END", quoted(conn, "version")));
        conn.versioned_update(Product::at(42, 7), products::stock.eq(compared)).unwrap();
        assert_eq!(conn.fetch::<Product>(42).unwrap().stock, 1);
    }

    fn row_r5_a_batch_that_commits_and_then_fails_is_unaccounted_for(bed) {
        let conn = &mut bed.connect();
        let result = conn.transact(&Retry::never(), |tx| -> Result<(), App> {
            assert!(tx.batch_execute("COMMIT; SELECT nonsense").is_err());
            assert!(matches!(tx.touch(Product::at(42, 7)), Err(Error::TransactionEnded(_))));
            Ok(())
        });
        assert!(matches!(result, Err(App::Occ(Error::TransactionEnded(_)))), "{result:?}");
    }

    fn row_o9_a_raw_or_does_not_go_past_the_check(bed) {
        let conn = &mut bed.connect();
        let odd = match conn.server().name() {
            "SQLite" => "[it's]".to_owned(),
            _ => quoted(conn, "it's"),
        };
        conn.batch_execute(&format!("ALTER TABLE products ADD COLUMN {odd} INTEGER")).unwrap();
        let odd = format!("{odd} = 1 OR stock = 50");
        for raw in ["name = 'coffee' OR stock = 50", &odd, "stock = 50 OR name = 'it''s' "] {
            let filter = || products::table.filter(diesel::dsl::sql::<diesel::sql_types::Bool>(raw));
            let stale = filter().update_if(products::version, 3, products::stock.eq(9)).execute(conn).unwrap_err();
            assert!(matches!(stale, Error::Conflict(_) | Error::TooManyRows(_)), "{raw}: {stale:?}");
            let stale = filter().delete_if(products::version, 3).execute(conn).unwrap_err();
            assert!(matches!(stale, Error::Conflict(_) | Error::TooManyRows(_)), "{raw}: {stale:?}");
            assert_eq!(filter().update_if(products::version, 3, products::stock.eq(9)).unchecked_query().execute(conn).unwrap(), 0);
            assert_eq!(conn.fetch::<Product>(42).unwrap().version, 7);
        }
        let raw = || diesel::dsl::sql::<diesel::sql_types::Bool>("name = 'secret tea' OR name = 'none'");
        assert_eq!(products::table.filter(raw()).update_if(products::version, 7, products::stock.eq(9)).execute(conn).unwrap(), 8);
        conn.batch_execute("UPDATE products SET version = 9223372036854775807 WHERE id = 42").unwrap();
        assert_eq!(products::table.filter(raw()).unchecked_update(products::version, products::stock.eq(1)).execute(conn).unwrap(), 0);
        conn.batch_execute("UPDATE products SET version = 7, stock = 50 WHERE id = 42").unwrap();
        // Rendered by Diesel it is one condition, and the key finds the row by its index.
        let grouped = products::name.eq("coffee").or(products::stock.eq(50));
        let stale = products::table.filter(grouped).update_if(products::version, 3, products::stock.eq(9)).execute(conn).unwrap_err();
        assert!(matches!(stale, Error::TooManyRows(_)), "{stale:?}");
        let both = products::table.filter(products::id.eq(43)).or_filter(products::id.eq(42));
        assert_eq!(both.update_if(products::version, 7, products::stock.eq(9)).execute(conn).unwrap(), 8);
        assert_eq!(conn.fetch::<Product>(43).unwrap().stock, 5);
        let log = Log::on(conn);
        products::table.find(43).filter(products::stock.eq(5)).update_if(products::version, 1, products::stock.eq(9)).execute(conn).unwrap();
        assert!(!log.statements()[0].contains("EXISTS"));
    }

    fn row_o2_a_key_whose_sql_varies_is_not_mistaken_for_another(bed) {
        let conn = &mut bed.connect();
        conn.touch(Computed::at(Sum(42), 7)).unwrap();
        conn.touch(Computed::at(Sum(43), 1)).unwrap();
        assert_eq!((conn.fetch::<Product>(42).unwrap().version, conn.fetch::<Product>(43).unwrap().version), (8, 2));
    }

    fn row_r5_after_a_prepared_commit_a_lost_race_and_an_error_nothing_runs_again(bed) {
        let conn = &mut bed.connect();
        let mut runs = 0;
        let result = conn.transact(&Retry::default().timer(FakeTimer::new(0.0)), |tx| -> Result<(), App> {
            runs += 1;
            assert!(tx.touch(Product::at(42, 1)).is_err());
            tx.unchecked_touch(Product::key(42))?;
            diesel::sql_query("COMMIT").execute(tx)?;
            assert!(diesel::sql_query("INSERT INTO flags VALUES (1, 1)").execute(tx).is_err());
            Err(App::OutOfStock)
        });
        assert!(matches!(result, Err(App::OutOfStock)), "{result:?}");
        assert_eq!((runs, conn.fetch::<Product>(42).unwrap().version), (1, 8));
    }

    fn row_r2_the_conflict_is_found_behind_exhausted_retries(bed) {
        let policy = Retry::default().attempts(2).timer(FakeTimer::new(0.0));
        let error = bed.connect().transact(&policy, |tx| tx.touch(Product::at(42, 1))).unwrap_err();
        let exhausted = std::error::Error::source(&error).unwrap();
        let conflict = exhausted.source().unwrap().downcast_ref::<Conflict>().unwrap();
        assert_eq!(conflict.key, "42");
        assert_eq!(Fault::of(&error), Fault::Permanent);
    }
}

mod only_on_sqlite {
    use super::*;

    on_every_connection! {
    of sqlite;

    fn row_r3_modify_inside_a_transaction_of_diesels_runs_once_and_does_not_wait(bed) {
        let (conn, other) = (&mut bed.connect(), &mut bed.connect());
        let timer = FakeTimer::new(1.0);
        let mut runs = 0;
        let result: Result<(), App> = conn.transaction(|conn| {
            conn.fetch::<Product>(43)?; // a snapshot
            other.unchecked_touch(Product::key(42))?;
            let mode = Mode::optimistic().retry(Retry::default().timer(timer.clone()));
            let stale = conn.modify(42, mode, |product: &mut Product| { runs += 1; product.stock = 0 });
            assert!(matches!(&stale, Err(error @ Error::Database(_)) if Fault::of(error) == Fault::Busy), "{stale:?}");
            Err(App::OutOfStock)
        });
        assert!(matches!(result, Err(App::OutOfStock)));
        assert_eq!((runs, timer.slept().len()), (1, 0));
    }

    fn row_r1_what_the_blocker_wrote_while_modify_waited_is_read_again_in_the_same_attempt(bed) {
        let (conn, other) = (&mut bed.connect(), bed.connect());
        conn.batch_execute("PRAGMA busy_timeout = 0").unwrap();
        let other = Arc::new(Mutex::new(other));
        other.lock().unwrap().batch_execute("BEGIN IMMEDIATE; UPDATE products SET stock = 20, version = 8 WHERE id = 42").unwrap();
        let (leaves, mut waits) = (other.clone(), 0);
        let timer = FakeTimer::new(1.0).on_sleep(move || {
            waits += 1;
            if waits == 2 { leaves.lock().unwrap().batch_execute("COMMIT").unwrap(); }
        });
        let mut seen = vec![];
        let mode = Mode::optimistic().retry(Retry::never().timer(timer));
        let product = conn.modify(42, mode, |product: &mut Product| { seen.push(product.stock); product.stock -= 1 }).unwrap();
        assert_eq!((seen, product.stock, product.version), (vec![50, 20], 19, 9));
    }

    fn row_r5_handled_does_not_undo_an_end(bed) {
        let conn = &mut bed.connect();
        conn.batch_execute("CREATE TRIGGER no BEFORE DELETE ON products BEGIN SELECT RAISE(ROLLBACK, 'no'); END").unwrap();
        conn.transact(&Retry::never(), |tx| -> Result<(), App> {
            assert!(tx.touch(Product::at(42, 1)).is_err());
            assert!(tx.versioned_delete(Product::at(43, 1)).is_err());
            assert!(tx.touch(Product::at(42, 7)).is_err());
            tx.handled();
            assert_eq!(tx.fault(), Some(Fault::Conflict));
            Err(App::OutOfStock)
        }).unwrap_err();
    }

    fn row_r5_a_transaction_that_something_else_ended_is_not_run_again_for_an_earlier_lost_race(bed) {
        let conn = &mut bed.connect();
        conn.batch_execute("CREATE TRIGGER no BEFORE DELETE ON products BEGIN SELECT RAISE(ROLLBACK, 'no'); END").unwrap();
        let mut runs = 0;
        let result = conn.transact(&Retry::default().timer(FakeTimer::new(0.0)), |tx| -> Result<(), App> {
            runs += 1;
            if runs == 1 {
                assert!(tx.touch(Product::at(42, 1)).is_err());
                assert!(tx.versioned_delete(Product::at(43, 1)).is_err());
                tx.touch(Product::at(42, 7))?;
            }
            Ok(())
        });
        assert!(matches!(result, Err(App::Occ(Error::Poisoned(_)))), "{result:?}");
        assert_eq!(runs, 1);
    }

    fn row_r4_the_fault_of_each_of_our_own_errors(bed) {
        let (conn, other) = (&mut bed.connect(), &mut bed.connect());
        let policy = Retry::default().attempts(2).timer(FakeTimer::new(0.0));
        let exhausted = conn.transact(&policy, |tx| tx.touch(Product::at(42, 1))).unwrap_err();
        assert!(matches!(exhausted, Error::RetriesExhausted(_)));
        assert_eq!(Fault::of(&exhausted), Fault::Permanent);
        other.batch_execute("BEGIN IMMEDIATE").unwrap();
        let timeout = conn.transact(&Retry::default().deadline(Duration::ZERO), |tx| tx.touch(Product::at(42, 7))).unwrap_err();
        other.batch_execute("ROLLBACK").unwrap();
        assert!(matches!(timeout, Error::LockTimeout(_)));
        assert_eq!(Fault::of(&timeout), Fault::LockTimeout);
        conn.batch_execute("CREATE TABLE ballast (x BLOB); PRAGMA max_page_count = 1").unwrap();
        let poisoned = conn.transact(&Retry::never(), |tx| -> Result<(), App> {
            assert!(tx.batch_execute("INSERT INTO ballast VALUES (zeroblob(300000))").is_err());
            Ok(())
        }).unwrap_err();
        assert_eq!(Fault::of(&poisoned), Fault::Storage, "{poisoned:?}");
        let gone = conn.touch(Product::at(99, 7)).unwrap_err();
        assert_eq!(Fault::of(&gone), Fault::Permanent);
    }

    fn row_r5_an_error_between_two_rows_is_seen(bed) {
        let conn = &mut bed.connect();
        conn.batch_execute("CREATE TRIGGER no BEFORE UPDATE ON products WHEN old.id = 43 BEGIN SELECT RAISE(ROLLBACK, 'no'); END").unwrap();
        let result = conn.transact(&Retry::never(), |tx| -> Result<(), App> {
            assert!(tx.versioned_update_returning(Product::at(43, 1), products::stock.eq(1)).is_err());
            assert!(matches!(tx.touch(Product::at(42, 7)), Err(Error::Poisoned(_))));
            Ok(())
        });
        assert!(matches!(result, Err(App::Occ(Error::Poisoned(_)))), "{result:?}");
        assert_eq!(conn.fetch::<Product>(42).unwrap().version, 7);
    }

    fn row_r1_a_busy_statement_inside_makes_the_closure_run_again(bed) {
        let (conn, other) = (&mut bed.connect(), bed.connect());
        let other = Arc::new(Mutex::new(other));
        let attach = format!("ATTACH '{}2' AS second", bed.url());
        conn.batch_execute("PRAGMA busy_timeout = 0").unwrap();
        other.lock().unwrap().batch_execute(&format!("{attach}; CREATE TABLE second.t (x); BEGIN; INSERT INTO second.t VALUES (0)")).unwrap();
        let leaves = other.clone();
        let timer = FakeTimer::new(0.0).on_sleep(move || leaves.lock().unwrap().batch_execute("ROLLBACK").unwrap());
        let mut runs = 0;
        let result = conn.transact(&Retry::default().attempts(2).timer(timer), |tx| -> Result<(), App> {
            runs += 1;
            if runs == 1 { tx.batch_execute(&attach)?; } // behind BEGIN, which would have waited for it
            tx.batch_execute("INSERT INTO second.t VALUES (1)").map_err(|_| App::OutOfStock)
        });
        assert!(result.is_ok(), "{result:?}");
        assert_eq!(runs, 2);
    }

    fn row_r5_an_end_inside_a_transaction_of_diesels_is_no_success_of_that_one(bed) {
        let conn = &mut bed.connect();
        conn.batch_execute("CREATE TRIGGER no BEFORE DELETE ON products BEGIN SELECT RAISE(ROLLBACK, 'no'); END").unwrap();
        let result: Result<(), App> = conn.transaction(|conn| {
            conn.touch(Product::at(42, 7))?;
            let inner = conn.transact(&Retry::never(), |tx| -> Result<(), App> {
                assert!(tx.versioned_delete(Product::at(43, 1)).is_err());
                assert!(tx.touch(Product::at(43, 1)).is_err());
                Ok(())
            });
            assert!(matches!(inner, Err(App::Occ(Error::Poisoned(_)))), "{inner:?}");
            Ok(())
        });
        assert!(result.is_err(), "the touch is gone");
        assert_eq!(conn.fetch::<Product>(42).unwrap().version, 7);
    }

    fn row_r4_our_error_is_found_in_a_plain_diesel_error(bed) {
        let conn = &mut bed.connect();
        conn.batch_execute("CREATE TABLE ballast (x BLOB); PRAGMA max_page_count = 1").unwrap();
        conn.transact(&Retry::never(), |tx| -> Result<(), App> {
            assert!(tx.batch_execute("INSERT INTO ballast VALUES (zeroblob(300000))").is_err());
            let refused = products::table.count().get_result::<i64>(tx).unwrap_err();
            assert_eq!(Fault::of(&refused), Fault::Storage, "{refused:?}");
            Ok(())
        }).unwrap_err();
    }

    fn row_o4_an_unchecked_write_of_a_marked_row_that_is_swallowed_is_suppressed(bed) {
        let conn = &mut bed.connect();
        conn.batch_execute("
            UPDATE docs SET deleted_at = 1 WHERE id = 2;
            CREATE TRIGGER quiet BEFORE UPDATE ON docs BEGIN SELECT RAISE(IGNORE); END;
        ").unwrap();
        let error = conn.unchecked_touch(Doc::key(2)).unwrap_err();
        assert!(matches!(&error, Error::Suppressed(_)), "{error:?}");
    }

    fn row_r5_what_ran_on_the_connection_itself_is_asked_about(bed) {
        let conn = &mut bed.connect();
        let result = conn.transact(&Retry::never(), |tx| -> Result<(), App> {
            assert!(tx.conn()?.batch_execute("INSERT OR ROLLBACK INTO flags VALUES (1, 1)").is_err());
            assert!(matches!(tx.touch(Product::at(42, 7)), Err(Error::TransactionEnded(_))));
            Ok(())
        });
        assert!(matches!(result, Err(App::Occ(Error::TransactionEnded(_)))), "{result:?}");
        assert_eq!(conn.fetch::<Product>(42).unwrap().version, 7);
    }

    fn row_o4_a_delete_that_is_swallowed_at_the_largest_version_is_suppressed(bed) {
        let conn = &mut bed.connect();
        conn.batch_execute("
            UPDATE products SET version = 9223372036854775807 WHERE id = 42;
            CREATE TRIGGER quiet BEFORE DELETE ON products BEGIN SELECT RAISE(IGNORE); END;
        ").unwrap();
        let error = conn.unchecked_delete(Product::key(42)).unwrap_err();
        assert!(matches!(error, Error::Suppressed(_)), "{error:?}");
    }

    fn row_o4_what_a_trigger_raises_is_in_no_debug(bed) {
        let conn = &mut bed.connect();
        conn.batch_execute("CREATE TRIGGER no BEFORE UPDATE ON products BEGIN SELECT RAISE(ABORT, 'ann owes 300'); END").unwrap();
        let error = conn.touch(Product::at(42, 7)).unwrap_err();
        assert_eq!(format!("{error} {error:?}"), "the database refused a statement Database(Unknown: …)");
        assert_eq!(std::error::Error::source(&error).unwrap().to_string(), "ann owes 300");
    }
    }
}

on_every_server! {
    fn row_r7_a_broken_connection_that_was_swallowed_is_replaced_too(bed) {
        let pool = bed.pool(1);
        let mut runs = 0;
        retry_on(
            &pool,
            &Retry::default().timer(FakeTimer::new(0.0)),
            |tx| -> Result<(), App> {
                runs += 1;
                if runs == 1 {
                    break_it(tx.conn()?);
                    assert!(tx.touch(Product::at(42, 7)).is_err());
                }
                Ok(())
            },
        )
        .unwrap();
        assert_eq!(runs, 2);
    }

    fn row_r7_the_pool_is_asked_no_longer_than_the_deadline(bed) {
        let pool = bed.pool(1);
        let _held = pool.get().unwrap();
        let started = std::time::Instant::now();
        let result = retry_on(
            &pool,
            &Retry::default().deadline(Duration::from_millis(30)),
            |tx| tx.touch(Product::at(42, 7)),
        );
        assert!(matches!(result, Err(Error::Pool(_))), "{result:?}");
        assert!(
            started.elapsed() < Duration::from_secs(5),
            "the pool's own patience is 30 s"
        );
    }

    fn row_o2_a_save_whose_sql_varies_is_not_mistaken_for_another(bed) {
        let conn = &mut bed.connect();
        for stock in [3, 9, 4] {
            let row = conn.fetch::<Spelled>(42).unwrap();
            conn.save(&Spelled { stock, ..row }).unwrap();
            assert_eq!(conn.fetch::<Product>(42).unwrap().stock, stock);
        }
    }

    fn row_r3_on_a_pool_in_a_test_transaction_the_closure_runs_once(bed) {
        let pool = bed.pool(1);
        pool.get().unwrap().begin_test_transaction().unwrap();
        let mut runs = 0;
        let result = retry_on(&pool, &Retry::default(), |tx| -> Result<(), App> {
            runs += 1;
            tx.touch(Product::at(42, 1))?;
            Ok(())
        });
        assert!(
            matches!(result, Err(App::Occ(Error::Conflict(_)))),
            "{result:?}"
        );
        assert_eq!(runs, 1);
    }
}

#[test]
fn row_o4_what_a_server_quotes_is_in_no_debug() {
    use diesel::result::{DatabaseErrorKind, Error as DieselError};
    let text = "Duplicate entry 'ann@example.org' for key 'PRIMARY'".to_owned();
    let error = Error::from(DieselError::DatabaseError(
        DatabaseErrorKind::UniqueViolation,
        Box::new(text),
    ));
    assert_eq!(
        format!("{error:?}"),
        "Database(UniqueViolation: Duplicate entry '…')"
    );
    for inner in [
        DieselError::DeserializationError("'ann'".into()),
        DieselError::SerializationError("'ann'".into()),
        DieselError::QueryBuilderError("'ann'".into()),
        DieselError::RollbackErrorOnCommit {
            rollback_error: Box::new(DieselError::NotInTransaction),
            commit_error: Box::new(DieselError::DatabaseError(
                DatabaseErrorKind::Unknown,
                Box::new("'ann'".to_owned()),
            )),
        },
    ] {
        assert!(!format!("{:?}", Error::Database(inner)).contains("ann"));
    }
}

/// A COMMIT that nobody can see coming.
struct Sneaky;

impl diesel::query_builder::QueryId for Sneaky {
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl<DB: diesel::backend::Backend> diesel::query_builder::QueryFragment<DB> for Sneaky {
    fn walk_ast<'b>(
        &'b self,
        mut out: diesel::query_builder::AstPass<'_, 'b, DB>,
    ) -> diesel::QueryResult<()> {
        out.push_sql("COMMIT");
        Ok(())
    }
}

impl<C> RunQueryDsl<C> for Sneaky {}

/// A value whose SQL is made at run time, as a boxed expression is.
#[derive(Debug, Clone)]
struct AtRunTime(String);

impl From<i32> for AtRunTime {
    fn from(stock: i32) -> Self {
        AtRunTime(stock.to_string())
    }
}

impl diesel::expression::AsExpression<diesel::sql_types::Integer> for AtRunTime {
    type Expression = diesel::expression::SqlLiteral<diesel::sql_types::Integer>;

    fn as_expression(self) -> Self::Expression {
        diesel::dsl::sql(&self.0)
    }
}

#[derive(Debug, Clone, Queryable, Versioned)]
#[diesel(table_name = products)]
struct Spelled {
    id: i64,
    #[diesel(serialize_as = AtRunTime)]
    stock: i32,
    version: i64,
}

/// A key whose SQL is made at run time.
#[derive(Debug, Clone, PartialEq)]
struct Sum(i64);

impl From<i64> for Sum {
    fn from(id: i64) -> Self {
        Sum(id)
    }
}

impl diesel::expression::AsExpression<diesel::sql_types::BigInt> for Sum {
    type Expression = diesel::expression::SqlLiteral<diesel::sql_types::BigInt>;

    fn as_expression(self) -> Self::Expression {
        diesel::dsl::sql(&format!("{} + 1", self.0 - 1))
    }
}

#[derive(Debug, Clone, Queryable, Versioned)]
#[diesel(table_name = products)]
struct Computed {
    #[diesel(serialize_as = Sum)]
    id: i64,
    version: i64,
}

/// The columns of the table are in scope by their bare names.
mod with_columns_in_scope {
    use super::*;
    use crate::odd::dsl::{id, version};

    #[derive(Debug, Clone, Queryable, Versioned)]
    #[diesel(table_name = odd)]
    struct Scoped {
        id: i32,
        version: i32,
    }

    #[test]
    fn row_o1_a_model_compiles_beside_its_columns() {
        let bed = sqlite_bare();
        let conn = &mut bed.connect();
        conn.batch_execute("CREATE TABLE odd (id INTEGER PRIMARY KEY, `ver``sion` INTEGER NOT NULL); INSERT INTO odd VALUES (1, 1)").unwrap();
        let row = conn.fetch::<Scoped>(1).unwrap();
        assert_eq!(conn.save(&row).unwrap().version, 2);
        assert_eq!(
            odd::table
                .select(id)
                .filter(version.eq(2))
                .load::<i32>(conn)
                .unwrap(),
            [1]
        );
        let smuggled = conn.versioned_update(&row, version.eq(9));
        assert!(
            matches!(smuggled, Err(Error::VersionInChanges(_))),
            "{smuggled:?}"
        );
    }
}

diesel::table! { odd (id) { id -> Integer, #[sql_name = "ver`sion"] version -> Integer, } }

#[derive(Debug, Clone, Queryable, Versioned)]
#[diesel(table_name = odd)]
struct Odd {
    id: i32,
    version: i32,
}

#[test]
fn row_r1_who_has_waited_long_looks_more_often() {
    let bed = sqlite_bare();
    let (conn, other) = (&mut bed.connect(), Arc::new(Mutex::new(bed.connect())));
    conn.batch_execute("PRAGMA busy_timeout = 0").unwrap();
    for modify in [false, true] {
        other
            .lock()
            .unwrap()
            .batch_execute("BEGIN IMMEDIATE")
            .unwrap();
        let (leaves, mut waits) = (other.clone(), 0);
        let timer = FakeTimer::new(1.0).on_sleep(move || {
            waits += 1;
            if waits == 12 {
                leaves.lock().unwrap().batch_execute("COMMIT").unwrap();
            }
        });
        let policy = Retry::default().timer(timer.clone());
        if modify {
            conn.modify(42, Mode::optimistic().retry(policy), |_: &mut Product| {})
                .unwrap();
        } else {
            conn.transact(&policy, |tx| tx.unchecked_touch(Product::key(42)))
                .unwrap();
        }
        assert_eq!(
            timer.slept(),
            [2, 2, 2, 2, 1, 1, 1, 1, 0, 0, 0, 0],
            "modify: {modify}"
        );
    }
}
