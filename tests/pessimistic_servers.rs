//! Row locks where the servers differ: PostgreSQL's aborted transactions and languages, MariaDB's statements that fail half way.
#![cfg(all(
    any(feature = "postgres", feature = "mysql"),
    feature = "sqlite",
    feature = "r2d2"
))]

mod support;

use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel_occ::prelude::*;
use diesel_occ::{Error, Fault, IsolationLevel, TxOptions};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use support::*;

const A_MOMENT: Duration = Duration::from_millis(300);
/// What a busy machine may add.
const GENEROUS: Duration = Duration::from_millis(400);
const LONG: Duration = Duration::from_secs(15);

on_every_connection! {
    of postgres, of mysql;

    // Two who lock two rows in opposite orders: the server ends one of them, and it runs again.
    fn case_optimistic_p9_a_deadlock_of_two_locks_is_one_and_is_run_again(bed) {
        let conn = &mut bed.connect();
        let (has_43, until_it_has) = channel();
        let (go, told) = channel();
        let mut other = bed.connect();
        let theirs = std::thread::spawn(move || {
            let mut runs = 0;
            other.transact(&Retry::default(), |tx| -> Result<(), App> {
                runs += 1;
                tx.fetch_locked::<Product>(43, Lock::for_update())?;
                if runs == 1 {
                    has_43.send(()).unwrap();
                    told.recv().unwrap();
                }
                // So that it is not always the same one that closes the circle.
                tx.fetch_locked::<Product>(42, Lock::for_update().within(LONG))?;
                Ok(())
            }).unwrap();
            runs
        });
        let mut runs = 0;
        conn.transact(&Retry::default(), |tx| -> Result<(), App> {
            runs += 1;
            tx.fetch_locked::<Product>(42, Lock::for_update())?;
            if runs == 1 {
                until_it_has.recv().unwrap();
                go.send(()).unwrap();
            }
            tx.fetch_locked::<Product>(43, Lock::for_update())?;
            Ok(())
        }).unwrap();
        let both = runs + theirs.join().unwrap();
        assert!(both > 2, "somebody was ended");
        assert_eq!((depth(conn), broken(conn)), (0, false));
    }

    fn row_p4_after_the_servers_own_lock_timeout_a_pessimistic_modify_runs_again(bed) {
        let (conn, holder) = (&mut bed.connect(), Arc::new(Mutex::new(bed.connect())));
        let short = match conn.server().name() {
            "PostgreSQL" => "SET lock_timeout = '30ms'",
            _ => "SET innodb_lock_wait_timeout = 0",
        };
        conn.batch_execute(short).unwrap();
        holder.lock().unwrap().batch_execute("BEGIN; UPDATE products SET stock = 20, version = 8 WHERE id = 42").unwrap();
        let leaves = holder.clone();
        let timer = FakeTimer::new(0.0).on_sleep(move || leaves.lock().unwrap().batch_execute("COMMIT").unwrap());
        let mode = Mode::pessimistic().retry(Retry::default().timer(timer.clone()));
        let product = conn.modify(42, mode, |product: &mut Product| product.stock -= 1).unwrap();
        assert_eq!((product.stock, product.version, timer.slept().len()), (19, 9, 1));
        assert_eq!((depth(conn), broken(conn)), (0, false));
    }

    // Two who share the row, and then both write it.
    fn row_p4_two_who_share_a_row_and_both_modify_it_lose_nothing(bed) {
        let barrier = std::sync::Barrier::new(2);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                let mut conn = bed.connect();
                let barrier = &barrier;
                scope.spawn(move || {
                    let mut runs = 0;
                    conn.modify(42, Mode::pessimistic_with(Lock::for_share()), |product: &mut Product| {
                        runs += 1;
                        if runs == 1 { barrier.wait(); }
                        product.stock -= 1;
                    }).unwrap();
                });
            }
        });
        let product: Product = bed.connect().fetch(42).unwrap();
        assert_eq!((product.stock, product.version), (48, 9));
    }

    fn row_p2_where_isolation_keeps_a_snapshot_a_lock_still_answers_at_once(bed) {
        let (conn, holder) = (&mut bed.connect(), &mut bed.connect());
        let snapshot = TxOptions::default().isolation(IsolationLevel::RepeatableRead).retry(Retry::never());
        holder.batch_execute("BEGIN; SELECT 1 FROM products WHERE id = 42 FOR UPDATE").unwrap();
        conn.transact(&snapshot, |tx| -> diesel_occ::Result<()> {
            tx.fetch::<Product>(43)?;
            for lock in [Lock::for_update().no_wait(), Lock::for_update().within(Duration::from_millis(20))] {
                let held = tx.fetch_locked::<Product>(42, lock).unwrap_err();
                assert!(matches!(held, Error::LockUnavailable(_) | Error::LockTimeout(_)), "{held:?}");
            }
            tx.touch(Product::at(43, 1)).map(drop)
        }).unwrap();
        holder.batch_execute("ROLLBACK").unwrap();
    }

    fn row_p2_what_a_refused_query_had_locked_is_given_back_at_once_or_at_the_end(bed) {
        let (conn, other, holder) = (&mut bed.connect(), &mut bed.connect(), &mut bed.connect());
        holder.batch_execute("BEGIN; SELECT 1 FROM products WHERE id = 43 FOR UPDATE").unwrap();
        let lock = Lock::for_update().no_wait();
        for lock_rows in [lock, Lock::for_update().within(Duration::from_millis(20))] {
            conn.transact(&Retry::never(), |tx| -> diesel_occ::Result<()> {
                let both = products::table.select(products::id).order(products::id).lock_rows(lock_rows);
                assert!(both.load::<i64>(tx).is_err());
                let first = other.transact(&Retry::never(), |tx| tx.fetch_locked::<Product>(42, lock));
                assert_eq!(first.is_ok(), tx.server().name() == "PostgreSQL", "{first:?}");
                Ok(())
            }).unwrap();
            other.transact(&Retry::never(), |tx| tx.fetch_locked::<Product>(42, lock)).unwrap();
        }
        holder.batch_execute("ROLLBACK").unwrap();
    }

    fn row_p2_a_refusal_in_a_savepoint_is_the_savepoints_alone(bed) {
        let (conn, holder) = (&mut bed.connect(), &mut bed.connect());
        holder.batch_execute("BEGIN; SELECT 1 FROM products WHERE id = 42 FOR UPDATE").unwrap();
        for lock in [Lock::for_update().no_wait(), Lock::for_update().within(Duration::from_millis(20))] {
            let before = conn.fetch::<Product>(43).unwrap().version;
            conn.transact(&Retry::never(), |tx| -> diesel_occ::Result<()> {
                tx.touch(Product::at(43, before))?;
                let inner: Result<(), App> = tx.savepoint(|tx| {
                    tx.touch(Product::at(43, before + 1))?;
                    tx.transaction(|tx| -> Result<(), App> {
                        products::table.select(products::id).lock_rows(lock).load::<i64>(tx)?;
                        Ok(())
                    })
                });
                assert!(matches!(inner, Err(App::Occ(Error::LockUnavailable(_) | Error::LockTimeout(_)))), "{inner:?}");
                // The transaction is open, and may commit.
                tx.touch(Product::at(43, before + 1)).map(drop)
            }).unwrap();
            assert_eq!(conn.fetch::<Product>(43).unwrap().version, before + 2);
        }
        // In a transaction of Diesel's own as well.
        conn.transaction(|conn| -> diesel_occ::Result<()> {
            for lock in [Lock::for_update().no_wait(), Lock::for_update().within(Duration::from_millis(20))] {
                assert!(conn.fetch_locked::<Product>(42, lock).is_err());
                assert!(products::table.select(products::id).lock_rows(lock).load::<i64>(conn).is_err());
            }
            conn.touch(Product::at(43, 5)).map(drop)
        }).unwrap();
        holder.batch_execute("ROLLBACK").unwrap();
        assert_eq!((depth(conn), conn.fetch::<Product>(43).unwrap().version), (0, 6));
    }
}

