//! What MySQL and MariaDB alone do: some failures end the transaction and some undo a statement only, a plain read shows an
//! old snapshot, schema changes commit, and a connection does not notice that it is gone.
#![cfg(all(feature = "mysql", feature = "sqlite", feature = "r2d2"))]

mod support;

use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::result::{DatabaseErrorKind, Error as DieselError};
use diesel_occ::prelude::*;
use diesel_occ::{Error, Fault, IsolationLevel, TxOptions, Warning};
use std::sync::{Arc, Barrier, Mutex};
use support::*;

/// Neither Diesel nor the server has a transaction open, and the connection works.
fn assert_usable<C>(conn: &mut C)
where
    C: VersionedConnection,
    Product: Record<C::Backend>,
{
    assert_eq!(depth(conn), 0);
    // Refused inside a transaction.
    conn.batch_execute("SET TRANSACTION READ WRITE").unwrap();
    conn.fetch::<Product>(42).unwrap();
}

/// The third language is known to no table: the server is asked for the number.
const LANGUAGES: [&str; 3] = ["en_US", "fr_FR", "de_DE"];

on_every_connection! {
    of mysql;

    fn row_r5_a_swallowed_deadlock_inside_a_savepoint_poisons_and_nothing_leaks_into_autocommit(bed) {
        for language in LANGUAGES {
            for batch in [false, true] {
                let (mut conn, mut other) = (bed.connect(), bed.connect());
                conn.batch_execute(&format!("SET lc_messages = '{language}'")).unwrap();
                let (both_hold, their_both_hold) = { let barrier = Arc::new(Barrier::new(2)); (barrier.clone(), barrier) };
                // Who has changed more rows is not the victim.
                let their = std::thread::spawn(move || {
                    other.batch_execute("START TRANSACTION; UPDATE loose SET note = concat(note, '!'); UPDATE products SET updated_at = 'theirs' WHERE id = 43").unwrap();
                    their_both_hold.wait();
                    other.batch_execute("UPDATE products SET updated_at = 'theirs' WHERE id = 42; COMMIT").unwrap();
                });
                // The other one comes to its end before the second run.
                let mut their = Some(their);
                let timer = FakeTimer::new(0.0).on_sleep(move || if let Some(their) = their.take() { their.join().unwrap() });
                let (mut runs, mut seen) = (0, None);
                conn.transact(&Retry::default().timer(timer), |tx| -> Result<(), App> {
                    runs += 1;
                    tx.unchecked_touch(Product::key(42))?;
                    if runs > 1 {
                        return Ok(());
                    }
                    both_hold.wait();
                    let result: Result<(), App> = tx.savepoint(|tx| match batch {
                        false => Ok(tx.unchecked_touch(Product::key(43))?),
                        true => Ok(tx.batch_execute("UPDATE products SET stock = stock - 1 WHERE id = 43")?),
                    });
                    // The deadlock, and not "SAVEPOINT does not exist".
                    let error: Box<dyn std::error::Error> = match result { Err(error) => error.into(), Ok(()) => panic!("no deadlock") };
                    seen = Some(Fault::of(&*error));
                    let refused = tx.unchecked_touch(Product::key(42)).unwrap_err();
                    assert!(matches!(&refused, Error::Poisoned(facts) if facts.fault == Fault::Deadlock && facts.source.is_some()), "{refused:?}");
                    let _ = diesel::update(products::table.find(42)).set(products::stock.eq(0)).execute(tx);
                    Ok(())
                }).unwrap();
                assert_eq!(runs, 2, "{language} batch {batch}");
                // Without its connection the error of a third language tells nothing.
                let german = language == "de_DE" && batch;
                assert!(german || matches!(seen, Some(Fault::Deadlock | Fault::Serialization)), "{seen:?}");
                assert_usable(&mut conn);
                assert_eq!(conn.fetch::<Product>(42).unwrap().stock, 50);
            }
        }
        assert_eq!(bed.connect().fetch::<Product>(42).unwrap().version, 7 + 6, "one touch a round");
    }

    fn row_r5_a_swallowed_lock_timeout_is_not_committed_without_its_statement(bed) {
        let (conn, other) = (&mut bed.connect(), Arc::new(Mutex::new(bed.connect())));
        for language in LANGUAGES {
            for batch in [false, true] {
                let before = conn.fetch::<Product>(43).unwrap().version;
                conn.batch_execute(&format!("SET lc_messages = '{language}', innodb_lock_wait_timeout = 0")).unwrap();
                other.lock().unwrap().batch_execute("START TRANSACTION; UPDATE products SET stock = stock WHERE id = 42").unwrap();
                let leaves = other.clone();
                let timer = FakeTimer::new(0.0).on_sleep(move || leaves.lock().unwrap().batch_execute("ROLLBACK").unwrap());
                let mut runs = 0;
                conn.transact(&Retry::default().timer(timer), |tx| -> Result<(), App> {
                    runs += 1;
                    tx.unchecked_touch(Product::key(43))?;
                    let lost = match batch {
                        true => tx.batch_execute("UPDATE products SET stock = stock - 1 WHERE id = 42").is_err(),
                        false => diesel::update(products::table.find(42)).set(products::stock.eq(products::stock - 1)).execute(tx).is_err(),
                    };
                    assert_eq!(lost, runs == 1);
                    Ok(())
                }).unwrap();
                assert_eq!((runs, conn.fetch::<Product>(43).unwrap().version), (2, before + 1), "{language} batch {batch}");
                assert_usable(conn);
            }
        }
        assert_eq!(conn.fetch::<Product>(42).unwrap().stock, 50 - 6);
    }

    fn row_r5_a_lock_timeout_that_is_handled_or_taken_back_lets_the_rest_be_committed(bed) {
        let (conn, other) = (&mut bed.connect(), &mut bed.connect());
        conn.batch_execute("SET innodb_lock_wait_timeout = 0").unwrap();
        other.batch_execute("START TRANSACTION; UPDATE products SET stock = stock WHERE id = 42").unwrap();
        conn.transact(&Retry::never(), |tx| -> Result<(), App> {
            tx.touch(Product::at(43, 1))?;
            assert!(tx.touch(Product::at(42, 7)).is_err());
            tx.handled();
            Ok(())
        }).unwrap();
        conn.transact(&Retry::never(), |tx| -> Result<(), App> {
            tx.touch(Product::at(43, 2))?;
            let inner: Result<(), App> = tx.savepoint(|tx| { tx.touch(Product::at(42, 7))?; Ok(()) });
            assert!(matches!(&inner, Err(App::Occ(error)) if Fault::of(error) == Fault::LockTimeout), "{inner:?}");
            Ok(())
        }).unwrap();
        let result = conn.transact(&Retry::never(), |tx| -> Result<(), App> {
            tx.touch(Product::at(43, 3))?;
            let inner: Result<(), App> = tx.savepoint(|tx| { assert!(tx.touch(Product::at(42, 7)).is_err()); Ok(()) });
            assert!(matches!(&inner, Err(App::Occ(Error::Poisoned(facts))) if facts.fault == Fault::LockTimeout), "{inner:?}");
            assert!(tx.touch(Product::at(42, 7)).is_err());
            Ok(())
        });
        assert!(matches!(&result, Err(App::Occ(Error::Poisoned(facts))) if facts.fault == Fault::LockTimeout), "{result:?}");
        other.batch_execute("ROLLBACK").unwrap();
        assert_usable(conn);
        assert_eq!(conn.fetch::<Product>(43).unwrap().version, 3);
    }

    fn row_r1_a_lock_timeout_in_autocommit_is_run_again_by_modify_in_any_language(bed) {
        let (conn, other) = (&mut bed.connect(), Arc::new(Mutex::new(bed.connect())));
        for language in LANGUAGES {
            let stock = conn.fetch::<Product>(42).unwrap().stock;
            conn.batch_execute(&format!("SET lc_messages = '{language}', innodb_lock_wait_timeout = 0")).unwrap();
            other.lock().unwrap().batch_execute("START TRANSACTION; UPDATE products SET stock = stock - 10, version = version + 1 WHERE id = 42").unwrap();
            let leaves = other.clone();
            let timer = FakeTimer::new(0.0).on_sleep(move || leaves.lock().unwrap().batch_execute("COMMIT").unwrap());
            let mode = Mode::optimistic().retry(Retry::default().timer(timer.clone()));
            let product = conn.modify(42, mode, |product: &mut Product| product.stock -= 1).unwrap();
            assert_eq!((product.stock, timer.slept().len()), (stock - 11, 1), "{language}");
        }
    }

    fn row_r1_a_row_that_changed_since_the_snapshot_is_a_serialization_failure(bed) {
        let (conn, other) = (&mut bed.connect(), &mut bed.connect());
        for language in LANGUAGES {
            for batch in [false, true] {
                conn.batch_execute(&format!("SET lc_messages = '{language}', innodb_snapshot_isolation = ON")).unwrap();
                let before = conn.fetch::<Product>(42).unwrap();
                let mut runs = 0;
                conn.transact(&Retry::default().timer(FakeTimer::new(0.0)), |tx| -> Result<(), App> {
                    runs += 1;
                    let product = tx.fetch::<Product>(42)?;
                    if runs == 1 {
                        other.unchecked_touch(Product::key(42))?;
                    }
                    let refused = match batch {
                        true => tx.batch_execute(&format!("UPDATE products SET version = version + 1 WHERE id = 42 AND version = {}", product.version)).is_err(),
                        false => tx.touch(&product).is_err(),
                    };
                    if refused {
                        assert_eq!(tx.fault(), Some(Fault::Serialization), "{language} batch {batch}");
                        assert!(matches!(tx.unchecked_touch(Product::key(43)), Err(Error::Poisoned(_))));
                    }
                    Ok(())
                }).unwrap();
                assert_eq!((runs, conn.fetch::<Product>(42).unwrap().version), (2, before.version + 2), "{language} batch {batch}");
                assert_usable(conn);
            }
        }
        assert_eq!(conn.fetch::<Product>(43).unwrap().version, 1, "nothing leaked");
    }

    // After nought rows a plain SELECT in the same transaction still shows the old row.
    fn case_optimistic_r13_inside_a_transaction_the_look_after_a_refusal_sees_what_the_write_met(bed) {
        let (conn, other) = (&mut bed.connect(), &mut bed.connect());
        let (mut runs, timer) = (0, FakeTimer::new(0.0));
        conn.transact(&Retry::default().timer(timer.clone()), |tx| -> Result<(), App> {
            runs += 1;
            let product = tx.fetch::<Product>(42)?;
            if runs == 1 {
                other.touch(Product::at(42, 7))?;
                let log = Log::on(tx);
                let error = tx.save(&product).unwrap_err();
                let Error::Conflict(conflict) = &error else { panic!("{error:?}") };
                assert_eq!((conflict.expected.as_str(), conflict.actual.as_deref()), ("7", Some("8")));
                let sent = log.statements();
                assert!(sent.len() == 2 && sent[1].contains(" LOCK IN SHARE MODE"), "{sent:?}");
                assert_eq!(tx.fetch::<Product>(42)?.version, 7, "the snapshot");
                assert_eq!(tx.current_row(&product)?.map(|row| row.version), Some(8));
                assert!(matches!(tx.verify(&product), Err(Error::Conflict(_))));
                let stale = products::table.find(42).update_if(products::version, 7, products::stock.eq(1)).execute(tx).unwrap_err();
                assert!(matches!(&stale, Error::Conflict(conflict) if conflict.actual.as_deref() == Some("8")), "{stale:?}");
                return Err(error.into());
            }
            tx.save(&product)?;
            Ok(())
        }).unwrap();
        assert_eq!((runs, timer.slept().len()), (2, 1));
        assert_eq!(conn.fetch::<Product>(42).unwrap().version, 9);
        // Deleted by another one: no row, whatever the snapshot shows.
        conn.transact(&Retry::never(), |tx| -> Result<(), App> {
            let product = tx.fetch::<Product>(43)?;
            let _ = other.unchecked_delete(Product::key(43))?;
            let error = tx.touch(&product).unwrap_err();
            assert!(matches!(&error, Error::Conflict(conflict) if conflict.actual.is_none() && !conflict.is_retryable()), "{error:?}");
            Ok(())
        }).unwrap();
    }

    fn row_o4_where_no_snapshot_hides_anything_the_look_takes_no_lock(bed) {
        let conn = &mut bed.connect();
        let log = Log::on(conn);
        conn.touch(Product::at(42, 1)).unwrap_err();
        conn.verify(Product::at(42, 7)).unwrap();
        conn.current_row(Product::at(42, 7)).unwrap();
        let committed = TxOptions::default().isolation(IsolationLevel::ReadCommitted);
        conn.transact(&committed, |tx| -> Result<(), App> {
            assert!(tx.touch(Product::at(42, 1)).is_err());
            tx.verify(Product::at(42, 7))?;
            Ok(())
        }).unwrap();
        let sent = log.statements();
        assert!(sent.len() > 6 && sent.iter().all(|sql| !sql.contains("LOCK")), "{sent:?}");
    }

    fn row_r5_a_schema_change_inside_commits_and_no_further_statement_is_sent(bed) {
        let conn = &mut bed.connect();
        let mut runs = 0;
        let result = conn.transact(&Retry::default(), |tx| -> Result<(), App> {
            runs += 1;
            tx.touch(Product::at(42, 7))?;
            tx.batch_execute("CREATE TABLE IF NOT EXISTS commits_first (id INT)")?;
            let refused = tx.touch(Product::at(43, 1)).unwrap_err();
            assert!(matches!(refused, Error::TransactionEnded(_)), "{refused:?}");
            Ok(())
        });
        assert!(matches!(&result, Err(App::Occ(Error::TransactionEnded(_)))), "{result:?}");
        assert_eq!(runs, 1);
        assert_usable(conn);
        assert_eq!((conn.fetch::<Product>(42).unwrap().version, conn.fetch::<Product>(43).unwrap().version), (8, 1));
        // A word like it in a raw query is only a reason to ask.
        conn.transact(&Retry::never(), |tx| -> Result<(), App> {
            tx.batch_execute("SELECT 'CREATE TABLE'")?;
            diesel::sql_query("SELECT 'DROP TABLE, COMMIT'").execute(tx)?;
            tx.touch(Product::at(43, 1))?;
            Ok(())
        }).unwrap();
        assert_eq!(conn.fetch::<Product>(43).unwrap().version, 2);
    }

    fn row_r1_the_options_hold_for_one_transaction_and_leave_nothing_behind(bed) {
        let conn = &mut bed.connect();
        #[derive(QueryableByName)]
        struct Row { #[diesel(sql_type = diesel::sql_types::Text)] level: String, #[diesel(sql_type = diesel::sql_types::BigInt)] read_only: i64 }
        // The session's own settings.
        let session = |conn: &mut _| {
            let row: Row = diesel::sql_query("SELECT @@tx_isolation AS level, CAST(@@tx_read_only AS SIGNED) AS read_only").get_result(conn).unwrap();
            (row.level, row.read_only)
        };
        let before = session(conn);
        for (level, blocks_readers) in [
            (IsolationLevel::ReadUncommitted, false), (IsolationLevel::ReadCommitted, false),
            (IsolationLevel::RepeatableRead, false), (IsolationLevel::Serializable, true),
        ] {
            let log = Log::on(conn);
            conn.transact(&TxOptions::default().isolation(level), |tx| -> Result<(), App> { tx.fetch::<Product>(42)?; Ok(()) }).unwrap();
            assert!(log.statements()[0].contains(&format!("SET TRANSACTION ISOLATION LEVEL {level}; START TRANSACTION; ")));
            // Only a serializable read locks the row that it reads.
            let mut other = bed.connect();
            other.batch_execute("SET innodb_lock_wait_timeout = 0").unwrap();
            conn.transact(&TxOptions::default().isolation(level), |tx| -> Result<(), App> {
                tx.fetch::<Product>(42)?;
                let written = other.unchecked_touch(Product::key(42));
                assert_eq!(written.is_err(), blocks_readers, "{level}: {written:?}");
                Ok(())
            }).unwrap();
            assert_eq!(session(conn), before);
        }
        let refused = conn.transact(&TxOptions::default().read_only(), |tx| tx.unchecked_touch(Product::key(42))).unwrap_err();
        assert!(matches!(&refused, Error::Database(DieselError::DatabaseError(DatabaseErrorKind::ReadOnlyTransaction, _))), "{refused:?}");
        conn.unchecked_touch(Product::key(42)).unwrap();
        let log = Log::on(conn);
        let refused = conn.transact(&TxOptions::default().deferrable(), |tx| tx.unchecked_touch(Product::key(42))).unwrap_err();
        assert!(matches!(&refused, Error::Unsupported(facts) if facts.what.contains("deferrable")), "{refused:?}");
        assert_eq!(log.statements(), Vec::<String>::new());
        assert_usable(conn);
    }

    // Outside strict mode a number that does not fit is cut, and the count says that all is well.
    fn row_o8_outside_strict_mode_no_version_is_cut(bed) {
        let conn = &mut bed.connect();
        conn.batch_execute("SET sql_mode = ''; UPDATE docs SET v = 32767 WHERE id = 2; UPDATE parts SET lock_version = 2147483647").unwrap();
        let checkup = diesel_occ::check(conn).unwrap();
        assert!(!checkup.strict && checkup.warnings.contains(&Warning::NotStrict), "{checkup}");
        let errors = [
            conn.touch(Doc::at(2, Some(32767))).unwrap_err(),
            conn.unchecked_touch(Doc::key(2)).unwrap_err(),
            conn.unchecked_update(Part::key((1, "x".into())), parts::qty.eq(1)).unwrap_err(),
        ];
        for error in errors {
            assert!(matches!(&error, Error::VersionOverflow(_)), "{error:?}");
        }
        assert_eq!(parts::table.unchecked_update(parts::rev, parts::qty.eq(1)).execute(conn).unwrap(), 0);
    }

    fn case_optimistic_u1_an_update_to_the_same_values_is_no_conflict(bed) {
        let conn = &mut bed.connect();
        let product = conn.fetch::<Product>(42).unwrap();
        let saved = conn.save(&product).unwrap();
        assert_eq!(saved.version, 8);
        conn.versioned_update(&saved, products::name.eq("secret tea")).unwrap();
        assert_eq!(diesel_occ::check(conn).unwrap().counts_found_rows, Some(true));
    }

    fn row_r7_a_killed_connection_is_marked_as_broken(bed) {
        let (conn, other) = (&mut bed.connect(), &mut bed.connect());
        let id = diesel::select(diesel::dsl::sql::<diesel::sql_types::BigInt>("CONNECTION_ID()")).get_result::<i64>(conn).unwrap();
        other.batch_execute(&format!("KILL {id}")).unwrap();
        let dead = conn.fetch::<Product>(42).unwrap_err();
        assert_eq!(Fault::of(&dead), Fault::ConnectionLost, "{dead:?}");
        assert!(broken(conn), "no pool takes it back");
    }

    fn row_r4_a_killed_statement_is_not_run_again(bed) {
        let conn = &mut bed.connect();
        let mut runs = 0;
        conn.batch_execute("SET max_statement_time = 0.05").unwrap();
        let result = conn.transact(&Retry::default(), |tx| -> Result<(), App> { runs += 1; tx.batch_execute("SELECT SLEEP(5)")?; Ok(()) });
        assert!(matches!(&result, Err(App::Diesel(_))), "{result:?}");
        assert_eq!(runs, 1);
        assert_usable(conn);
    }
}
