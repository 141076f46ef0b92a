//! Row locks: whom they keep away, how long one waits for them, and what they leave behind.
#![cfg(all(feature = "sqlite", feature = "r2d2"))]

mod support;

use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel_occ::prelude::*;
use diesel_occ::{Error, Fault, HeldLock, Observer};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use support::*;

const A_MOMENT: Duration = Duration::from_millis(300);
/// What a busy machine may add.
const GENEROUS: Duration = Duration::from_millis(400);

/// Another connection's transaction, which holds a row: on SQLite, where a row cannot be held alone, nothing.
struct Holder<C: VersionedConnection>(C);

impl<C: VersionedConnection> Holder<C> {
    fn of_row(mut conn: C, id: i64) -> Self {
        match is_sqlite(&mut conn) {
            true => conn.batch_execute("BEGIN IMMEDIATE").unwrap(),
            false => conn
                .batch_execute(&format!(
                    "BEGIN; SELECT 1 FROM products WHERE id = {id} FOR UPDATE"
                ))
                .unwrap(),
        }
        Holder(conn)
    }

    fn lets_go(mut self) {
        self.0.batch_execute("ROLLBACK").unwrap();
    }
}

fn is_sqlite(conn: &mut impl Driver) -> bool {
    conn.server().name() == "SQLite"
}

/// Everything of the session that decides how long it waits, as one text.
const SETTINGS: [(&str, &str); 3] = [
    (
        "SQLite",
        "SELECT CAST(timeout AS TEXT) FROM pragma_busy_timeout",
    ),
    (
        "PostgreSQL",
        "SELECT current_setting('lock_timeout') || ' ' || current_setting('statement_timeout')",
    ),
    (
        "MySQL or MariaDB",
        "SELECT CONCAT(@@innodb_lock_wait_timeout, ' ', @@lock_wait_timeout, ' ', @@max_statement_time)",
    ),
];

macro_rules! settings {
    ($conn:expr) => {{
        let server = $conn.server().name();
        let (_, sql) = SETTINGS
            .into_iter()
            .find(|(name, _)| *name == server)
            .unwrap();
        diesel::select(diesel::dsl::sql::<diesel::sql_types::Text>(
            sql.strip_prefix("SELECT ").unwrap(),
        ))
        .get_result::<String>($conn)
        .unwrap()
    }};
}