#[cfg(feature = "postgres")]
mod on_postgres {
    use super::*;

    diesel::table! { notes (id) { id -> BigInt, product_id -> BigInt, } }
    diesel::joinable!(notes -> products (product_id));
    diesel::allow_tables_to_appear_in_same_query!(notes, products);

    fn setting(conn: &mut impl LoadsText, name: &str) -> String {
        conn.text(&format!("current_setting('{name}')"))
    }

    trait LoadsText {
        fn text(&mut self, sql: &str) -> String;
    }

    impl<C: diesel::connection::LoadConnection<Backend = diesel::pg::Pg>> LoadsText for C {
        fn text(&mut self, sql: &str) -> String {
            diesel::select(diesel::dsl::sql::<diesel::sql_types::Text>(sql))
                .get_result(self)
                .unwrap()
        }
    }

    #[test]
    fn case_optimistic_p3_the_root_of_an_outer_join_is_locked_by_its_name() {
        let bed = postgres_bare();
        let (conn, other) = (&mut bed.connect(), &mut bed.connect());
        conn.batch_execute("CREATE TABLE notes (id BIGINT PRIMARY KEY, product_id BIGINT NOT NULL); INSERT INTO notes VALUES (1, 42)").unwrap();
        let joined = || {
            products::table
                .left_join(notes::table)
                .select((products::id, notes::id.nullable()))
                .order(products::id)
        };
        let refused = conn.transact(&Retry::never(), |tx| {
            joined()
                .lock_rows(Lock::for_update())
                .load::<(i64, Option<i64>)>(tx)
        });
        assert!(
            matches!(&refused, Err(Error::Database(_))),
            "the nullable side cannot be locked: {refused:?}"
        );
        conn.transact(&Retry::never(), |tx| -> diesel_occ::Result<()> {
            let rows = joined()
                .lock_rows(Lock::for_update().no_wait())
                .of(products::table)
                .load::<(i64, Option<i64>)>(tx)?;
            assert_eq!(rows, [(42, Some(1)), (43, None)]);
            let free = other.transact(&Retry::never(), |tx| {
                notes::table
                    .select(notes::id)
                    .lock_rows(Lock::for_update().no_wait())
                    .load::<i64>(tx)
            })?;
            assert_eq!(free, [1], "the other table is not locked");
            let held = other.transact(&Retry::never(), |tx| {
                tx.fetch_locked::<Product>(42, Lock::for_update().no_wait())
            });
            assert!(matches!(held, Err(Error::LockUnavailable(_))), "{held:?}");
            // By another name it is that name.
            let alias = diesel::alias!(products as p);
            let ids = alias
                .select(alias.field(products::id))
                .lock_rows(Lock::for_update())
                .of(alias)
                .load::<i64>(tx)?;
            assert_eq!(ids.len(), 2);
            Ok(())
        })
        .unwrap();
    }

