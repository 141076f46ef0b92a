//! `modify`: read, change, save, and again after a lost race, without a transaction around it.
#![cfg(all(feature = "sqlite", feature = "r2d2"))]

mod support;

use diesel::prelude::*;
use diesel_occ::Error;
use diesel_occ::prelude::*;
use std::sync::{Arc, Barrier, Mutex};
use std::time::Duration;
use support::*;

on_every_connection! {
    fn row_r1_modify_is_two_statements_in_autocommit(bed) {
        let conn = &mut bed.connect();
        conn.modify(42, Mode::optimistic(), |product: &mut Product| product.stock -= 1).unwrap();
        let log = Log::on(conn);
        let product = conn.modify(42, Mode::optimistic(), |product: &mut Product| product.stock -= 1).unwrap();
        let sent = log.statements();
        assert_eq!((sent.len(), log.prepared()), (2, 0), "{sent:?}");
        assert!(sent[0].starts_with("SELECT") && sent[1].starts_with("UPDATE"), "{sent:?}");
        assert_eq!(product, conn.fetch::<Product>(42).unwrap());
        assert_eq!((product.stock, product.version), (48, 9));
    }

    fn row_r1_modify_reads_again_after_a_lost_race(bed) {
        let (conn, other) = (&mut bed.connect(), &mut bed.connect());
        let mut seen = vec![];
        let log = Log::on(conn);
        let product = conn.modify(42, Mode::optimistic(), |product: &mut Product| {
            seen.push(product.stock);
            if seen.len() < 3 {
                other.guarded_update(Product::key(42), products::stock.ge(0), products::stock.eq(products::stock - 10)).unwrap();
            }
            product.stock -= 1;
        }).unwrap();
        assert_eq!((seen, product.stock, product.version), (vec![50, 40, 30], 29, 10));
        assert_eq!(log.statements().len(), 8, "a read, a write, and a look after each refusal");
    }

    fn row_o3_what_the_closure_does_to_key_and_version_does_not_reach_another_row(bed) {
        let conn = &mut bed.connect();
        let error = conn.modify(42, Mode::optimistic(), |product: &mut Product| { product.id = 43; product.stock = 0 }).unwrap_err();
        assert!(matches!(&error, Error::KeyChanged(facts) if facts.key == "42" && facts.changed == "43"), "{error:?}");
        assert_eq!(conn.fetch::<Product>(43).unwrap().stock, 5);
        let product = conn.modify(42, Mode::optimistic(), |product: &mut Product| { product.version = 900; product.stock = 1 }).unwrap();
        assert_eq!(product.version, 8);
        assert_eq!(conn.fetch::<Product>(42).unwrap(), product);
    }

    fn row_r2_modify_gives_up_as_its_policy_says(bed) {
        let (conn, other) = (&mut bed.connect(), &mut bed.connect());
        let mode = Mode::optimistic().retry(Retry::default().attempts(3).timer(FakeTimer::new(0.0)));
        let mut runs = 0;
        let error = conn.modify(42, mode, |_: &mut Product| {
            runs += 1;
            other.unchecked_touch(Product::key(42)).unwrap();
        }).unwrap_err();
        let Error::RetriesExhausted(facts) = error else { panic!("{error:?}") };
        assert_eq!((runs, facts.attempts, facts.conflict.unwrap().to_string().as_str()), (3, 3, "products 42: expected version 9, found 10"));
    }

    fn row_r2_a_row_that_is_deleted_meanwhile_ends_it(bed) {
        let (conn, other) = (&mut bed.connect(), &mut bed.connect());
        let mut runs = 0;
        let error = conn.modify(42, Mode::optimistic(), |product: &mut Product| {
            runs += 1;
            other.versioned_delete(&*product).unwrap();
        }).unwrap_err();
        assert!(matches!(&error, Error::Conflict(conflict) if !conflict.is_retryable()), "{error:?}");
        assert_eq!(runs, 1);
        assert_eq!(products::table.count().get_result::<i64>(conn).unwrap(), 1);
    }
}

#[cfg(any(feature = "postgres", feature = "mysql"))]
mod where_writers_of_a_row_queue {
    use super::*;
    use diesel::connection::SimpleConnection;

