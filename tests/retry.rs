//! The retry: what is run again, how often, how far apart, and what comes back in the end.
#![cfg(all(feature = "sqlite", feature = "r2d2"))]

mod support;

use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel_occ::prelude::*;
use diesel_occ::{Error, Fault, Observer, RetryEvent, error::RetriesExhausted};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use support::*;

/// What an observer was told, in words.
#[derive(Clone, Default)]
struct Told(Arc<Mutex<Vec<String>>>);

impl Observer for Told {
    fn conflict(&self, conflict: &Conflict) {
        self.0.lock().unwrap().push(format!("conflict {conflict}"));
    }
    fn retry(&self, retry: &RetryEvent) {
        self.0.lock().unwrap().push(format!(
            "retry {} after {} in {:?}",
            retry.attempts, retry.fault, retry.delay
        ));
    }
    fn exhausted(&self, exhausted: &RetriesExhausted) {
        self.0.lock().unwrap().push(exhausted.to_string());
    }
}

on_every_connection! {
    fn row_r2_the_defaults_are_twenty_attempts_and_ten_seconds(bed) {
        let conn = &mut bed.connect();
        let error = conn.transact(&Retry::default().timer(FakeTimer::new(0.0)), |tx| tx.touch(Product::at(42, 1))).unwrap_err();
        assert!(matches!(&error, Error::RetriesExhausted(facts) if facts.attempts == 20), "{error:?}");
        let timer = FakeTimer::new(1.0);
        let policy = Retry::default().attempts(10_000).timer(timer.clone());
        conn.transact(&policy, |tx| tx.touch(Product::at(42, 1))).unwrap_err();
        assert_eq!(timer.slept()[..9], [2, 4, 8, 16, 32, 64, 128, 200, 200]);
        assert!((9_800..=10_000).contains(&timer.slept().iter().sum::<u128>()));
    }

    fn row_r1_a_conflict_runs_the_whole_closure_again_on_fresh_data(bed) {
        let (conn, other) = (&mut bed.connect(), &mut bed.connect());
        let timer = FakeTimer::new(1.0);
        let stale = conn.fetch::<Product>(42).unwrap();
        other.modify(42, Mode::optimistic(), |product: &mut Product| product.stock = 20).unwrap();
        let mut seen = vec![];
        let left = conn.transact(&Retry::default().timer(timer.clone()), |tx| -> Result<i32, App> {
            let mut product = if seen.is_empty() { stale.clone() } else { tx.fetch(42)? };
            seen.push(product.stock);
            product.stock -= 1;
            Ok(tx.save(&product)?.stock)
        }).unwrap();
        assert_eq!((left, seen), (19, vec![50, 20]));
        assert_eq!(timer.slept(), [2]);
    }

    fn row_r1_what_a_failed_attempt_wrote_is_rolled_back(bed) {
        let conn = &mut bed.connect();
        let mut runs = 0;
        conn.transact(&Retry::default().timer(FakeTimer::new(0.0)), |tx| -> Result<(), App> {
            runs += 1;
            tx.guarded_update(Product::key(42), products::stock.ge(1), products::stock.eq(products::stock - 1))?;
            if runs < 4 {
                tx.touch(Product::at(43, 99))?;
            }
            Ok(())
        }).unwrap();
        assert_eq!(conn.fetch::<Product>(42).unwrap().stock, 49);
    }

    fn row_r2_delays_double_from_the_base_to_the_cap_and_attempts_bound_them(bed) {
        let conn = &mut bed.connect();
        let timer = FakeTimer::new(1.0);
        let policy = Retry::default().attempts(9).base(Duration::from_millis(3)).cap(Duration::from_millis(50)).timer(timer.clone());
        let mut runs = 0;
        let error = conn.transact(&policy, |tx| -> Result<(), App> { runs += 1; tx.touch(Product::at(42, 1))?; Ok(()) }).unwrap_err();
        assert_eq!(timer.slept(), [3, 6, 12, 24, 48, 50, 50, 50]);
        assert_eq!(runs, 9);
        let App::Occ(Error::RetriesExhausted(facts)) = error else { panic!("{error:?}") };
        assert_eq!((facts.attempts, facts.last, facts.elapsed), (9, Fault::Conflict, Duration::from_millis(243)));
        let conflict = facts.conflict.unwrap();
        assert_eq!((conflict.key.as_str(), conflict.actual.as_deref()), ("42", Some("7")));
    }

    fn row_r2_the_jitter_is_full_and_comes_from_the_policys_own_source(bed) {
        let conn = &mut bed.connect();
        for (random, slept) in [(0.0, vec![0, 0, 0]), (0.5, vec![1, 2, 4]), (7.0, vec![2, 4, 8]), (-1.0, vec![0, 0, 0]), (f64::NAN, vec![2, 4, 8])] {
            let timer = FakeTimer::new(random);
            let policy = Retry::default().attempts(4).timer(timer.clone());
            let error = conn.transact(&policy, |tx| tx.touch(Product::at(42, 1))).unwrap_err();
            assert!(matches!(error, Error::RetriesExhausted(_)));
            assert_eq!(timer.slept(), slept, "random {random}");
        }
    }

    fn row_r2_no_wait_begins_that_would_end_after_the_deadline(bed) {
        let conn = &mut bed.connect();
        let timer = FakeTimer::new(1.0);
        let policy = Retry::default().attempts(1_000).deadline(Duration::from_millis(100)).timer(timer.clone());
        let error = conn.transact(&policy, |tx| tx.touch(Product::at(42, 1))).unwrap_err();
        assert_eq!(timer.slept(), [2, 4, 8, 16, 32]);
        assert!(matches!(&error, Error::RetriesExhausted(facts) if facts.attempts == 6), "{error:?}");
        let policy = Retry::default().deadline(Duration::ZERO).timer(FakeTimer::new(1.0));
        let error = conn.transact(&policy, |tx| tx.touch(Product::at(42, 1))).unwrap_err();
        assert!(matches!(&error, Error::RetriesExhausted(facts) if facts.attempts == 1), "{error:?}");
        let timer = FakeTimer::new(1.0);
        let policy = Retry::default().attempts(200).no_deadline().timer(timer.clone());
        conn.transact(&policy, |tx| tx.touch(Product::at(42, 1))).unwrap_err();
        assert_eq!(timer.slept().len(), 199);
    }

    fn row_r2_absurd_policies_do_not_panic(bed) {
        let conn = &mut bed.connect();
        let timer = FakeTimer::new(1.0);
        let policy = Retry::default().attempts(0).base(Duration::MAX).cap(Duration::MAX).deadline(Duration::MAX);
        assert!(matches!(conn.transact(&policy, |tx| tx.touch(Product::at(42, 1))), Err(Error::Conflict(_))));
        let policy = policy.attempts(3).no_deadline().timer(timer.clone());
        conn.transact(&policy, |tx| tx.touch(Product::at(42, 1))).unwrap_err();
        assert_eq!(timer.slept(), [86_400_000; 2]);
        let policy = Retry::default().attempts(3).base(Duration::from_secs(9)).cap(Duration::ZERO).timer(FakeTimer::new(1.0));
        conn.transact(&policy, |tx| tx.touch(Product::at(42, 1))).unwrap_err();
    }

    fn row_r2_one_attempt_gives_the_works_own_error(bed) {
        let conn = &mut bed.connect();
        assert!(matches!(conn.transact(&Retry::never(), |tx| tx.touch(Product::at(42, 1))), Err(Error::Conflict(_))));
        let mode = Mode::optimistic().retry(Retry::never());
        let mut other = bed.connect();
        let lost = conn.modify(42, mode, |_: &mut Product| { other.unchecked_touch(Product::key(42)).unwrap(); });
        assert!(matches!(lost, Err(Error::Conflict(_))), "{lost:?}");
    }

    fn row_r2_an_observer_is_told_of_conflicts_retries_and_the_end(bed) {
        let conn = &mut bed.connect();
        let told = Told::default();
        let policy = Retry::default().attempts(2).timer(FakeTimer::new(0.5)).observer(told.clone());
        conn.transact(&policy, |tx| tx.touch(Product::at(42, 1))).unwrap_err();
        conn.modify(42, Mode::optimistic().retry(policy), |_: &mut Product| {}).unwrap();
        assert_eq!(*told.0.lock().unwrap(), [
            "conflict products 42: expected version 1, found 7",
            "retry 1 after a lost race in 1ms",
            "conflict products 42: expected version 1, found 7",
            "gave up after 2 attempts in 1ms, the last one ended by a lost race",
        ]);
    }

    fn row_r3_inside_an_open_transaction_it_runs_once_and_the_outermost_retries(bed) {
        let conn = &mut bed.connect();
        let (mut outer, mut inner) = (0, 0);
        conn.transact(&Retry::default().timer(FakeTimer::new(0.0)), |tx| -> Result<(), App> {
            outer += 1;
            tx.transact(&Retry::default(), |tx| -> Result<(), App> {
                inner += 1;
                if outer < 3 { tx.touch(Product::at(42, 1))?; }
                Ok(())
            })
        }).unwrap();
        assert_eq!((outer, inner), (3, 3));
        // In a transaction of Diesel's: once, with the typed conflict, and that transaction goes on.
        let mut runs = 0;
        let result: Result<i64, App> = conn.transaction(|conn| {
            let lost = conn.transact(&Retry::default(), |tx| -> Result<(), App> { runs += 1; tx.touch(Product::at(42, 1))?; Ok(()) });
            assert!(matches!(lost, Err(App::Occ(Error::Conflict(_)))), "{lost:?}");
            let lost = conn.modify(42, Mode::optimistic(), |_: &mut Product| { runs += 1; });
            lost?;
            Ok(conn.fetch::<Product>(42)?.version)
        });
        assert_eq!((result.unwrap(), runs), (8, 2));
    }

    fn row_r3_modify_inside_a_transaction_is_retried_by_the_outermost(bed) {
        let conn = &mut bed.connect();
        let (mut runs, mut closures) = (0, 0);
        conn.transact(&Retry::default().timer(FakeTimer::new(0.0)), |tx| -> Result<(), App> {
            runs += 1;
            let first = runs == 1;
            let modified = tx.modify(42, Mode::optimistic(), |product: &mut Product| { closures += 1; product.stock -= 1 });
            modified?;
            if first { tx.touch(Product::at(42, 1))?; }
            Ok(())
        }).unwrap();
        assert_eq!((runs, closures, conn.fetch::<Product>(42).unwrap().stock), (2, 2, 49));
    }

    fn row_r4_any_error_type_is_retried_by_what_the_transaction_saw(bed) {
        let conn = &mut bed.connect();
        let policy = Retry::default().timer(FakeTimer::new(0.0));
        let mut runs = 0;
        conn.transact(&policy, |tx| -> anyhow::Result<()> {
            runs += 1;
            if runs < 3 { tx.touch(Product::at(42, 1)).map_err(|error| anyhow::Error::from(error).context("selling"))?; }
            Ok(())
        }).unwrap();
        assert_eq!(runs, 3);
        let mut runs = 0;
        conn.transact(&policy, |tx| -> Result<(), Box<dyn std::error::Error>> {
            runs += 1;
            if runs < 3 { tx.touch(Product::at(42, 1))?; }
            Ok(())
        }).unwrap();
        assert_eq!(runs, 3);
        // Flattened to something that has no source at all.
        let mut runs = 0;
        conn.transact(&policy, |tx| -> Result<(), App> {
            runs += 1;
            if runs < 3 { tx.touch(Product::at(42, 1)).map_err(|_| App::OutOfStock)?; }
            Ok(())
        }).unwrap();
        assert_eq!(runs, 3);
    }

    fn row_r4_a_users_error_passes_through_untouched(bed) {
        let conn = &mut bed.connect();
        let mut runs = 0;
        let error = conn.transact(&Retry::default(), |_| -> anyhow::Result<()> { runs += 1; Err(anyhow::anyhow!("mine")) }).unwrap_err();
        assert_eq!((error.to_string().as_str(), runs), ("mine", 1));
        let result = conn.modify(42, Mode::optimistic(), |_: &mut Product| Err::<(), _>(App::OutOfStock));
        assert!(matches!(result, Err(App::OutOfStock)));
        assert_eq!(conn.fetch::<Product>(42).unwrap().version, 7);
    }

    fn row_r4_handled_makes_the_closures_error_final_and_an_ok_is_committed(bed) {
        let conn = &mut bed.connect();
        let mut runs = 0;
        let result = conn.transact(&Retry::default(), |tx| -> Result<(), App> {
            runs += 1;
            assert!(tx.touch(Product::at(42, 1)).is_err());
            assert_eq!(tx.fault(), Some(Fault::Conflict));
            tx.handled();
            assert_eq!(tx.fault(), None);
            Err(App::OutOfStock)
        });
        assert!(matches!(result, Err(App::OutOfStock)));
        // One level up it counts as handled too.
        let result = conn.transact(&Retry::default(), |tx| -> Result<(), App> {
            runs += 1;
            let inner = tx.transact(&Retry::never(), |tx| -> Result<(), App> {
                assert!(tx.touch(Product::at(42, 1)).is_err());
                tx.handled();
                Err(App::OutOfStock)
            });
            assert!(inner.is_err());
            Err(App::OutOfStock)
        });
        assert!(matches!(result, Err(App::OutOfStock)));
        assert_eq!(runs, 2);
        // A conflict that was answered inside, with an Ok at the end, needs nothing.
        conn.transact(&Retry::default(), |tx| -> Result<(), App> {
            runs += 1;
            if tx.touch(Product::at(42, 1)).is_err() {
                let now = tx.fetch::<Product>(42)?;
                tx.touch(&now)?;
            }
            Ok(())
        }).unwrap();
        assert_eq!((runs, conn.fetch::<Product>(42).unwrap().version), (3, 8));
    }

    fn row_r4_what_no_retry_can_answer_is_not_repeated(bed) {
        let conn = &mut bed.connect();
        let mut runs = 0;
        for case in 0..6 {
            let result = conn.transact(&Retry::default(), |tx| -> Result<(), App> {
                runs += 1;
                match case {
                    0 => { tx.touch(Product::at(99, 1))?; } // deleted
                    1 => { tx.fetch::<Product>(99)?; }
                    2 => tx.guarded_update(Product::key(42), products::stock.ge(99), products::stock.eq(0))?,
                    3 => { tx.batch_execute("INSERT INTO flags VALUES (1, 1)")?; }
                    4 => { tx.touch(Product::at(42, i64::MAX))?; }
                    _ => { tx.batch_execute("SELECT nonsense")?; }
                }
                Ok(())
            });
            assert!(result.is_err(), "case {case}");
            assert!(!matches!(result, Err(App::Occ(Error::RetriesExhausted(_)))), "case {case}: {result:?}");
        }
        assert_eq!(runs, 6);
    }

    fn row_r4_after_a_conflict_the_same_connection_and_values_are_usable(bed) {
        let conn = &mut bed.connect();
        let product = conn.fetch::<Product>(42).unwrap();
        assert!(conn.touch(Product::at(42, 1)).is_err());
        let row = conn.touch(&product).unwrap();
        conn.touch(row).unwrap();
    }
}