    // lock_timeout counts anew for each of the waits: for who waits in front, and for the row itself.
    #[test]
    fn row_p2_within_is_the_whole_wait_although_others_wait_in_front() {
        let bed = postgres_bare();
        let holder = &mut bed.connect();
        holder
            .batch_execute("BEGIN; SELECT 1 FROM products WHERE id = 42 FOR UPDATE")
            .unwrap();
        let (mut first, mut second) = (bed.connect(), bed.connect());
        let (done, until_done) = channel::<()>();
        let in_front = std::thread::spawn(move || {
            first
                .batch_execute("BEGIN; SELECT 1 FROM products WHERE id = 42 FOR UPDATE")
                .unwrap();
            until_done.recv().unwrap();
            first.batch_execute("ROLLBACK").unwrap();
        });
        let waiting = || holder_is_waited_for(&mut bed.connect());
        while waiting() < 1 {
            std::thread::sleep(Duration::from_millis(5));
        }
        let behind = std::thread::spawn(move || {
            let asked = Instant::now();
            let late = second.transact(&Retry::never(), |tx| {
                tx.fetch_locked::<Product>(42, Lock::for_update().within(3 * A_MOMENT))
            });
            (asked.elapsed(), late)
        });
        while waiting() < 2 {
            std::thread::sleep(Duration::from_millis(5));
        }
        // So late that a limit that began anew would be far beyond what is allowed.
        std::thread::sleep(5 * A_MOMENT / 2);
        // Now the first one has the row, and the second one begins to wait for it.
        holder.batch_execute("ROLLBACK").unwrap();
        let (waited, late) = behind.join().unwrap();
        done.send(()).unwrap();
        in_front.join().unwrap();
        assert!(matches!(late, Err(Error::LockTimeout(_))), "{late:?}");
        assert!(
            (3 * A_MOMENT..3 * A_MOMENT + GENEROUS).contains(&waited),
            "{waited:?}"
        );
    }

    fn holder_is_waited_for(conn: &mut PgConnection) -> i64 {
        let sql = "(SELECT COUNT(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%FOR UPDATE%' \
                   AND application_name = current_setting('application_name') AND pid IN (SELECT pid FROM pg_locks WHERE relation = 'products'::regclass))";
        diesel::select(diesel::dsl::sql::<diesel::sql_types::BigInt>(sql))
            .get_result(conn)
            .unwrap()
    }