on_every_connection! {
    fn row_p1_outside_a_transaction_a_lock_is_an_error_before_any_sql(bed) {
        let conn = &mut bed.connect();
        let log = Log::on(conn);
        for lock in [Lock::for_update(), Lock::for_update().no_wait(), Lock::for_update().skip_locked(), Lock::for_update().within(A_MOMENT)] {
            let one = conn.fetch_locked::<Product>(42, lock);
            assert!(matches!(one, Err(Error::NotInTransaction)), "{one:?}");
            let many = products::table.select(Product::as_select()).lock_rows(lock).load::<Product>(conn);
            assert!(matches!(many, Err(Error::NotInTransaction)), "{many:?}");
        }
        assert_eq!(log.statements(), Vec::<String>::new());
    }

    fn row_p2_what_a_server_lacks_is_unsupported_before_any_sql_and_never_a_stronger_lock(bed) {
        let conn = &mut bed.connect();
        let lacking: &[(Lock, &str)] = match conn.server().name() {
            "PostgreSQL" => &[],
            "SQLite" => &[
                (Lock::for_no_key_update(), "FOR NO KEY UPDATE"),
                (Lock::for_share(), "FOR SHARE"),
                (Lock::for_key_share(), "FOR KEY SHARE"),
            ],
            _ => &[(Lock::for_no_key_update(), "FOR NO KEY UPDATE"), (Lock::for_key_share(), "FOR KEY SHARE")],
        };
        let all = [Lock::for_update(), Lock::for_no_key_update(), Lock::for_share(), Lock::for_key_share()];
        for lock in all {
            for lock in [lock, lock.no_wait(), lock.skip_locked(), lock.within(A_MOMENT)] {
                let lacks = lacking.iter().find(|(lacking, _)| format!("{lacking:?}").split("wait").next() == format!("{lock:?}").split("wait").next());
                conn.transact(&Retry::never(), |tx| -> diesel_occ::Result<()> {
                    let log = Log::on(tx);
                    let one = tx.fetch_locked::<Product>(42, lock);
                    let many = products::table.find(42).select(Product::as_select()).lock_rows(lock).load::<Product>(tx);
                    match lacks {
                        None => assert!(one.unwrap().id == 42 && many.unwrap().len() == 1),
                        Some((_, what)) => {
                            assert!(matches!(&one, Err(Error::Unsupported(facts)) if facts.what == *what), "{lock:?}: {one:?}");
                            assert!(matches!(&many, Err(Error::Unsupported(facts)) if facts.what == *what), "{lock:?}: {many:?}");
                            assert_eq!(log.statements(), Vec::<String>::new());
                        }
                    }
                    Ok(())
                }).unwrap();
                if let Some((_, what)) = lacks {
                    let log = Log::on(conn);
                    let error = conn.modify(42, Mode::pessimistic_with(lock), |_: &mut Product| ()).unwrap_err();
                    assert!(matches!(&error, Error::Unsupported(facts) if facts.what == *what), "{lock:?}: {error:?}");
                    assert_eq!(log.statements(), Vec::<String>::new());
                }
            }
        }
    }

    fn case_optimistic_p7_a_missing_row_is_not_found_whatever_the_wait(bed) {
        let conn = &mut bed.connect();
        conn.transact(&Retry::never(), |tx| -> diesel_occ::Result<()> {
            for lock in [Lock::for_update(), Lock::for_update().no_wait(), Lock::for_update().skip_locked(), Lock::for_update().within(A_MOMENT)] {
                let missing = tx.fetch_locked::<Product>(99, lock).unwrap_err();
                assert!(matches!(&missing, Error::NotFound(facts) if facts.key == "99"), "{lock:?}: {missing:?}");
            }
            Ok(())
        }).unwrap();
    }

    fn case_optimistic_p7_every_lock_is_a_statement_of_its_own(bed) {
        let conn = &mut bed.connect();
        conn.transact(&Retry::never(), |tx| -> diesel_occ::Result<()> {
            tx.fetch_locked::<Product>(42, Lock::for_update())?;
            let log = Log::on(tx);
            for lock in [Lock::for_update(), Lock::for_update().no_wait(), Lock::for_update().within(A_MOMENT)] {
                tx.fetch_locked::<Product>(42, lock)?;
                let sent = log.statements();
                assert_eq!(sent.len(), 1, "{lock:?}: {sent:?}");
                assert_eq!(sent[0].contains(" FOR UPDATE"), !is_sqlite(tx), "{sent:?}");
            }
            Ok(())
        }).unwrap();
    }

    fn case_optimistic_p15_the_statement_has_the_whole_key(bed) {
        let conn = &mut bed.connect();
        conn.transact(&Retry::never(), |tx| -> diesel_occ::Result<()> {
            let log = Log::on(tx);
            let part = tx.fetch_locked::<Part>((2, "x".to_owned()), Lock::for_update())?;
            assert_eq!((part.tenant, part.qty), (2, 20));
            let sent = log.statements();
            assert!(sent[0].contains("(`parts`.`tenant` = ?) AND (`parts`.`id` = ?)"), "{sent:?}");
            Ok(())
        }).unwrap();
    }

    fn row_p4_modify_takes_the_lock_that_a_value_chooses_with_the_same_closure_and_result(bed) {
        let (conn, reader) = (&mut bed.connect(), &mut bed.connect());
        let read: Product = reader.fetch(42).unwrap();
        let sell = |product: &mut Product| match product.stock {
            0 => Err(App::OutOfStock),
            _ => { product.stock -= 1; Ok(()) }
        };
        let mut version = 7;
        for mode in [Mode::optimistic(), Mode::pessimistic(), Mode::pessimistic_with(Lock::for_update().no_wait()), Mode::pessimistic_with(Lock::for_update().within(A_MOMENT))] {
            version += 1;
            let product = conn.modify(42, mode.clone(), sell).unwrap();
            assert_eq!((i64::from(product.stock), product.version), (57 - version, version), "{mode:?}");
            assert_eq!(product, conn.fetch::<Product>(42).unwrap());
        }
        // Whoever has read the row without a lock finds out.
        let stale = reader.save(&read).unwrap_err();
        assert!(matches!(&stale, Error::Conflict(facts) if facts.expected == "7" && facts.actual.as_deref() == Some("11")), "{stale:?}");
        let refused = conn.modify(42, Mode::pessimistic(), |_: &mut Product| Err(App::OutOfStock)).unwrap_err();
        assert!(matches!(refused, App::OutOfStock));
        let missing = conn.modify(99, Mode::pessimistic(), |_: &mut Product| ()).unwrap_err();
        assert!(matches!(missing, Error::NotFound(_)), "{missing:?}");
        assert_eq!((depth(conn), conn.fetch::<Product>(42).unwrap().version), (0, 11));
    }

    fn row_p4_a_pessimistic_modify_is_four_statements(bed) {
        let conn = &mut bed.connect();
        let work = |product: &mut Product| product.stock -= 1;
        conn.modify(42, Mode::pessimistic(), work).unwrap();
        let log = Log::on(conn);
        conn.modify(42, Mode::pessimistic(), work).unwrap();
        let mut sent = log.statements();
        sent.retain(|sql| !sql.contains("busy_timeout"));
        assert_eq!((sent.len(), log.prepared()), (4, 0), "{sent:?}");
        // No statement of the closure's can run inside, so that there is nothing to guard against.
        assert!(!sent.concat().contains("SAVEPOINT") && sent[3].contains("COMMIT"), "{sent:?}");
        assert!(sent[1].starts_with("SELECT") && sent[2].starts_with("UPDATE"), "{sent:?}");
        let locks = match conn.server().name() {
            "SQLite" => sent[0].starts_with("BEGIN IMMEDIATE"),
            "PostgreSQL" => sent[1].contains(" FOR NO KEY UPDATE"),
            _ => sent[1].contains(" FOR UPDATE"),
        };
        assert!(locks, "{sent:?}");
    }

    fn row_p4_a_pessimistic_modify_whose_closure_panics_or_whose_write_fails_leaves_nothing_open(bed) {
        let (conn, other) = (&mut bed.connect(), &mut bed.connect());
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            conn.modify(42, Mode::pessimistic(), |product: &mut Product| assert!(product.stock < 0, "on purpose"))
        }));
        assert!(panicked.is_err());
        // The check of the table, and on SQLite a trigger that rolls everything back.
        if is_sqlite(other) {
            other.batch_execute("CREATE TRIGGER no BEFORE UPDATE ON products WHEN new.stock = 1 BEGIN SELECT RAISE(ROLLBACK, 'no'); END").unwrap();
        }
        for stock in [-1, 1] {
            let result = conn.modify(42, Mode::pessimistic(), |product: &mut Product| product.stock = stock);
            assert_eq!(matches!(result, Err(Error::Database(_))), stock == -1 || is_sqlite(conn), "{result:?}");
            assert_eq!((depth(conn), broken(conn)), (0, false));
        }
        other.modify(42, Mode::pessimistic_with(Lock::for_update().no_wait()), |_: &mut Product| ()).unwrap();
        conn.modify(42, Mode::pessimistic(), |_: &mut Product| ()).unwrap();
    }

    fn row_p4_inside_a_transaction_a_pessimistic_modify_is_part_of_it(bed) {
        let conn = &mut bed.connect();
        let undone = conn.transact(&Retry::never(), |tx| -> Result<(), App> {
            let log = Log::on(tx);
            let product = tx.modify(42, Mode::pessimistic(), |product: &mut Product| product.stock -= 1)?;
            assert_eq!((log.statements().len(), product.version), (2, 8));
            Err(App::OutOfStock)
        });
        assert!(matches!(undone, Err(App::OutOfStock)));
        assert_eq!(conn.fetch::<Product>(42).unwrap().version, 7);
        // Where a race was lost before, it is for the outermost one to run again.
        let mut runs = 0;
        conn.transact(&Retry::default().timer(FakeTimer::new(0.0)), |tx| -> Result<(), App> {
            runs += 1;
            tx.transact(&Retry::default(), |tx| -> Result<(), App> {
                tx.modify(42, Mode::pessimistic(), |product: &mut Product| product.stock -= 1)?;
                match runs { 1 => Ok(tx.touch(Product::at(43, 0)).map(drop)?), _ => Ok(()) }
            })
        }).unwrap();
        assert_eq!((runs, conn.fetch::<Product>(42).unwrap().version), (2, 8));
    }

    fn row_p2_locked_rows_can_be_any_query(bed) {
        let conn = &mut bed.connect();
        conn.transact(&Retry::never(), |tx| -> diesel_occ::Result<()> {
            let log = Log::on(tx);
            let ids = products::table.select(products::id).filter(products::stock.ge(1)).order(products::id.desc()).limit(1);
            assert_eq!(ids.lock_rows(Lock::for_update()).load::<i64>(tx)?, [43]);
            let boxed = products::table.filter(products::id.eq(42)).select(Product::as_select()).into_boxed();
            assert_eq!(boxed.lock_rows(Lock::for_update().no_wait()).load::<Product>(tx)?.len(), 1);
            let none = products::table.filter(products::id.eq(1)).select(Product::as_select()).lock_rows(Lock::for_update().within(A_MOMENT)).load::<Product>(tx)?;
            assert_eq!(none, []);
            let sent = log.statements();
            assert_eq!(sent[0].contains("DESC LIMIT ? FOR UPDATE"), !is_sqlite(tx), "{sent:?}");
            Ok(())
        }).unwrap();
    }

    fn row_p1_an_observer_hears_how_long_each_lock_was_held(bed) {
        struct Ear(Arc<Mutex<Vec<HeldLock>>>);
        impl Observer for Ear {
            fn lock_released(&self, lock: &HeldLock) {
                self.0.lock().unwrap().push(lock.clone());
            }
        }
        let conn = &mut bed.connect();
        let (timer, heard) = (FakeTimer::new(0.0), Arc::new(Mutex::new(vec![])));
        let retry = Retry::never().timer(timer.clone()).observer(Ear(heard.clone()));
        let seconds = Duration::from_secs;
        let mut work = |fails: bool| conn.transact(&retry, |tx| -> Result<(), App> {
            timer.pass(seconds(1));
            tx.fetch_locked::<Product>(42, Lock::for_update())?;
            timer.pass(seconds(2));
            tx.transact(&Retry::never(), |tx| -> Result<(), App> { tx.fetch_locked::<Product>(43, Lock::for_update().no_wait())?; Ok(()) })?;
            products::table.select(Product::as_select()).lock_rows(Lock::for_update()).load::<Product>(tx)?;
            timer.pass(seconds(4));
            if fails { Err(App::OutOfStock) } else { Ok(()) }
        });
        for fails in [false, true] {
            assert_eq!(work(fails).is_err(), fails);
            let heard = std::mem::take(&mut *heard.lock().unwrap());
            let facts: Vec<_> = heard.iter().map(|lock| (lock.table, lock.key.as_deref(), lock.rows, lock.held)).collect();
            // On SQLite all of them are what BEGIN has taken.
            let (first, then) = if bed.url().ends_with(".db") { (seconds(7), seconds(7)) } else { (seconds(6), seconds(4)) };
            assert_eq!(facts, [("products", Some("42"), 1, first), ("products", Some("43"), 1, then), ("products", None, 2, then)]);
            assert_eq!(heard[0].waited, Duration::ZERO);
        }
        heard.lock().unwrap().clear();
        conn.modify(42, Mode::pessimistic().retry(retry.clone()), |_: &mut Product| timer.pass(seconds(3))).unwrap();
        conn.modify(42, Mode::optimistic().retry(retry), |_: &mut Product| timer.pass(seconds(3))).unwrap();
        let heard = heard.lock().unwrap().clone();
        assert_eq!(heard.iter().map(|lock| lock.held).collect::<Vec<_>>(), [seconds(3)], "an optimistic one holds none");
    }
}