mod only_on_sqlite {
    use super::*;

    on_every_connection! {
    of sqlite;

    fn row_r2_the_default_patience_for_the_write_lock_is_ten_seconds(bed) {
        let (conn, other) = (&mut bed.connect(), &mut bed.connect());
        other.batch_execute("BEGIN IMMEDIATE").unwrap();
        let timer = FakeTimer::new(1.0);
        let error = conn.transact(&Retry::default().timer(timer), |tx| tx.touch(Product::at(42, 7))).unwrap_err();
        other.batch_execute("ROLLBACK").unwrap();
        let Error::LockTimeout(facts) = error else { panic!("{error:?}") };
        assert!((Duration::from_secs(9)..=Duration::from_secs(10)).contains(&facts.waited), "{facts}");
    }

    fn row_r1_a_busy_database_at_begin_is_waited_for_and_is_no_attempt(bed) {
        let (conn, other) = (&mut bed.connect(), bed.connect());
        let other = Arc::new(Mutex::new(other));
        other.lock().unwrap().batch_execute("BEGIN IMMEDIATE").unwrap();
        let (leaves, mut waits) = (other.clone(), 0);
        let timer = FakeTimer::new(1.0).on_sleep(move || {
            waits += 1;
            if waits == 30 {
                leaves.lock().unwrap().batch_execute("COMMIT").unwrap();
            }
        });
        let told = Told::default();
        let mut runs = 0;
        conn.transact(&Retry::default().timer(timer.clone()).observer(told.clone()), |tx| -> Result<(), App> {
            runs += 1;
            tx.touch(Product::at(42, 7))?;
            Ok(())
        }).unwrap();
        assert_eq!((runs, timer.slept().len()), (1, 30));
        // Who has waited long looks more often: 2 ms, then 1 ms, then less.
        assert_eq!(timer.slept()[..10], [2, 2, 2, 2, 1, 1, 1, 1, 0, 0]);
        assert!(told.0.lock().unwrap().is_empty());
    }
    }
}