    #[test]
    fn case_optimistic_p11_settings_of_the_session_and_of_the_transaction_are_both_what_they_were()
    {
        let bed = postgres_bare();
        let (conn, holder) = (&mut bed.connect(), &mut bed.connect());
        holder
            .batch_execute("BEGIN; SELECT 1 FROM products WHERE id = 42 FOR UPDATE")
            .unwrap();
        conn.batch_execute("SET lock_timeout = '7s'; SET statement_timeout = '1min'")
            .unwrap();
        conn.transact(&Retry::never(), |tx| -> diesel_occ::Result<()> {
            tx.batch_execute("SET LOCAL lock_timeout = '1234ms'; SET statement_timeout = '55s'")?;
            for id in [42, 43] {
                let row = tx.fetch_locked::<Product>(
                    id,
                    Lock::for_update().within(Duration::from_millis(30)),
                );
                assert_eq!(row.is_ok(), id == 43);
                let rows = products::table
                    .select(products::id)
                    .find(id)
                    .lock_rows(Lock::for_update().within(Duration::from_millis(30)))
                    .load::<i64>(tx);
                assert_eq!(rows.is_ok(), id == 43);
                assert_eq!(
                    (
                        setting(tx, "lock_timeout"),
                        setting(tx, "statement_timeout")
                    ),
                    ("1234ms".into(), "55s".into())
                );
            }
            Ok(())
        })
        .unwrap();
        assert_eq!(
            (
                setting(conn, "lock_timeout"),
                setting(conn, "statement_timeout")
            ),
            ("7s".into(), "55s".into())
        );
        holder.batch_execute("ROLLBACK").unwrap();
    }

    #[test]
    fn row_p2_within_waits_in_the_servers_queue_whatever_the_session_is_set_to() {
        let bed = postgres_bare();
        let (conn, holder) = (&mut bed.connect(), &mut bed.connect());
        holder
            .batch_execute("BEGIN; SELECT 1 FROM products WHERE id = 42 FOR UPDATE")
            .unwrap();
        conn.batch_execute("SET lock_timeout = '20ms'; SET statement_timeout = '50ms'")
            .unwrap();
        let log = Log::on(conn);
        let late = conn.transact(&Retry::never(), |tx| {
            tx.fetch_locked::<Product>(42, Lock::for_update().within(A_MOMENT))
        });
        assert!(matches!(late, Err(Error::LockTimeout(_))), "{late:?}");
        let sent = log.statements();
        let waits = sent
            .iter()
            .filter(|sql| sql.starts_with("SAVEPOINT occ_lock"));
        assert_eq!(waits.count(), 1, "{sent:?}");
        holder.batch_execute("ROLLBACK").unwrap();
    }

    #[test]
    fn row_p2_no_wait_and_within_of_a_row_need_no_language() {
        let bed = postgres_bare();
        let (conn, holder) = (&mut bed.connect(), &mut bed.connect());
        holder
            .batch_execute("BEGIN; SELECT 1 FROM products WHERE id = 42 FOR UPDATE")
            .unwrap();
        for language in languages_of_postgres(&["C", "fr_FR.UTF-8", "de_DE.UTF-8"]) {
            conn.batch_execute(&format!("SET lc_messages = '{language}'"))
                .unwrap();
            conn.transact(&Retry::never(), |tx| -> diesel_occ::Result<()> {
                let held = tx.fetch_locked::<Product>(42, Lock::for_update().no_wait());
                assert!(
                    matches!(held, Err(Error::LockUnavailable(_))),
                    "{language}: {held:?}"
                );
                let short = Lock::for_update().within(Duration::from_millis(20));
                let late = tx.fetch_locked::<Product>(42, short);
                assert!(
                    matches!(late, Err(Error::LockTimeout(_))),
                    "{language}: {late:?}"
                );
                let late = products::table
                    .select(products::id)
                    .lock_rows(short)
                    .load::<i64>(tx);
                assert!(
                    matches!(late, Err(Error::LockTimeout(_))),
                    "{language}: {late:?}"
                );
                // A query says it in words. Words that are not known are no refusal, and the transaction goes on all the same.
                let refused = products::table
                    .select(products::id)
                    .lock_rows(Lock::for_update().no_wait())
                    .load::<i64>(tx);
                match language {
                    "de_DE.UTF-8" => {
                        assert!(matches!(refused, Err(Error::Database(_))), "{refused:?}")
                    }
                    _ => assert!(
                        matches!(refused, Err(Error::LockUnavailable(_))),
                        "{refused:?}"
                    ),
                }
                tx.unchecked_touch(Product::key(43))
            })
            .unwrap();
        }
        holder.batch_execute("ROLLBACK").unwrap();
    }