/// On SQLite nobody can hold a row while another transaction is open.
#[cfg(any(feature = "postgres", feature = "mysql"))]
mod where_rows_are_locked {
    use super::*;

    on_every_connection! {
        of postgres, of mysql;

        fn row_p2_no_wait_answers_at_once_and_the_transaction_goes_on(bed) {
            let conn = &mut bed.connect();
            let holder = Holder::of_row(bed.connect(), 42);
            for lock in [Lock::for_update().no_wait(), Lock::for_share().no_wait(), Lock::for_update().skip_locked()] {
                let before = conn.fetch::<Product>(43).unwrap().version;
                let mut runs = 0;
                conn.transact(&Retry::default(), |tx| -> diesel_occ::Result<()> {
                    runs += 1;
                    tx.touch(Product::at(43, before))?;
                    let held = tx.fetch_locked::<Product>(42, lock).unwrap_err();
                    assert!(matches!(&held, Error::LockUnavailable(facts) if facts.table == "products" && facts.key == "42"), "{held:?}");
                    assert_eq!(tx.fault(), None);
                    // One that is free, one that is not there: each is told from one that is held.
                    assert_eq!(tx.fetch_locked::<Product>(43, lock)?.version, before + 1);
                    assert!(matches!(tx.fetch_locked::<Product>(99, lock), Err(Error::NotFound(_))));
                    tx.touch(Product::at(43, before + 1))?;
                    Ok(())
                }).unwrap();
                assert_eq!((runs, conn.fetch::<Product>(43).unwrap().version), (1, before + 2), "{lock:?}");
            }
            holder.lets_go();
        }

        fn row_p2_a_lock_that_was_not_to_be_waited_for_is_not_asked_for_again(bed) {
            let conn = &mut bed.connect();
            let holder = Holder::of_row(bed.connect(), 42);
            let timer = FakeTimer::new(1.0);
            let mut runs = 0;
            for (lock, unavailable) in [(Lock::for_update().no_wait(), true), (Lock::for_update().skip_locked(), true), (Lock::for_update().within(Duration::ZERO), false)] {
                let error = conn.transact(&Retry::default().timer(timer.clone()), |tx| { runs += 1; tx.fetch_locked::<Product>(42, lock) }).unwrap_err();
                assert_eq!(matches!(error, Error::LockUnavailable(_)), unavailable, "{error:?}");
                assert_eq!(matches!(error, Error::LockTimeout(_)), !unavailable, "{error:?}");
                let error = conn.modify(42, Mode::pessimistic_with(lock).retry(Retry::default().timer(timer.clone())), |_: &mut Product| runs += 100).unwrap_err();
                assert_eq!(matches!(error, Error::LockUnavailable(_)), unavailable, "{error:?}");
                assert_eq!(matches!(error, Error::LockTimeout(_)), !unavailable, "{error:?}");
                // The same work can succeed later, which is for the caller to say.
                assert_eq!(Fault::of(&error), Fault::LockTimeout);
            }
            assert_eq!((runs, timer.slept()), (3, vec![]));
            holder.lets_go();
            conn.modify(42, Mode::pessimistic_with(Lock::for_update().no_wait()), |product: &mut Product| product.stock = 1).unwrap();
        }

        fn row_p2_a_refused_lock_leaves_what_was_seen_before_it_as_it_was(bed) {
            let conn = &mut bed.connect();
            let holder = Holder::of_row(bed.connect(), 42);
            let mut runs = 0;
            conn.transact(&Retry::default().timer(FakeTimer::new(0.0)), |tx| -> Result<(), App> {
                runs += 1;
                if runs == 1 {
                    assert!(tx.touch(Product::at(43, 0)).is_err());
                    assert!(tx.fetch_locked::<Product>(42, Lock::for_update().no_wait()).is_err());
                    assert!(tx.fetch_locked::<Product>(42, Lock::for_update().within(Duration::from_nanos(1))).is_err());
                    assert_eq!(tx.fault(), Some(Fault::Conflict), "the lost race is still what makes it run again");
                    return Err(App::OutOfStock);
                }
                Ok(())
            }).unwrap();
            assert_eq!(runs, 2);
            holder.lets_go();
        }

        fn row_p2_within_waits_so_long_and_leaves_no_setting_behind(bed) {
            let conn = &mut bed.connect();
            let before = settings!(conn);
            let holder = Holder::of_row(bed.connect(), 42);
            for times in 0..2 {
                conn.transact(&Retry::default(), |tx| -> diesel_occ::Result<()> {
                    tx.touch(Product::at(43, 1 + times))?;
                    for lock in [Lock::for_update(), Lock::for_share()] {
                        let asked = Instant::now();
                        let late = tx.fetch_locked::<Product>(42, lock.within(A_MOMENT)).unwrap_err();
                        let waited = asked.elapsed();
                        assert!(matches!(&late, Error::LockTimeout(facts) if facts.waited == A_MOMENT && facts.what == "products 42"), "{late:?}");
                        assert!((A_MOMENT..A_MOMENT + GENEROUS).contains(&waited), "{waited:?}");
                        let asked = Instant::now();
                        let rows = products::table.filter(products::stock.ge(0)).order(products::id).select(Product::as_select()).lock_rows(lock.within(A_MOMENT)).load::<Product>(tx);
                        let waited = asked.elapsed();
                        assert!(matches!(&rows, Err(Error::LockTimeout(facts)) if facts.what == "products (a query)"), "{rows:?}");
                        assert!((A_MOMENT..A_MOMENT + GENEROUS).contains(&waited), "{waited:?}");
                        assert_eq!(settings!(tx), before, "inside, after a timeout");
                    }
                    assert_eq!(tx.fetch_locked::<Product>(43, Lock::for_update().within(A_MOMENT))?.version, 2 + times);
                    assert!(matches!(tx.fetch_locked::<Product>(99, Lock::for_update().within(A_MOMENT)), Err(Error::NotFound(_))));
                    products::table.find(43).select(Product::as_select()).lock_rows(Lock::for_update().within(A_MOMENT)).load::<Product>(tx)?;
                    assert_eq!(settings!(tx), before, "inside, after a success");
                    Ok(())
                }).unwrap();
                assert_eq!(settings!(conn), before, "after COMMIT");
            }
            let timeout = conn.transact(&Retry::default(), |tx| tx.fetch_locked::<Product>(42, Lock::for_update().within(A_MOMENT)));
            assert!(matches!(timeout, Err(Error::LockTimeout(_))), "{timeout:?}");
            assert_eq!(settings!(conn), before, "after ROLLBACK");
            holder.lets_go();
            assert_eq!(conn.fetch::<Product>(43).unwrap().version, 3);
        }

        fn row_p2_within_gets_a_row_that_becomes_free_in_time_as_it_is_then(bed) {
            let conn = &mut bed.connect();
            let before = settings!(conn);
            let mut holder = Holder::of_row(bed.connect(), 42);
            conn.transact(&Retry::default(), |tx| -> diesel_occ::Result<()> {
                // A snapshot, where transactions have one.
                assert_eq!(tx.fetch::<Product>(42)?.stock, 50);
                let holder = &mut holder;
                let product = std::thread::scope(|scope| {
                    scope.spawn(move || {
                        std::thread::sleep(A_MOMENT);
                        holder.0.batch_execute("UPDATE products SET stock = 20, version = 8 WHERE id = 42; COMMIT").unwrap();
                    });
                    tx.fetch_locked::<Product>(42, Lock::for_update().within(Duration::from_secs(15)))
                })?;
                assert_eq!((product.stock, product.version), (20, 8));
                assert_eq!(settings!(tx), before);
                tx.save(&product)?;
                Ok(())
            }).unwrap();
            assert_eq!(conn.fetch::<Product>(42).unwrap().version, 9);
        }

        fn case_optimistic_p5_a_locked_read_shows_what_is_committed_now(bed) {
            let (conn, other) = (&mut bed.connect(), &mut bed.connect());
            conn.transact(&Retry::never(), |tx| -> diesel_occ::Result<()> {
                assert_eq!(tx.fetch::<Product>(42)?.version, 7);
                other.touch(Product::at(42, 7))?;
                for lock in [Lock::for_update(), Lock::for_update().no_wait(), Lock::for_update().skip_locked(), Lock::for_update().within(A_MOMENT)] {
                    assert_eq!(tx.fetch_locked::<Product>(42, lock)?.version, 8, "{lock:?}");
                    assert_eq!(products::table.find(42).select(Product::as_select()).lock_rows(lock).load::<Product>(tx)?[0].version, 8, "{lock:?}");
                }
                Ok(())
            }).unwrap();
        }

        fn row_p2_rows_that_others_hold_are_refused_or_left_out_and_the_transaction_goes_on(bed) {
            let conn = &mut bed.connect();
            let holder = Holder::of_row(bed.connect(), 42);
            let all = || products::table.select(products::id).order(products::id);
            conn.transact(&Retry::never(), |tx| -> diesel_occ::Result<()> {
                tx.touch(Product::at(43, 1))?;
                let refused = all().lock_rows(Lock::for_update().no_wait()).load::<i64>(tx).unwrap_err();
                assert!(matches!(&refused, Error::LockUnavailable(facts) if facts.table == "products"), "{refused:?}");
                assert!(matches!(all().lock_rows(Lock::for_update().within(Duration::ZERO)).load::<i64>(tx), Err(Error::LockTimeout(_))));
                assert_eq!(tx.fault(), None);
                let backwards = all().order(products::id.desc()).lock_rows(Lock::for_update().no_wait());
                assert!(matches!(backwards.load::<i64>(tx), Err(Error::LockUnavailable(_))));
                assert_eq!(all().lock_rows(Lock::for_update().skip_locked()).load::<i64>(tx)?, [43]);
                assert_eq!(all().lock_rows(Lock::for_share().skip_locked()).load::<i64>(tx)?, [43]);
                tx.touch(Product::at(43, 2))?;
                Ok(())
            }).unwrap();
            assert_eq!(conn.fetch::<Product>(43).unwrap().version, 3);
            holder.lets_go();
        }
    }
}