mod where_writers_of_a_row_queue {
    use super::*;

    on_every_connection! {
    of postgres, of mysql;

    // Somebody writes the row between reading and writing in every run: without the lock that would go on for ever.
    fn row_r1_who_has_lost_a_row_once_takes_its_lock_before_it_reads_again(bed) {
        let (conn, other) = (&mut bed.connect(), &mut bed.connect());
        let impatient = match conn.server().name() {
            "PostgreSQL" => "SET lock_timeout = '20ms'",
            _ => "SET innodb_lock_wait_timeout = 0",
        };
        other.batch_execute(impatient).unwrap();
        for nested in [false, true] {
            let mut theirs = vec![];
            let stock = conn.transact(&Retry::default().timer(FakeTimer::new(0.0)), |tx| -> Result<i32, App> {
                // By Diesel's own query, and not by ours.
                let (stock, version) = products::table.find(42).select((products::stock, products::version)).get_result::<(i32, i64)>(tx)?;
                theirs.push(other.unchecked_update(Product::key(42), products::stock.eq(products::stock - 10)).is_ok());
                let row = Product::at(42, version);
                match nested {
                    false => tx.versioned_update(row, products::stock.eq(stock - 1))?,
                    true => tx.transact(&Retry::default(), |tx| tx.versioned_update(&row, products::stock.eq(stock - 1)))?,
                };
                Ok(stock - 1)
            }).unwrap();
            assert_eq!(theirs, [true, false], "nested {nested}");
            assert_eq!(conn.fetch::<Product>(42).unwrap().stock, stock);
        }
        assert_eq!(conn.fetch::<Product>(42).unwrap().stock, 50 - 22);
    }

    fn row_r1_the_lock_is_one_statement_and_only_for_the_rows_that_were_lost(bed) {
        let (conn, other) = (&mut bed.connect(), &mut bed.connect());
        let log = Log::on(conn);
        let mut runs = 0;
        conn.transact(&Retry::default().timer(FakeTimer::new(0.0)), |tx| -> Result<(), App> {
            runs += 1;
            let (first, second) = (tx.fetch::<Product>(42)?, tx.fetch::<Product>(43)?);
            if runs == 1 {
                other.touch(&second)?;
            }
            tx.save(&first)?;
            tx.save(&second)?;
            Ok(())
        }).unwrap();
        let sent = log.statements();
        let locks: Vec<_> = sent.iter().filter(|sql| sql.contains(" FOR ")).collect();
        assert!(runs == 2 && locks.len() == 1 && locks[0].contains("[43]"), "{sent:?}");
        let begin = sent.iter().rposition(|sql| sql.contains("SAVEPOINT occ_guard") && !sql.contains("RELEASE")).unwrap();
        assert!(sent[begin + 1].contains(" FOR "), "right behind BEGIN: {sent:?}");
    }

    // A look is no write: who only looks may not be allowed to lock.
    fn row_r1_a_lost_look_and_a_read_only_transaction_take_no_lock(bed) {
        let conn = &mut bed.connect();
        let log = Log::on(conn);
        let twice = Retry::default().attempts(2).timer(FakeTimer::new(0.0));
        conn.transact(&twice, |tx| tx.verify(Product::at(42, 1))).unwrap_err();
        let read_only = diesel_occ::TxOptions::default().read_only().retry(twice.clone());
        conn.transact(&read_only, |tx| tx.verify(Product::at(42, 1))).unwrap_err();
        let sent = log.statements();
        assert!(sent.iter().all(|sql| !sql.contains(" FOR ")), "{sent:?}");
    }
    }