    // What somebody else has changed since the snapshot cannot be locked in it.
    #[test]
    fn row_p2_a_row_that_changed_since_the_snapshot_is_a_serialization_failure_and_run_again() {
        let bed = postgres_bare();
        let (conn, other) = (&mut bed.connect(), &mut bed.connect());
        for lock in [
            Lock::for_update(),
            Lock::for_update().no_wait(),
            Lock::for_update().within(A_MOMENT),
        ] {
            let snapshot = TxOptions::default()
                .isolation(IsolationLevel::RepeatableRead)
                .retry(Retry::default().timer(FakeTimer::new(0.0)));
            let mut runs = 0;
            conn.transact(&snapshot, |tx| -> diesel_occ::Result<()> {
                runs += 1;
                tx.fetch::<Product>(43)?;
                if runs == 1 {
                    other.unchecked_touch(Product::key(42))?;
                }
                let row = tx.fetch_locked::<Product>(42, lock);
                assert_eq!(
                    row.as_ref().err().map(|error| Fault::of(error)),
                    (runs == 1).then_some(Fault::Serialization),
                    "{lock:?}"
                );
                row.map(drop)
            })
            .unwrap();
            assert_eq!(runs, 2, "{lock:?}");
        }
    }

    #[test]
    fn row_p1_a_strength_keeps_away_whom_it_says() {
        let bed = postgres_bare();
        let (conn, other) = (&mut bed.connect(), &mut bed.connect());
        let all = [
            Lock::for_update(),
            Lock::for_no_key_update(),
            Lock::for_share(),
            Lock::for_key_share(),
        ];
        // https://www.postgresql.org/docs/current/explicit-locking.html, table 13.3
        let shares = [
            [false; 4],
            [false, false, false, true],
            [false, false, true, true],
            [false, true, true, true],
        ];
        for (held, row) in all.into_iter().zip(shares) {
            for (wanted, may) in all.into_iter().zip(row) {
                conn.transact(&Retry::never(), |tx| -> diesel_occ::Result<()> {
                    tx.fetch_locked::<Product>(42, held)?;
                    let got = other.transact(&Retry::never(), |tx| {
                        tx.fetch_locked::<Product>(42, wanted.no_wait())
                    });
                    assert_eq!(got.is_ok(), may, "{held:?} {wanted:?}: {got:?}");
                    Ok(())
                })
                .unwrap();
            }
        }
    }
}

#[cfg(feature = "mysql")]
mod on_mysql {
    use super::*;

    // The server has begun to answer when it meets the lock. The client library waits for the rest for ever when the same
    // prepared statement is sent once more.
    #[test]
    fn row_r1_a_select_that_failed_half_way_can_be_sent_again() {
        let (done, in_time) = channel();
        let work = std::thread::spawn(move || {
            let bed = mysql_bare();
            let (conn, holder) = (&mut bed.connect(), &mut bed.connect());
            holder
                .batch_execute("BEGIN; SELECT 1 FROM products WHERE id = 43 FOR UPDATE")
                .unwrap();
            let mut runs = 0;
            let result = conn.transact(
                &Retry::default().attempts(3).timer(FakeTimer::new(0.0)),
                |tx| -> Result<(), App> {
                    runs += 1;
                    // A query of Diesel's own.
                    products::table
                        .select(products::id)
                        .order(products::id)
                        .for_update()
                        .no_wait()
                        .load::<i64>(tx)?;
                    Ok(())
                },
            );
            assert!(
                matches!(&result, Err(App::Occ(Error::RetriesExhausted(facts))) if facts.last == Fault::LockTimeout),
                "{result:?}"
            );
            for lock in [
                Lock::for_update().no_wait(),
                Lock::for_share().no_wait(),
                Lock::for_update().within(Duration::from_millis(20)),
            ] {
                let rows = || {
                    products::table
                        .select(products::id)
                        .order(products::id)
                        .lock_rows(lock)
                };
                conn.transact(&Retry::never(), |tx| -> diesel_occ::Result<()> {
                    assert!(rows().load::<i64>(tx).is_err() && rows().load::<i64>(tx).is_err());
                    Ok(())
                })
                .unwrap();
                conn.transaction(|conn| -> diesel_occ::Result<()> {
                    assert!(rows().load::<i64>(conn).is_err() && rows().load::<i64>(conn).is_err());
                    Ok(())
                })
                .unwrap();
            }
            holder.batch_execute("ROLLBACK").unwrap();
            done.send(runs).unwrap();
        });
        assert_eq!(in_time.recv_timeout(Duration::from_secs(30)), Ok(3));
        work.join().unwrap();
    }