mod on_sqlite {
    use super::*;
    use diesel_occ::IsolationLevel;
    use diesel_occ::TxOptions;

    on_every_connection! {
        of sqlite;

        fn case_optimistic_p1_the_lock_is_taken_at_begin_and_truly_excludes_a_second_writer(bed) {
            let (conn, other) = (&mut bed.connect(), &mut bed.connect());
            let lock = Lock::for_update().no_wait();
            conn.transact(&Retry::never(), |tx| -> diesel_occ::Result<()> {
                tx.fetch_locked::<Product>(42, Lock::for_update())?;
                let held = other.modify(43, Mode::pessimistic_with(lock), |_: &mut Product| ()).unwrap_err();
                assert!(matches!(&held, Error::LockUnavailable(facts) if facts.table == "products" && facts.key == "43"), "{held:?}");
                Ok(())
            }).unwrap();
            other.modify(43, Mode::pessimistic_with(lock), |_: &mut Product| ()).unwrap();
        }

        fn case_optimistic_p1_in_a_transaction_that_has_not_begun_with_the_lock_it_is_unsupported(bed) {
            let conn = &mut bed.connect();
            let log = Log::on(conn);
            conn.transaction(|conn| -> QueryResult<()> {
                log.statements();
                let lock = Lock::for_update();
                let one = conn.fetch_locked::<Product>(42, lock).unwrap_err();
                let many = products::table.select(products::id).lock_rows(lock).load::<i64>(conn).unwrap_err();
                let modified = conn.modify(42, Mode::pessimistic(), |_: &mut Product| ()).unwrap_err();
                for error in [one, many, modified] {
                    assert!(matches!(&error, Error::Unsupported(facts) if facts.server == "SQLite" && facts.what.contains("begin it by `transact`")), "{error:?}");
                }
                assert_eq!(log.statements(), Vec::<String>::new());
                // A savepoint of ours in it does not change what it began with.
                let nested = conn.transact(&Retry::never(), |tx| tx.fetch_locked::<Product>(42, lock)).unwrap_err();
                assert!(matches!(nested, Error::Unsupported(_)), "{nested:?}");
                Ok(())
            }).unwrap();
            // One that this crate began has it, at any depth.
            conn.transact(&TxOptions::default().isolation(IsolationLevel::Serializable), |tx| tx.transaction(|tx| -> diesel_occ::Result<()> {
                tx.savepoint(|tx| tx.fetch_locked::<Product>(42, Lock::for_update().no_wait()).map(drop))
            })).unwrap();
        }

        fn row_p2_begin_waits_as_long_as_the_lock_says(bed) {
            let (conn, other) = (&mut bed.connect(), &mut bed.connect());
            let before = settings!(conn);
            other.batch_execute("BEGIN IMMEDIATE").unwrap();
            for (lock, waits) in [
                (Lock::for_update().no_wait(), Duration::ZERO),
                (Lock::for_update().skip_locked(), Duration::ZERO),
                (Lock::for_update().within(Duration::ZERO), Duration::ZERO),
                (Lock::for_update().within(A_MOMENT), A_MOMENT),
            ] {
                let asked = Instant::now();
                let error = conn.modify(42, Mode::pessimistic_with(lock), |_: &mut Product| ()).unwrap_err();
                let waited = asked.elapsed();
                assert!((waits..waits + GENEROUS).contains(&waited), "{lock:?}: {waited:?}");
                assert_eq!(matches!(error, Error::LockTimeout(_)), format!("{lock:?}").contains("Within"), "{lock:?}: {error:?}");
                assert_eq!(settings!(conn), before);
            }
            // The policy's deadline holds too.
            let short = Retry::default().deadline(Duration::from_millis(20));
            let asked = Instant::now();
            let error = conn.modify(42, Mode::pessimistic_with(Lock::for_update().within(Duration::from_secs(9))).retry(short), |_: &mut Product| ()).unwrap_err();
            assert!(matches!(error, Error::LockTimeout(_)) && asked.elapsed() < GENEROUS, "{error:?}");
            other.batch_execute("ROLLBACK").unwrap();
            assert_eq!((settings!(conn), depth(conn)), (before, 0));
            conn.modify(42, Mode::pessimistic(), |_: &mut Product| ()).unwrap();
        }
    }
}

