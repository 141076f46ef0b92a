//! What PostgreSQL alone does: a failed statement aborts the transaction, COMMIT may be refused, a victim is chosen, a write
//! is kept from a row by triggers, rules and policies.
#![cfg(all(feature = "postgres", feature = "sqlite", feature = "r2d2"))]

mod support;

use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::result::{DatabaseErrorKind, Error as DieselError};
use diesel_occ::prelude::*;
use diesel_occ::{Error, Fault, IsolationLevel, TxOptions, Warning};
use std::sync::{Arc, Barrier, Mutex};
use support::*;

/// No transaction is open, and the connection works.
fn assert_usable<C>(conn: &mut C)
where
    C: VersionedConnection,
    Product: Record<C::Backend>,
{
    assert_eq!(depth(conn), 0);
    conn.batch_execute("BEGIN; ROLLBACK").unwrap();
    conn.fetch::<Product>(42).unwrap();
}

const DUPLICATE: &str = "INSERT INTO flags VALUES (1, 1)";

on_every_connection! {
    of postgres;

    fn row_r5_an_aborted_transaction_reports_its_first_error_and_stores_nothing(bed) {
        let conn = &mut bed.connect();
        let mut runs = 0;
        let result = conn.transact(&Retry::default(), |tx| -> Result<(), App> {
            runs += 1;
            tx.touch(Product::at(42, 7))?;
            assert!(tx.batch_execute(DUPLICATE).is_err());
            // Not "current transaction is aborted".
            let refused = tx.touch(Product::at(43, 1)).unwrap_err();
            let Error::Poisoned(facts) = &refused else { panic!("{refused:?}") };
            let first = facts.source.as_deref();
            assert!(matches!(first, Some(DieselError::DatabaseError(DatabaseErrorKind::UniqueViolation, _))), "{facts:?}");
            let refused = products::table.count().get_result::<i64>(tx).unwrap_err();
            assert!(matches!(Error::from(refused), Error::Poisoned(_)), "a read too");
            tx.handled(); // the server has the last word
            Ok(())
        });
        let Err(App::Occ(Error::Poisoned(facts))) = &result else { panic!("{result:?}") };
        assert_eq!((facts.fault, runs), (Fault::Permanent, 1));
        let Some(DieselError::DatabaseError(kind, information)) = facts.source.as_deref() else { panic!("{facts:?}") };
        assert!(matches!(kind, DatabaseErrorKind::UniqueViolation));
        assert_eq!((information.constraint_name(), information.table_name()), (Some("flags_pkey"), Some("flags")));
        assert!(!format!("{result:?}").contains("flags_pkey"), "what the server quotes is not shown");
        assert_usable(conn);
        assert_eq!(conn.fetch::<Product>(42).unwrap().version, 7);
    }

    // COMMIT of an aborted transaction is answered with ROLLBACK and no error: a canary for a failure that nobody saw.
    fn case_faults_7_an_unseen_failure_is_not_reported_as_a_commit(bed) {
        let conn = &mut bed.connect();
        let result = conn.transact(&Retry::default(), |tx| -> Result<(), App> {
            tx.touch(Product::at(42, 7))?;
            assert!(tx.conn()?.batch_execute("SELECT nonsense").is_err());
            Ok(())
        });
        assert!(matches!(&result, Err(App::Occ(Error::Database(_)))), "{result:?}");
        assert_usable(conn);
        assert_eq!(conn.fetch::<Product>(42).unwrap().version, 7);
    }

    fn row_r5_a_savepoint_takes_the_failure_back_and_the_rest_is_committed(bed) {
        let conn = &mut bed.connect();
        conn.transact(&Retry::never(), |tx| -> Result<(), App> {
            tx.touch(Product::at(42, 7))?;
            let inner: Result<(), App> = tx.savepoint(|tx| {
                tx.touch(Product::at(43, 1))?;
                tx.batch_execute(DUPLICATE)?;
                Ok(())
            });
            assert!(matches!(&inner, Err(App::Diesel(DieselError::DatabaseError(DatabaseErrorKind::UniqueViolation, _)))), "{inner:?}");
            // By hand, as some do it.
            tx.batch_execute("SAVEPOINT mine")?;
            assert!(diesel::sql_query(DUPLICATE).execute(tx).is_err());
            tx.batch_execute("ROLLBACK TO SAVEPOINT mine")?;
            // And by Diesel's own.
            let inner: Result<(), DieselError> = tx.transaction(|tx| tx.batch_execute(DUPLICATE));
            assert!(inner.is_err());
            tx.verify(Product::at(43, 1))?;
            Ok(())
        }).unwrap();
        assert_usable(conn);
        assert_eq!((conn.fetch::<Product>(42).unwrap().version, conn.fetch::<Product>(43).unwrap().version), (8, 1));
    }

    fn row_r5_a_savepoint_that_swallowed_its_failure_is_no_success(bed) {
        let conn = &mut bed.connect();
        conn.transact(&Retry::never(), |tx| -> Result<(), App> {
            tx.touch(Product::at(42, 7))?;
            for nested in [false, true] {
                let swallow = |tx: &mut dyn SimpleConnection| assert!(tx.batch_execute(DUPLICATE).is_err());
                let inner: Result<(), App> = match nested {
                    false => tx.savepoint(|tx| { swallow(tx); Ok(()) }),
                    true => tx.transact(&Retry::never(), |tx| { swallow(tx); Ok(()) }),
                };
                assert!(matches!(&inner, Err(App::Occ(Error::Poisoned(_)))), "nested {nested}: {inner:?}");
                assert_eq!(depth(tx), 1);
            }
            tx.touch(Product::at(43, 1))?;
            Ok(())
        }).unwrap();
        assert_usable(conn);
        assert_eq!((conn.fetch::<Product>(42).unwrap().version, conn.fetch::<Product>(43).unwrap().version), (8, 2));
    }

    // Two transactions each write what the other has read: neither sees it before COMMIT.
    fn case_faults_13_a_serialization_failure_at_commit_is_rolled_back_and_run_again(bed) {
        let (conn, other) = (&mut bed.connect(), &mut bed.connect());
        let read_all = "SELECT sum(stock) FROM products";
        for attempts in [1, 20] {
            let options = TxOptions::default()
                .isolation(IsolationLevel::Serializable)
                .retry(Retry::default().attempts(attempts).timer(FakeTimer::new(0.0)));
            let (log, mut runs) = (Log::on(conn), 0);
            let result = conn.transact(&options, |tx| -> Result<(), App> {
                runs += 1;
                if runs == 1 {
                    other.batch_execute(&format!("BEGIN ISOLATION LEVEL SERIALIZABLE; {read_all}"))?;
                }
                tx.batch_execute(read_all)?;
                tx.unchecked_touch(Product::key(42))?;
                if runs == 1 {
                    other.batch_execute("UPDATE products SET stock = stock - 1 WHERE id = 43; COMMIT")?;
                }
                Ok(())
            });
            let sent = log.statements();
            assert!(!sent.iter().any(|sql| sql.contains("ROLLBACK")), "PostgreSQL has done that: {sent:?}");
            match attempts {
                1 => assert!(matches!(&result, Err(App::Occ(error @ Error::Database(_))) if Fault::of(error) == Fault::Serialization), "{result:?}"),
                _ => assert!(result.is_ok() && runs == 2, "{runs} {result:?}"),
            }
            assert_usable(conn);
        }
        assert_eq!(conn.fetch::<Product>(42).unwrap().version, 8);
    }

    fn row_r1_a_newer_row_under_repeatable_read_is_a_serialization_failure_that_is_run_again(bed) {
        let (conn, other) = (&mut bed.connect(), &mut bed.connect());
        let options = TxOptions::default()
            .isolation(IsolationLevel::RepeatableRead)
            .retry(Retry::default().timer(FakeTimer::new(0.0)));
        let mut faults = vec![];
        conn.transact(&options, |tx| -> Result<(), App> {
            let mut product = tx.fetch::<Product>(42)?;
            if faults.is_empty() {
                other.unchecked_update(Product::key(42), products::stock.eq(20))?;
            }
            product.stock -= 1;
            faults.push(tx.save(&product).err().map(|error| Fault::of(&error)));
            // Swallowed, and still not committed.
            Ok(())
        }).unwrap();
        assert_eq!(faults, [Some(Fault::Serialization), None]);
        assert_eq!(conn.fetch::<Product>(42).unwrap().stock, 19);
    }

    // A savepoint of Diesel's is enough here: its transaction goes on, and so does the connection.
    fn row_r5_a_failure_in_a_transaction_of_diesels_takes_back_our_part_alone(bed) {
        let (conn, other) = (&mut bed.connect(), &mut bed.connect());
        conn.batch_execute("SET default_transaction_isolation = 'repeatable read'").unwrap();
        let result: Result<(), App> = conn.transaction(|conn| {
            let product = conn.fetch::<Product>(42)?;
            other.touch(&product)?;
            let inner = conn.transact(&Retry::default(), |tx| tx.save(&product));
            assert!(matches!(&inner, Err(error) if Fault::of(error) == Fault::Serialization), "{inner:?}");
            conn.touch(Product::at(43, 1))?;
            Ok(())
        });
        assert!(result.is_ok(), "{result:?}");
        assert_usable(conn);
        assert_eq!((conn.fetch::<Product>(42).unwrap().version, conn.fetch::<Product>(43).unwrap().version), (8, 2));
    }

    fn row_r1_a_deadlock_inside_a_savepoint_runs_the_whole_closure_again(bed) {
        for language in languages_of_postgres(&["C", "fr_FR.UTF-8"]) {
            let (mut conn, mut other, mut watcher) = (bed.connect(), bed.connect(), bed.connect());
            let their_pid: i32 = diesel::select(diesel::dsl::sql::<diesel::sql_types::Integer>("pg_backend_pid()")).get_result(&mut other).unwrap();
            // The one that looks for a deadlock is the victim, and each looks once: ours, when theirs waits already.
            conn.batch_execute(&format!("SET deadlock_timeout = '20ms'; SET lc_messages = '{language}'")).unwrap();
            other.batch_execute("SET deadlock_timeout = '1min'").unwrap();
            let (both_hold, their_both_hold) = { let barrier = Arc::new(Barrier::new(2)); (barrier.clone(), barrier) };
            let their = std::thread::spawn(move || {
                other.batch_execute("BEGIN; UPDATE products SET stock = stock WHERE id = 43").unwrap();
                their_both_hold.wait();
                other.batch_execute("UPDATE products SET stock = stock WHERE id = 42; COMMIT").unwrap();
            });
            // The other one comes to its end before the second run.
            let mut their = Some(their);
            let timer = FakeTimer::new(0.0).on_sleep(move || if let Some(their) = their.take() { their.join().unwrap() });
            let (mut runs, mut inner) = (0, None);
            conn.transact(&Retry::default().timer(timer), |tx| -> Result<(), App> {
                runs += 1;
                tx.unchecked_touch(Product::key(42))?;
                if runs == 1 {
                    both_hold.wait();
                    let waits = format!("SELECT pg_sleep(0.002), 1 / count(*) FROM pg_locks WHERE pid = {their_pid} AND NOT granted");
                    while watcher.batch_execute(&waits).is_err() {}
                }
                let result: Result<(), App> = tx.savepoint(|tx| Ok(tx.unchecked_touch(Product::key(43))?));
                if let Err(App::Occ(error)) = &result {
                    inner = Some(Fault::of(error));
                    // What is over is over, and says why.
                    let refused = tx.unchecked_touch(Product::key(42)).unwrap_err();
                    assert!(matches!(&refused, Error::Poisoned(facts) if facts.fault == Fault::Deadlock), "{refused:?}");
                }
                Ok(())
            }).unwrap();
            assert_eq!((runs, inner), (2, Some(Fault::Deadlock)), "{language}");
            assert_usable(&mut conn);
        }
    }

    fn row_r1_a_lock_timeout_is_run_again_in_english_and_french_by_statement_and_by_batch(bed) {
        let (conn, other) = (&mut bed.connect(), Arc::new(Mutex::new(bed.connect())));
        for language in languages_of_postgres(&["C", "en_US.UTF-8", "fr_FR.UTF-8"]) {
            for (batch, nowait) in [(false, false), (true, false), (true, true)] {
                conn.batch_execute(&format!("SET lock_timeout = '30ms'; SET lc_messages = '{language}'")).unwrap();
                other.lock().unwrap().batch_execute("BEGIN; UPDATE products SET stock = stock WHERE id = 42").unwrap();
                let leaves = other.clone();
                let timer = FakeTimer::new(0.0).on_sleep(move || leaves.lock().unwrap().batch_execute("ROLLBACK").unwrap());
                let (mut runs, mut fault) = (0, None);
                conn.transact(&Retry::default().timer(timer), |tx| -> Result<(), App> {
                    runs += 1;
                    let wait = if nowait { "NOWAIT" } else { "" };
                    let result = match batch {
                        true => tx.batch_execute(&format!("SELECT 1 FROM products WHERE id = 42 FOR UPDATE {wait}")).map_err(Error::from),
                        false => tx.unchecked_touch(Product::key(42)),
                    };
                    fault = fault.or(result.as_ref().err().map(|error| Fault::of(error)));
                    Ok(result?)
                }).unwrap();
                assert_eq!((runs, fault), (2, Some(Fault::LockTimeout)), "{language} batch {batch} nowait {nowait}");
                assert_usable(conn);
            }
        }
    }

    // A constraint that is looked at by COMMIT needs a lock that somebody holds.
    fn row_r1_a_lock_timeout_at_commit_is_rolled_back_and_run_again_in_english_and_french(bed) {
        let (conn, other) = (&mut bed.connect(), Arc::new(Mutex::new(bed.connect())));
        conn.batch_execute("
            CREATE FUNCTION count_it() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN UPDATE flags SET version = version + 1; RETURN NULL; END';
            CREATE CONSTRAINT TRIGGER count_it AFTER UPDATE ON products DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION count_it();
        ").unwrap();
        for language in languages_of_postgres(&["C", "fr_FR.UTF-8"]) {
            conn.batch_execute(&format!("SET lock_timeout = '30ms'; SET lc_messages = '{language}'")).unwrap();
            let before = conn.fetch::<Product>(42).unwrap().version;
            other.lock().unwrap().batch_execute("BEGIN; UPDATE flags SET version = version").unwrap();
            let mut runs = 0;
            let once = conn.transact(&Retry::never(), |tx| tx.unchecked_touch(Product::key(42))).unwrap_err();
            assert!(matches!(&once, Error::Database(_)) && Fault::of(&once) == Fault::LockTimeout, "{language}: {once:?}");
            assert_usable(conn);
            let leaves = other.clone();
            let timer = FakeTimer::new(0.0).on_sleep(move || leaves.lock().unwrap().batch_execute("ROLLBACK").unwrap());
            conn.transact(&Retry::default().timer(timer), |tx| { runs += 1; tx.unchecked_touch(Product::key(42)) }).unwrap();
            assert_eq!((runs, conn.fetch::<Product>(42).unwrap().version), (2, before + 1), "{language}");
            assert_usable(conn);
        }
    }

    fn row_r1_a_lock_timeout_in_autocommit_is_run_again_by_modify(bed) {
        let (conn, other) = (&mut bed.connect(), Arc::new(Mutex::new(bed.connect())));
        conn.batch_execute("SET lock_timeout = '30ms'; SET lc_messages = 'fr_FR.UTF-8'").unwrap();
        other.lock().unwrap().batch_execute("BEGIN; UPDATE products SET stock = 20, version = 8 WHERE id = 42").unwrap();
        let leaves = other.clone();
        let timer = FakeTimer::new(0.0).on_sleep(move || leaves.lock().unwrap().batch_execute("COMMIT").unwrap());
        let mode = Mode::optimistic().retry(Retry::default().timer(timer.clone()));
        let product = conn.modify(42, mode, |product: &mut Product| product.stock -= 1).unwrap();
        assert_eq!((product.stock, product.version, timer.slept().len()), (19, 9, 1));
    }

    fn case_faults_1_in_another_language_the_self_test_warns_and_nothing_is_run_again(bed) {
        let (conn, other) = (&mut bed.connect(), &mut bed.connect());
        for (language, understood) in [("de_DE.UTF-8", false), ("fr_FR.UTF-8", true), ("C", true)] {
            conn.batch_execute(&format!("SET lock_timeout = '30ms'; SET lc_messages = '{language}'")).unwrap();
            let checkup = diesel_occ::check(conn).unwrap();
            assert_eq!(checkup.language, language);
            let warned = checkup.warnings.iter().any(|warning| matches!(warning, Warning::Language { language: of } if of == language));
            assert_eq!(warned, !understood, "{checkup}");
        }
        let Some(german) = languages_of_postgres(&["de_DE.UTF-8"]).pop() else { return };
        conn.batch_execute(&format!("SET lc_messages = '{german}'")).unwrap();
        other.batch_execute("BEGIN; UPDATE products SET stock = stock WHERE id = 42").unwrap();
        let mut runs = 0;
        let result = conn.transact(&Retry::default(), |tx| { runs += 1; tx.unchecked_touch(Product::key(42)) });
        other.batch_execute("ROLLBACK").unwrap();
        assert!(matches!(&result, Err(error @ Error::Database(_)) if Fault::of(error) == Fault::Permanent), "{result:?}");
        assert_eq!(runs, 1);
    }

    fn row_r4_a_statement_timeout_is_not_run_again(bed) {
        let conn = &mut bed.connect();
        let mut runs = 0;
        conn.batch_execute("SET statement_timeout = '20ms'").unwrap();
        let result = conn.transact(&Retry::default(), |tx| -> Result<(), App> { runs += 1; tx.batch_execute("SELECT pg_sleep(5)")?; Ok(()) });
        assert!(matches!(&result, Err(App::Diesel(_))), "{result:?}");
        assert_eq!(runs, 1);
        conn.batch_execute("SET statement_timeout = 0").unwrap();
        assert_usable(conn);
    }

    fn row_o4_what_triggers_rules_and_views_swallow_is_suppressed(bed) {
        for (swallows, kept) in [
            ("CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
              CREATE TRIGGER keep BEFORE UPDATE OR DELETE ON flags FOR EACH ROW EXECUTE FUNCTION keep()",
             "DROP TRIGGER keep ON flags"),
            ("CREATE RULE keep AS ON UPDATE TO flags DO INSTEAD NOTHING; CREATE RULE keep_too AS ON DELETE TO flags DO INSTEAD NOTHING",
             "DROP RULE keep ON flags; DROP RULE keep_too ON flags"),
            ("ALTER TABLE flags RENAME TO flags_behind; CREATE VIEW flags AS SELECT * FROM flags_behind;
              CREATE TRIGGER keep INSTEAD OF UPDATE OR DELETE ON flags FOR EACH ROW EXECUTE FUNCTION keep()",
             "DROP VIEW flags; ALTER TABLE flags_behind RENAME TO flags"),
        ] {
            let conn = &mut bed.connect();
            conn.batch_execute(swallows).unwrap();
            for error in [
                conn.touch(Flag::at(1, 1)).unwrap_err(),
                conn.save(&Flag { id: 1, version: 1 }).unwrap_err(),
                conn.versioned_delete(Flag::at(1, 1)).unwrap_err(),
                conn.unchecked_touch(Flag::key(1)).unwrap_err(),
                conn.transact(&Retry::default(), |tx| tx.touch(Flag::at(1, 1))).unwrap_err(),
            ] {
                assert!(matches!(&error, Error::Suppressed(facts) if facts.version == "1"), "{swallows}: {error:?}");
            }
            // Another version is a conflict all the same.
            assert!(matches!(conn.touch(Flag::at(1, 5)), Err(Error::Conflict(_))));
            conn.batch_execute(kept).unwrap();
        }
    }

    fn row_o4_what_row_level_security_keeps_from_the_writer_is_suppressed(bed) {
        let conn = &mut bed.connect();
        let role = a_name();
        conn.batch_execute(&format!("
            CREATE ROLE {role}; ALTER TABLE flags ENABLE ROW LEVEL SECURITY;
            CREATE POLICY reads ON flags FOR SELECT TO {role} USING (true);
            CREATE POLICY writes ON flags FOR UPDATE TO {role} USING (id > 1);
            GRANT SELECT, UPDATE, DELETE ON flags TO {role};
            DO $$ BEGIN EXECUTE format('GRANT USAGE ON SCHEMA %I TO {role}', current_schema()); END $$;
            SET ROLE {role};
        ")).unwrap();
        let error = conn.touch(Flag::at(1, 1)).unwrap_err();
        assert!(matches!(&error, Error::Suppressed(facts) if facts.key == "1"), "{error:?}");
        let error = conn.versioned_delete(Flag::at(1, 1)).unwrap_err();
        assert!(matches!(&error, Error::Suppressed(_)), "{error:?}");
        conn.batch_execute(&format!("RESET ROLE; DROP OWNED BY {role}; DROP ROLE {role}")).unwrap();
    }

    fn row_r1_the_options_hold_for_one_transaction_and_leave_nothing_behind(bed) {
        let conn = &mut bed.connect();
        let is = |isolation: &str, read_only: &str, deferrable: &str| format!("DO $$ BEGIN
            ASSERT current_setting('transaction_isolation') = '{isolation}';
            ASSERT current_setting('transaction_read_only') = '{read_only}';
            ASSERT current_setting('transaction_deferrable') = '{deferrable}';
        END $$");
        for (level, name) in [
            (IsolationLevel::ReadUncommitted, "read uncommitted"),
            (IsolationLevel::ReadCommitted, "read committed"),
            (IsolationLevel::RepeatableRead, "repeatable read"),
            (IsolationLevel::Serializable, "serializable"),
        ] {
            let options = TxOptions::default().isolation(level);
            conn.transact(&options, |tx| -> Result<(), App> { Ok(tx.batch_execute(&is(name, "off", "off"))?) }).unwrap();
            let options = options.read_only().deferrable();
            conn.transact(&options, |tx| -> Result<(), App> { Ok(tx.batch_execute(&is(name, "on", "on"))?) }).unwrap();
            conn.batch_execute(&is("read committed", "off", "off")).unwrap();
        }
        let refused = conn.transact(&TxOptions::default().read_only(), |tx| tx.touch(Product::at(42, 7))).unwrap_err();
        assert!(matches!(&refused, Error::Database(DieselError::DatabaseError(DatabaseErrorKind::ReadOnlyTransaction, _))), "{refused:?}");
        assert_usable(conn);
    }

    fn row_r7_a_terminated_connection_is_marked_as_broken(bed) {
        let (conn, other) = (&mut bed.connect(), &mut bed.connect());
        let mut pid = 0;
        let result = conn.transact(&Retry::default(), |tx| -> Result<(), App> {
            tx.touch(Product::at(42, 7))?;
            pid = diesel::select(diesel::dsl::sql::<diesel::sql_types::Integer>("pg_backend_pid()")).get_result::<i32>(tx)?;
            other.batch_execute(&format!("SELECT pg_terminate_backend({pid}, 5000)"))?;
            tx.touch(Product::at(42, 8))?;
            Ok(())
        });
        assert!(matches!(&result, Err(App::Occ(error)) if Fault::of(error) == Fault::ConnectionLost), "{result:?}");
        assert!(pid > 0);
        let dead = conn.fetch::<Product>(42).unwrap_err();
        assert_eq!(Fault::of(&dead), Fault::ConnectionLost);
        assert_eq!(other.fetch::<Product>(42).unwrap().version, 7);
    }

    fn row_o4_what_a_trigger_raises_is_in_no_debug_of_whatever_kind(bed) {
        let conn = &mut bed.connect();
        conn.batch_execute("CREATE FUNCTION low() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            RAISE EXCEPTION 'not enough of %', OLD.name USING ERRCODE = 'check_violation'; END $$;
            CREATE TRIGGER low BEFORE UPDATE ON products FOR EACH ROW EXECUTE FUNCTION low()").unwrap();
        let error = conn.touch(Product::at(42, 7)).unwrap_err();
        assert!(!format!("{error:?} {error}").contains("secret"), "{error:?}");
    }
}

on_every_server! {
    of postgres;

    // More binds than the protocol can count: the client library sends nothing.
    fn row_r7_what_the_client_library_refuses_is_no_lost_connection(bed) {
        let conn = &mut bed.connect();
        let ids: Vec<i64> = (0..70_000).collect();
        let mut runs = 0;
        let result = conn.transact(&Retry::default(), |tx| -> Result<(), App> {
            runs += 1;
            let rows: Vec<_> = ids.iter().map(|id| (orders::id.eq(id), orders::product_id.eq(42))).collect();
            diesel::insert_into(orders::table).values(rows).execute(tx)?;
            Ok(())
        });
        assert!(matches!(&result, Err(App::Diesel(_))), "{result:?}");
        assert_eq!(runs, 1);
        assert_usable(conn);
    }
}
