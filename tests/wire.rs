//! What goes over the wire to PostgreSQL and MariaDB, counted outside the code under test, and what becomes of work whose
//! connection is cut.
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
use std::time::{Duration, Instant};
use support::proxy::Proxy;
use support::*;

/// A way to cut a connection at the next COMMIT, and whether the server has carried it out.
type Cut = fn(&Proxy) -> support::proxy::Armed;

const CUTS_AT_COMMIT: [(&str, Cut, bool); 3] = [
    ("before", |proxy| proxy.cut_before("COMMIT"), false),
    ("reset", |proxy| proxy.reset("COMMIT"), false),
    ("after", |proxy| proxy.cut_after("COMMIT"), true),
];

on_every_server! {
    of postgres, of mysql;

    fn row_r1_begin_with_its_guard_and_release_with_commit_are_one_round_trip_each(bed) {
        let proxy = Proxy::to(bed.url());
        let (mut conn, _) = bed.by(proxy.url());
        let options = TxOptions::default().isolation(IsolationLevel::ReadCommitted);
        // Once, so that every statement is prepared.
        conn.transact(&Retry::never(), |tx| tx.unchecked_touch(Product::key(42))).unwrap();
        conn.transact(&options, |tx| tx.unchecked_touch(Product::key(42))).unwrap();
        conn.transact(&Retry::never(), |tx| -> Result<(), App> { tx.unchecked_touch(Product::key(42))?; Err(App::OutOfStock) }).unwrap_err();
        proxy.forget();
        conn.transact(&Retry::never(), |tx| tx.unchecked_touch(Product::key(42))).unwrap();
        assert_eq!((proxy.round_trips(), depth(&mut conn)), (3, 0));
        let sent = proxy.statements();
        assert!(sent[0].contains("; SAVEPOINT occ_guard") && sent[2].contains("RELEASE SAVEPOINT occ_guard; COMMIT"), "{sent:?}");
        conn.transact(&options, |tx| tx.unchecked_touch(Product::key(42))).unwrap();
        assert_eq!((proxy.round_trips(), depth(&mut conn)), (3, 0), "with options");
        conn.transact(&Retry::never(), |tx| -> Result<(), App> { tx.unchecked_touch(Product::key(42))?; Err(App::OutOfStock) }).unwrap_err();
        assert_eq!((proxy.round_trips(), depth(&mut conn)), (3, 0), "rolled back");
        conn.transact(&Retry::never(), |_| -> Result<(), App> { Ok(()) }).unwrap();
        assert_eq!((proxy.round_trips(), depth(&mut conn)), (2, 0), "empty");
    }

    fn row_o2_a_checked_write_is_one_round_trip_and_modify_two(bed) {
        let proxy = Proxy::to(bed.url());
        let (mut conn, _) = bed.by(proxy.url());
        let mut round = |counted: bool| {
            let product = conn.fetch::<Product>(42).unwrap();
            assert_eq!(proxy.round_trips(), if counted { 1 } else { 2 }, "fetch");
            let saved = conn.save(&product).unwrap();
            assert_eq!(proxy.round_trips(), if counted { 1 } else { 2 }, "save");
            let row = conn.versioned_update(&saved, products::stock.eq(3)).unwrap();
            assert_eq!(proxy.round_trips(), if counted { 1 } else { 2 }, "versioned update");
            conn.touch(row).unwrap();
            assert_eq!(proxy.round_trips(), if counted { 1 } else { 2 }, "touch");
            conn.modify(42, Mode::optimistic(), |product: &mut Product| product.stock += 1).unwrap();
            assert_eq!(proxy.round_trips(), 2, "modify");
            let stale = conn.touch(Product::at(42, 1));
            assert!(matches!(stale, Err(Error::Conflict(_))));
            assert_eq!(proxy.round_trips(), if counted { 2 } else { 3 }, "a conflict");
        };
        proxy.forget();
        round(false); // each statement is prepared on the way
        round(true);
        round(true);
    }

    fn row_p2_a_lock_is_one_round_trip_and_a_refusal_has_its_price(bed) {
        let proxy = Proxy::to(bed.url());
        let (mut conn, _) = bed.by(proxy.url());
        let mut holder = bed.connect();
        holder.batch_execute("BEGIN; SELECT 1 FROM products WHERE id = 42 FOR UPDATE").unwrap();
        let postgres = conn.server().name() == "PostgreSQL";
        let short = Duration::from_millis(20);
        let costs = |of_postgres, of_mariadb| if postgres { of_postgres } else { of_mariadb };
        for counted in [false, true] {
            conn.transact(&Retry::never(), |tx| -> Result<(), App> {
                let mut cost = |id, lock: Lock, trips: usize| {
                    // What a refusal on MariaDB may have done to the transaction is asked before the next statement.
                    tx.unchecked_touch(Product::key(43)).unwrap();
                    proxy.forget();
                    let row = tx.fetch_locked::<Product>(id, lock);
                    assert_eq!(row.is_ok(), id == 43);
                    if counted { assert_eq!(proxy.round_trips(), trips, "{id} {lock:?}: {:?}", proxy.statements()) }
                };
                for lock in [Lock::for_update(), Lock::for_update().no_wait(), Lock::for_update().within(short)] {
                    cost(43, lock, 1);
                }
                // The skipped row, and another look at it; on MariaDB a statement that is prepared anew.
                cost(42, Lock::for_update().no_wait(), costs(2, 3));
                // The skipped row; then on PostgreSQL the settings and a savepoint.
                cost(42, Lock::for_update().within(short), costs(5, 3));
                let mut cost = |lock: Lock, trips: usize| {
                    tx.unchecked_touch(Product::key(43)).unwrap();
                    proxy.forget();
                    products::table.select(products::id).find(43).lock_rows(lock).load::<i64>(tx).unwrap();
                    if counted { assert_eq!(proxy.round_trips(), trips, "{lock:?}: {:?}", proxy.statements()) }
                };
                cost(Lock::for_update(), 1);
                cost(Lock::for_update().skip_locked(), 1);
                cost(Lock::for_update().no_wait(), costs(3, 2));
                cost(Lock::for_update().within(short), costs(4, 2));
                Ok(())
            }).unwrap();
        }
        holder.batch_execute("ROLLBACK").unwrap();
        conn.modify(42, Mode::pessimistic(), |_: &mut Product| ()).unwrap();
        proxy.forget();
        conn.modify(42, Mode::pessimistic(), |_: &mut Product| ()).unwrap();
        assert_eq!(proxy.round_trips(), 4, "{:?}", proxy.statements());
    }

    fn row_r6_a_cut_at_commit_is_an_unknown_outcome_and_never_run_again(bed) {
        for (name, cut, stored) in CUTS_AT_COMMIT {
            for on_pool in [false, true] {
                let proxy = Proxy::to(bed.url());
                let (mut conn, pool) = bed.by(proxy.url());
                let before = bed.connect().fetch::<Product>(42).unwrap().version;
                let armed = cut(&proxy);
                let mut runs = 0;
                let mut work = |tx: &mut dyn FnMut() -> diesel_occ::Result<()>| { runs += 1; tx() };
                let result = match on_pool {
                    false => conn.transact(&Retry::default(), |tx| work(&mut || tx.unchecked_touch(Product::key(42)))),
                    true => retry_on(&pool, &Retry::default(), |tx| work(&mut || tx.unchecked_touch(Product::key(42)))),
                };
                assert!(armed.fired(), "{name}");
                let Err(Error::OutcomeUnknown(facts)) = &result else { panic!("{name}: {result:?}") };
                assert_eq!((facts.fault, runs), (Fault::ConnectionLost, 1), "{name}");
                assert_eq!(Fault::of(&result.unwrap_err()), Fault::Permanent);
                let after = bed.connect().fetch::<Product>(42).unwrap().version;
                assert_eq!(after, before + i64::from(stored), "{name}: the same answer, whatever happened");
                if on_pool {
                    // The connection did not go back: the only one of the pool is a new one.
                    pool.get().unwrap().fetch::<Product>(42).unwrap();
                } else {
                    assert!(broken(&mut conn), "{name}");
                }
            }
        }
    }

    fn row_r6_a_pessimistic_modify_that_is_cut_at_commit_is_an_unknown_outcome(bed) {
        for (name, cut, stored) in CUTS_AT_COMMIT {
            let proxy = Proxy::to(bed.url());
            let (mut conn, _) = bed.by(proxy.url());
            let before = bed.connect().fetch::<Product>(42).unwrap().version;
            let armed = cut(&proxy);
            let mut runs = 0;
            let result = conn.modify(42, Mode::pessimistic(), |_: &mut Product| runs += 1);
            assert!(armed.fired(), "{name}");
            assert!(matches!(&result, Err(Error::OutcomeUnknown(facts)) if facts.fault == Fault::ConnectionLost), "{name}: {result:?}");
            assert_eq!((runs, broken(&mut conn)), (1, true), "{name}");
            assert_eq!(bed.connect().fetch::<Product>(42).unwrap().version, before + i64::from(stored), "{name}");
        }
    }

    fn row_r6_a_write_in_autocommit_that_is_cut_is_an_unknown_outcome_too(bed) {
        for (stored, returning) in [(false, false), (true, false), (true, true)] {
            let proxy = Proxy::to(bed.url());
            let (mut conn, _) = bed.by(proxy.url());
            let before = bed.connect().fetch::<Product>(42).unwrap();
            let armed = match stored {
                true => proxy.cut_after("UPDATE"),
                false => proxy.cut_before("UPDATE"),
            };
            let mut runs = 0;
            let result = match returning {
                true => conn.versioned_update_returning(&before, products::stock.eq(before.stock - 1)).map(drop),
                false => conn.modify(42, Mode::optimistic(), |product: &mut Product| { runs += 1; product.stock -= 1 }).map(drop),
            };
            assert!(armed.fired() && runs <= 1);
            assert!(matches!(&result, Err(Error::OutcomeUnknown(facts)) if facts.fault == Fault::ConnectionLost), "{result:?}");
            let after = bed.connect().fetch::<Product>(42).unwrap();
            assert_eq!(after.version, before.version + i64::from(stored));
            assert!(broken(&mut conn));
        }
    }

    fn row_r7_a_connection_that_is_lost_before_commit_is_replaced_and_the_work_run_again(bed) {
        for (at, cut) in [
            ("SAVEPOINT occ_guard", (|proxy: &Proxy| proxy.cut_after("SAVEPOINT occ_guard")) as Cut),
            ("UPDATE", |proxy| proxy.cut_before("UPDATE")),
            ("UPDATE, carried out", |proxy| proxy.cut_after("UPDATE")),
            ("SELECT", |proxy| proxy.reset("SELECT")),
        ] {
            let proxy = Proxy::to(bed.url());
            let (mut conn, pool) = bed.by(proxy.url());
            let before = bed.connect().fetch::<Product>(42).unwrap().version;
            let armed = cut(&proxy);
            retry_on(&pool, &Retry::default().timer(FakeTimer::new(0.0)), |tx| -> Result<(), App> {
                let product = tx.fetch::<Product>(42)?;
                tx.save(&product)?;
                Ok(())
            }).unwrap_or_else(|error| panic!("{at}: {error:?}"));
            assert!(armed.fired(), "{at}");
            assert_eq!(bed.connect().fetch::<Product>(42).unwrap().version, before + 1, "{at}: exactly once");
            // One connection alone cannot go on.
            let armed = cut(&proxy);
            let result = conn.transact(&Retry::default(), |tx| -> Result<(), App> {
                let product = tx.fetch::<Product>(42)?;
                tx.save(&product)?;
                Ok(())
            });
            assert!(armed.fired(), "{at}");
            assert!(matches!(&result, Err(App::Occ(error)) if Fault::of(error) == Fault::ConnectionLost), "{at}: {result:?}");
            assert!(broken(&mut conn), "{at}");
            assert_eq!(bed.connect().fetch::<Product>(42).unwrap().version, before + 1, "{at}");
        }
    }

    // A connection that dies while it lies in the pool.
    fn row_r7_an_idle_connection_that_was_killed_never_goes_back_to_the_pool(bed) {
        let (_, pool) = bed.by(bed.url());
        let mut runs = 0;
        let id = match bed.connect().server().name() {
            "PostgreSQL" => "CAST(pg_backend_pid() AS BIGINT)",
            _ => "CONNECTION_ID()",
        };
        let asked = |conn: &mut _| diesel::select(diesel::dsl::sql::<diesel::sql_types::BigInt>(id)).get_result::<i64>(conn).unwrap();
        let victim = asked(&mut *pool.get().unwrap());
        let kill = match bed.connect().server().name() {
            "PostgreSQL" => format!("SELECT pg_terminate_backend({victim}, 5000)"),
            _ => format!("KILL {victim}"),
        };
        // The pool tests a connection before it lends it; what dies afterwards it does not see.
        let mut lent = pool.get().unwrap();
        bed.connect().batch_execute(&kill).unwrap();
        let dead = lent.fetch::<Product>(42).unwrap_err();
        assert_eq!(Fault::of(&dead), Fault::ConnectionLost, "{dead:?}");
        drop(lent);
        let fresh = asked(&mut *pool.get().unwrap());
        assert_ne!(fresh, victim);
        retry_on(&pool, &Retry::default(), |tx| -> Result<(), App> { runs += 1; tx.touch(Product::at(42, 7))?; Ok(()) }).unwrap();
        assert_eq!(runs, 1);
    }

    // Neither Diesel nor the client libraries have a limit for reading an answer, and the policy's deadline interrupts nothing:
    // where the network swallows the answer to COMMIT, it lasts until somebody closes the connection.
    fn row_r6_a_black_hole_at_commit_outlasts_the_policy_and_is_an_unknown_outcome(bed) {
        for after in [false, true] {
            let proxy = Proxy::to(bed.url());
            let (mut conn, _) = bed.by(proxy.url());
            let before = bed.connect().fetch::<Product>(42).unwrap().version;
            let armed = match after {
                true => proxy.black_hole_after("COMMIT"),
                false => proxy.black_hole_before("COMMIT"),
            };
            let deadline = Duration::from_millis(50);
            let work = std::thread::spawn(move || {
                conn.transact(&Retry::default().deadline(deadline), |tx| tx.unchecked_touch(Product::key(42)))
            });
            armed.wait_until_fired();
            // Long past the deadline; the test would as well pass if it were longer.
            std::thread::sleep(deadline * 6);
            assert!(!work.is_finished(), "nothing interrupts it");
            proxy.release();
            let result = work.join().unwrap();
            assert!(matches!(&result, Err(Error::OutcomeUnknown(_))), "{result:?}");
            let version = bed.connect().fetch::<Product>(42).unwrap().version;
            assert_eq!(version, before + i64::from(after));
        }
    }

    // Where there is a deadline it holds: who waits for the connection that hangs is told so in time.
    fn row_r7_who_waits_for_a_connection_in_a_black_hole_is_told_at_the_deadline(bed) {
        let proxy = Proxy::to(bed.url());
        let (_, pool) = bed.by(proxy.url());
        let armed = proxy.black_hole_before("UPDATE");
        let hanging = pool.clone();
        let work = std::thread::spawn(move || retry_on(&hanging, &Retry::never(), |tx| tx.unchecked_touch(Product::key(42))));
        armed.wait_until_fired();
        let started = Instant::now();
        let policy = Retry::default().deadline(Duration::from_millis(50));
        let result = retry_on(&pool, &policy, |tx| tx.unchecked_touch(Product::key(42)));
        assert!(matches!(&result, Err(Error::Pool(_))), "{result:?}");
        // Generous: the pool's own patience is 30 s.
        assert!(started.elapsed() < Duration::from_secs(10));
        proxy.release();
        let lost = work.join().unwrap().unwrap_err();
        assert_eq!(Fault::of(&lost), Fault::ConnectionLost, "COMMIT had not been sent");
    }
}