    mod where_rows_of_a_view_cannot_be_locked {
        use super::*;

        on_every_connection! {
        of postgres;

        fn row_r1_where_the_lock_is_refused_the_run_goes_on_without_it(bed) {
            let conn = &mut bed.connect();
            // Rows of a view with DISTINCT cannot be locked.
            conn.batch_execute("
            ALTER TABLE flags RENAME TO flags_behind; CREATE VIEW flags AS SELECT DISTINCT id, version FROM flags_behind;
            CREATE FUNCTION write_flags() RETURNS trigger LANGUAGE plpgsql AS
                'BEGIN UPDATE flags_behind SET version = NEW.version WHERE id = OLD.id; RETURN NEW; END';
            CREATE TRIGGER write_flags INSTEAD OF UPDATE ON flags FOR EACH ROW EXECUTE FUNCTION write_flags();
        ").unwrap();
            let (log, mut runs) = (Log::on(conn), 0);
            conn.transact(&Retry::default().timer(FakeTimer::new(0.0)), |tx| -> Result<(), App> {
                runs += 1;
                tx.touch(Flag::at(1, if runs < 3 { 9 } else { 1 }))?;
                Ok(())
            }).unwrap();
            assert_eq!((runs, conn.fetch::<Flag>(1).unwrap().version), (3, 2));
        let tried = log.statements().iter().filter(|sql| sql.contains(" FOR NO KEY UPDATE")).count();
        assert_eq!(tried, 2, "once after each lost race");
        }
            }
    }
}