on_every_server! {
    fn row_p4_eight_threads_with_the_lock_lose_nothing_and_no_race(bed) {
        struct NoConflict;
        impl Observer for NoConflict {
            fn conflict(&self, conflict: &Conflict) {
                panic!("{conflict}");
            }
        }
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let mut conn = bed.connect();
                    for _ in 0..5 {
                        let mode = Mode::pessimistic().retry(Retry::default().observer(NoConflict));
                        conn.modify(42, mode, |product: &mut Product| product.stock -= 1).unwrap();
                    }
                });
            }
        });
        let product: Product = bed.connect().fetch(42).unwrap();
        assert_eq!((product.stock, product.version), (10, 47));
    }

    fn row_p1_a_plain_update_by_others_waits_until_the_lock_is_given_back_by_commit_or_rollback(bed) {
        for commits in [true, false] {
            let conn = &mut bed.connect();
            let before = conn.fetch::<Product>(42).unwrap();
            let (done, waits) = std::sync::mpsc::channel();
            let result = conn.transact(&Retry::never(), |tx| -> Result<(), App> {
                let product = tx.fetch_locked::<Product>(42, Lock::for_update())?;
                let (mut other, done) = (bed.connect(), done.clone());
                std::thread::spawn(move || {
                    let row = products::table.find(42);
                    done.send(diesel::update(row).set(products::stock.eq(products::stock - 10)).execute(&mut other))
                });
                let nothing_yet = waits.recv_timeout(A_MOMENT);
                assert!(nothing_yet.is_err(), "it did not wait: {nothing_yet:?}");
                tx.save(&Product { stock: product.stock - 1, ..product })?;
                if commits { Ok(()) } else { Err(App::OutOfStock) }
            });
            assert_eq!(result.is_ok(), commits);
            assert_eq!(waits.recv_timeout(Duration::from_secs(15)).unwrap(), Ok(1));
            let after = bed.connect().fetch::<Product>(42).unwrap();
            assert_eq!(before.stock - after.stock, if commits { 11 } else { 10 }, "nothing is lost");
        }
    }
}