    #[test]
    fn row_p2_a_refusal_is_known_in_every_language() {
        let bed = mysql_bare();
        let (conn, holder) = (&mut bed.connect(), &mut bed.connect());
        holder
            .batch_execute("BEGIN; SELECT 1 FROM products WHERE id = 42 FOR UPDATE")
            .unwrap();
        for language in ["en_US", "fr_FR", "de_DE", "ja_JP"] {
            conn.batch_execute(&format!("SET lc_messages = '{language}'"))
                .unwrap();
            let before = conn.fetch::<Product>(43).unwrap().version;
            conn.transact(&Retry::never(), |tx| -> diesel_occ::Result<()> {
                tx.touch(Product::at(43, before))?;
                for _ in 0..2 {
                    let held = tx.fetch_locked::<Product>(42, Lock::for_update().no_wait());
                    assert!(
                        matches!(held, Err(Error::LockUnavailable(_))),
                        "{language}: {held:?}"
                    );
                    let held = products::table
                        .select(products::id)
                        .order(products::id.desc())
                        .lock_rows(Lock::for_update().no_wait())
                        .load::<i64>(tx);
                    assert!(
                        matches!(held, Err(Error::LockUnavailable(_))),
                        "{language}: {held:?}"
                    );
                    let late = tx.fetch_locked::<Product>(
                        42,
                        Lock::for_update().within(Duration::from_millis(20)),
                    );
                    assert!(
                        matches!(late, Err(Error::LockTimeout(_))),
                        "{language}: {late:?}"
                    );
                    assert_eq!(tx.fault(), None, "{language}");
                }
                tx.touch(Product::at(43, before + 1)).map(drop)
            })
            .unwrap();
            assert_eq!(conn.fetch::<Product>(43).unwrap().version, before + 2);
        }
        holder.batch_execute("ROLLBACK").unwrap();
    }

    #[test]
    fn row_p2_within_holds_whatever_the_session_is_set_to() {
        const LONGER: Duration = Duration::from_millis(1_300);
        let bed = mysql_bare();
        let (conn, holder) = (&mut bed.connect(), &mut bed.connect());
        holder
            .batch_execute("BEGIN; SELECT 1 FROM products WHERE id = 42 FOR UPDATE")
            .unwrap();
        for session in [
            "innodb_lock_wait_timeout = 1",
            "innodb_lock_wait_timeout = 50, max_statement_time = 0.05",
        ] {
            conn.batch_execute(&format!("SET {session}")).unwrap();
            let asked = Instant::now();
            let log = Log::on(conn);
            let late = conn.transact(&Retry::never(), |tx| {
                tx.fetch_locked::<Product>(42, Lock::for_update().within(LONGER))
            });
            assert!(
                matches!(late, Err(Error::LockTimeout(_))),
                "{session}: {late:?}"
            );
            // It waits in the server's queue, and not by asking again.
            let sent = log.statements();
            let limited = sent.iter().filter(|sql| sql.contains("max_statement_time"));
            assert_eq!(limited.count(), 1, "{session}: {sent:?}");
            assert!(
                (LONGER..LONGER + GENEROUS).contains(&asked.elapsed()),
                "{session}: {:?}",
                asked.elapsed()
            );
        }
        holder.batch_execute("ROLLBACK").unwrap();
    }

    #[test]
    fn row_p2_one_table_of_a_join_is_unsupported_before_any_sql() {
        let bed = mysql_bare();
        let conn = &mut bed.connect();
        conn.transact(&Retry::never(), |tx| -> diesel_occ::Result<()> {
            let log = Log::on(tx);
            let error = products::table
                .select(products::id)
                .lock_rows(Lock::for_update())
                .of(products::table)
                .load::<i64>(tx)
                .unwrap_err();
            assert!(
                matches!(&error, Error::Unsupported(facts) if facts.what == "FOR UPDATE OF"),
                "{error:?}"
            );
            assert_eq!(log.statements(), Vec::<String>::new());
            Ok(())
        })
        .unwrap();
    }
}