#[cfg(feature = "mysql")]
mod mysql_behind_a_proxy {
    use super::*;
    use diesel_occ::Warning;

    // Some proxies drop the client's wish that found rows count, and not changed ones.
    #[test]
    fn case_faults_21_without_the_found_rows_flag_the_self_test_warns_and_checked_writes_hold() {
        let bed = mysql_bare();
        let proxy = Proxy::to(bed.url());
        proxy.clear_found_rows();
        let (mut conn, _) = bed.by(proxy.url());
        let checkup = diesel_occ::check(&mut conn).unwrap();
        assert_eq!(checkup.counts_found_rows, Some(false));
        assert!(
            checkup.warnings.contains(&Warning::ChangedRowsCounted),
            "{checkup}"
        );
        // The same values: the version moves, so the row counts.
        let product = conn.fetch::<Product>(42).unwrap();
        let saved = conn.save(&product).unwrap();
        let row = conn
            .versioned_update(&saved, products::stock.eq(saved.stock))
            .unwrap();
        assert_eq!(row.version, 9);
        conn.guarded_update(
            Product::key(42),
            products::stock.ge(0),
            products::stock.eq(50),
        )
        .unwrap();
        let stale = conn.save(&product);
        assert!(matches!(stale, Err(Error::Conflict(_))), "{stale:?}");
        conn.modify(42, Mode::optimistic(), |_: &mut Product| {})
            .unwrap();
    }