    on_every_connection! {
    of postgres, of mysql;

    // Somebody writes the row in every run, as those do who come new while this call sleeps.
    fn row_r1_a_call_that_loses_its_row_again_and_again_waits_for_it_in_the_end(bed) {
        let (conn, other) = (&mut bed.connect(), &mut bed.connect());
        let impatient = match conn.server().name() {
            "PostgreSQL" => "SET lock_timeout = '20ms'",
            _ => "SET innodb_lock_wait_timeout = 0",
        };
        other.batch_execute(impatient).unwrap();
        let mut theirs = vec![];
        let log = Log::on(conn);
        let mode = Mode::optimistic().retry(Retry::default().timer(FakeTimer::new(0.0)));
        let product = conn.modify(42, mode, |product: &mut Product| {
            theirs.push(other.unchecked_update(Product::key(42), products::stock.eq(products::stock - 5)).is_ok());
            product.stock -= 1;
        }).unwrap();
        let sent = log.statements();
        assert_eq!(theirs, [true, true, true, true, true, true, false]);
        assert_eq!((product.stock, product.version), (50 - 31, 14));
        assert_eq!(conn.fetch::<Product>(42).unwrap(), product);
        let [.., begin, read, write, end] = &sent[..] else { panic!("{sent:?}") };
        assert!((begin.starts_with("BEGIN") || begin.starts_with("START TRANSACTION")) && end.starts_with("COMMIT"), "{sent:?}");
        assert!(read.starts_with("SELECT ") && read.contains(" FOR ") && write.starts_with("UPDATE "), "{sent:?}");
        let locks = sent.iter().filter(|sql| sql.contains(" FOR ")).count();
        assert_eq!(locks, 1, "{sent:?}");
        // The closure's error leaves nothing behind, also then.
        let mode = Mode::optimistic().retry(Retry::default().timer(FakeTimer::new(0.0)));
        let mut runs = 0;
        let refused = conn.modify(42, mode, |_: &mut Product| {
            runs += 1;
            if runs > 6 {
                return Err(App::OutOfStock);
            }
            other.unchecked_touch(Product::key(42)).unwrap();
            Ok(())
        });
        assert!(matches!(refused, Err(App::OutOfStock)), "{refused:?}");
        other.unchecked_touch(Product::key(42)).unwrap();
        assert_eq!((runs, conn.fetch::<Product>(42).unwrap().version), (7, 14 + 6 + 1));
    }
    }
}

mod only_on_sqlite {
    use super::*;

    on_every_connection! {
    of sqlite;

    fn row_r1_a_closure_that_takes_long_blocks_nobody(bed) {
        let (conn, other) = (&mut bed.connect(), bed.connect());
        // Without a busy handler a blocked writer fails at once: no clock decides.
        let (thinking, paid) = (Arc::new(Barrier::new(2)), Arc::new(Barrier::new(2)));
        let (their_thinking, their_paid) = (thinking.clone(), paid.clone());
        let writer = std::thread::spawn(move || {
            let mut other = other;
            diesel::connection::SimpleConnection::batch_execute(&mut other, "PRAGMA busy_timeout = 0").unwrap();
            their_thinking.wait();
            let written = other.transact(&Retry::default().deadline(Duration::ZERO), |tx| tx.touch(Product::at(43, 1)));
            their_paid.wait();
            written
        });
        let mut waited = false;
        let product = conn.modify(42, Mode::optimistic(), |product: &mut Product| {
            if !std::mem::replace(&mut waited, true) {
                thinking.wait();
                paid.wait();
                std::thread::sleep(Duration::from_secs(1)); // the payment call
            }
            product.stock -= 1;
        }).unwrap();
        assert_eq!(writer.join().unwrap().unwrap(), Product::at(43, 2));
        assert_eq!(product.stock, 49);
    }

    fn row_r1_a_busy_database_is_waited_for_and_the_closure_does_not_run_again(bed) {
        let (conn, other) = (&mut bed.connect(), bed.connect());
        diesel::connection::SimpleConnection::batch_execute(conn, "PRAGMA busy_timeout = 0").unwrap();
        let other = Arc::new(Mutex::new(other));
        let begin = |sql| diesel::connection::SimpleConnection::batch_execute(&mut *other.lock().unwrap(), sql).unwrap();
        begin("BEGIN IMMEDIATE");
        let (leaves, mut waits) = (other.clone(), 0);
        let timer = FakeTimer::new(0.5).on_sleep(move || {
            waits += 1;
            if waits == 5 {
                diesel::connection::SimpleConnection::batch_execute(&mut *leaves.lock().unwrap(), "ROLLBACK").unwrap();
            }
        });
        let mut runs = 0;
        let mode = Mode::optimistic().retry(Retry::default().timer(timer.clone()));
        conn.modify(42, mode, |product: &mut Product| { runs += 1; product.stock -= 1 }).unwrap();
        assert_eq!((runs, timer.slept().len()), (1, 5));
        begin("BEGIN IMMEDIATE");
        let mode = Mode::optimistic().retry(Retry::default().timer(FakeTimer::new(1.0)));
        let error = conn.modify(42, mode, |product: &mut Product| product.stock -= 1).unwrap_err();
        assert!(matches!(error, Error::LockTimeout(_)), "{error:?}");
        begin("ROLLBACK");
        assert_eq!(conn.fetch::<Product>(42).unwrap().stock, 49);
    }
    }
}
