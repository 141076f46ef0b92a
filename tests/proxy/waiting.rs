//! Statements that wait, and answers that never come.

use crate::place::{Place, Server, assert_lost, through};
use diesel::connection::SimpleConnection;
use std::sync::mpsc::{self, TryRecvError};
use std::thread;
use std::time::{Duration, Instant};

on_both! {
    fn a_held_statement_runs_after_what_came_in_between(place) {
        let proxy = place.proxy();
        let mut conn: Conn = through(&proxy);
        let held = proxy.hold("balance * 2");
        thread::scope(|threads| {
            let held_one = threads.spawn(move || conn.batch_execute("UPDATE accounts SET balance = balance * 2"));
            held.wait_until_reached();
            assert_eq!(proxy.statements(), [""; 0]);
            assert_eq!(place.direct().set_balance(20), Ok(1));
            held.release();
            assert_eq!(held_one.join().unwrap(), Ok(()));
        });
        assert_eq!(proxy.statements(), ["UPDATE accounts SET balance = balance * 2"]);
        assert_eq!(place.balance(), 40);
    }

    // Nothing of it has reached the server: not even the locks that preparing it takes.
    fn a_held_statement_takes_no_locks(place) {
        let proxy = place.proxy();
        let mut conn: Conn = through(&proxy);
        let held = proxy.hold("UPDATE");
        thread::scope(|threads| {
            let held_one = threads.spawn(move || conn.set_balance(11));
            held.wait_until_reached();
            let mut direct = place.direct();
            direct.batch_execute("ALTER TABLE accounts ADD COLUMN note INTEGER").unwrap();
            held.release();
            assert_eq!(held_one.join().unwrap(), Ok(1));
        });
    }

    fn while_one_is_held_the_next_fault_can_be_armed(place) {
        let proxy = place.proxy();
        let (mut first, mut second) = (through::<Conn>(&proxy), through::<Conn>(&proxy));
        let held = proxy.hold("UPDATE");
        thread::scope(|threads| {
            let held_one = threads.spawn(move || first.set_balance(11));
            held.wait_until_reached();
            proxy.cut_before("UPDATE");
            assert_lost::<Conn>(second.set_balance(12));
            held.release();
            assert_eq!(held_one.join().unwrap(), Ok(1));
        });
        assert_eq!(place.balance(), 11);
    }

    fn a_hold_that_is_dropped_unreached_holds_nothing(place) {
        let proxy = place.proxy();
        let mut conn: Conn = through(&proxy);
        let held = proxy.hold("UPDATE");
        assert!(!held.reached());
        drop(held);
        assert_eq!(conn.set_balance(11), Ok(1));
        proxy.cut_before("UPDATE");
        assert_lost::<Conn>(conn.set_balance(12));
    }

    fn what_is_released_before_it_fires_does_not_fire(place) {
        let proxy = place.proxy();
        let mut conn: Conn = through(&proxy);
        let cut = proxy.cut_before("UPDATE");
        proxy.release();
        assert_eq!(conn.set_balance(11), Ok(1));
        assert!(!cut.fired());
    }

    fn a_delay_is_at_least_as_long_as_it_says(place) {
        let proxy = place.proxy();
        let mut conn: Conn = through(&proxy);
        let time = Duration::from_millis(100);
        let delay = proxy.delay("UPDATE", time);
        let start = Instant::now();
        assert_eq!(conn.set_balance(11), Ok(1));
        assert!(start.elapsed() >= time);
        assert!(delay.fired());
    }

    fn behind_a_black_hole_the_server_saw_nothing(place) {
        let proxy = place.proxy();
        let mut conn: Conn = through(&proxy);
        let hole = proxy.black_hole_before("UPDATE");
        let (answer, answers) = mpsc::channel();
        thread::scope(|threads| {
            threads.spawn(move || answer.send(conn.set_balance(11)).unwrap());
            hole.wait_until_fired();
            assert_eq!(place.balance(), 10);
            assert_eq!(answers.try_recv(), Err(TryRecvError::Empty));
            proxy.release();
            assert_lost::<Conn>(answers.recv().unwrap());
        });
        assert_eq!(proxy.statements(), [""; 0]);
        assert_eq!(place.balance(), 10);
    }

    fn before_a_black_hole_the_server_did_it(place) {
        let proxy = place.proxy();
        let mut conn: Conn = through(&proxy);
        let hole = proxy.black_hole_after("UPDATE");
        let (answer, answers) = mpsc::channel();
        thread::scope(|threads| {
            threads.spawn(move || answer.send(conn.set_balance(11)).unwrap());
            hole.wait_until_fired();
            assert_eq!(place.balance(), 11);
            assert_eq!(answers.try_recv(), Err(TryRecvError::Empty));
            proxy.release();
            assert_lost::<Conn>(answers.recv().unwrap());
        });
        assert_eq!(proxy.statements().len(), 1);
    }

    fn dropping_the_proxy_ends_a_hold(place) {
        let proxy = place.proxy();
        let mut conn: Conn = through(&proxy);
        let held = proxy.hold("UPDATE");
        thread::scope(|threads| {
            let held_one = threads.spawn(move || conn.set_balance(11));
            held.wait_until_reached();
            drop(proxy);
            assert_lost::<Conn>(held_one.join().unwrap());
        });
        assert_eq!(place.balance(), 10);
    }
}