    // MySQL has no compound statement outside of a procedure: BEGIN falls back to a batch, and the end of the transaction is
    // not tried another way.
    #[test]
    fn row_r1_a_server_without_compound_statements_is_sent_batches() {
        let bed = mysql_bare();
        let proxy = Proxy::to(bed.url());
        proxy.does_not_know("NOT ATOMIC");
        let (mut conn, _) = bed.by(proxy.url());
        conn.fetch::<Product>(42).unwrap();
        for committed in [true, false] {
            let before = conn.fetch::<Product>(42).unwrap().version;
            let log = Log::on(&mut conn);
            proxy.forget();
            let result = conn.transact(&Retry::default(), |tx| -> Result<(), App> {
                tx.unchecked_touch(Product::key(42))?;
                if committed {
                    Ok(())
                } else {
                    Err(App::OutOfStock)
                }
            });
            assert_eq!(result.is_ok(), committed, "{result:?}");
            let sent = log.statements();
            let end = match committed {
                true => "RELEASE SAVEPOINT occ_guard; COMMIT AND NO CHAIN NO RELEASE",
                false => "ROLLBACK TO SAVEPOINT occ_guard; ROLLBACK AND NO CHAIN NO RELEASE",
            };
            assert!(sent[0].starts_with("BEGIN NOT ATOMIC "), "{sent:?}");
            assert_eq!(sent[1], "START TRANSACTION; SAVEPOINT occ_guard");
            assert_eq!((sent[3].as_str(), sent.len()), (end, 4));
            let prepared_touch = usize::from(committed);
            assert_eq!(proxy.round_trips(), 1 + 3 + 1 + prepared_touch + 3);
            let after = conn.fetch::<Product>(42).unwrap().version;
            assert_eq!(after, before + i64::from(committed));
            assert_eq!(depth(&mut conn), 0);
        }
    }
}
