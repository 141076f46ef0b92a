//! Connections that end at a chosen statement, and what is stored afterwards.

use crate::place::{Place, Server, assert_lost, through};
use diesel::connection::SimpleConnection;

on_both! {
    fn cut_before_commit_leaves_the_row_as_it_was(place) {
        let proxy = place.proxy();
        let mut conn: Conn = through(&proxy);
        let cut = proxy.cut_before("commit");
        conn.batch_execute("BEGIN").unwrap();
        conn.set_balance(11).unwrap();
        assert!(!cut.fired());
        assert_lost::<Conn>(conn.batch_execute("COMMIT"));
        assert!(cut.fired());
        assert!(!proxy.statements().contains(&"COMMIT".to_owned()));
        assert_eq!(place.balance(), 10);
    }

    fn cut_after_commit_leaves_the_row_changed(place) {
        let proxy = place.proxy();
        let mut conn: Conn = through(&proxy);
        let cut = proxy.cut_after("commit");
        conn.batch_execute("BEGIN").unwrap();
        conn.set_balance(11).unwrap();
        proxy.forget();
        assert_lost::<Conn>(conn.batch_execute("COMMIT"));
        assert!(cut.fired());
        assert_eq!(proxy.statements(), ["COMMIT"]);
        assert_eq!(place.balance(), 11);
    }

    // The first result is long enough to be sent while the server still waits; the wait is there to be cut short.
    fn cut_after_waits_for_the_last_result_of_a_batch(place) {
        let proxy = place.proxy();
        let mut conn: Conn = through(&proxy);
        let long = format!("SELECT '{}'", "x".repeat(100_000));
        let wait = if Conn::NAME == "mysql" { "DO SLEEP(0.2)" } else { "SELECT pg_sleep(0.2)" };
        let cut = proxy.cut_after("update");
        let batch = format!("{long}; {wait}; UPDATE accounts SET balance = 11");
        assert_lost::<Conn>(conn.batch_execute(&batch));
        assert!(cut.fired());
        assert_eq!(place.balance(), 11);
    }

    // Locks are free only when the server has seen its client vanish and rolled back.
    fn a_cut_is_seen_by_the_server(place) {
        let proxy = place.proxy();
        let mut conn: Conn = through(&proxy);
        conn.batch_execute("BEGIN").unwrap();
        conn.set_balance(11).unwrap();
        proxy.cut_before("SELECT 2");
        assert_lost::<Conn>(conn.batch_execute("SELECT 2"));
        assert_eq!(place.direct().set_balance(12), Ok(1));
        assert_eq!(place.balance(), 12);
    }

    fn a_reset_is_an_error_and_the_server_sees_nothing(place) {
        let proxy = place.proxy();
        let mut conn: Conn = through(&proxy);
        let reset = proxy.reset("UPDATE");
        assert_lost::<Conn>(conn.set_balance(11));
        assert!(reset.fired());
        assert_eq!(place.balance(), 10);
    }

    fn a_prepared_statement_is_cut_when_it_is_executed(place) {
        let proxy = place.proxy();
        let mut conn: Conn = through(&proxy);
        assert_eq!(conn.balance(), Ok(10));
        proxy.forget();
        let cut = proxy.cut_after("select");
        assert_lost::<Conn>(conn.balance());
        assert!(cut.fired());
        assert_eq!(proxy.statements().len(), 1);
        assert_eq!(proxy.round_trips(), 1);
    }

    fn a_fault_fires_once(place) {
        let proxy = place.proxy();
        let cut = proxy.cut_before("UPDATE");
        assert_lost::<Conn>(through::<Conn>(&proxy).set_balance(11));
        assert_eq!(through::<Conn>(&proxy).set_balance(12), Ok(1));
        assert_eq!(cut.times_fired(), 1);
        assert_eq!(place.balance(), 12);
    }

    fn a_fault_fires_every_time_until_it_is_disarmed(place) {
        let proxy = place.proxy();
        let cut = proxy.cut_before("UPDATE").every_time();
        assert_lost::<Conn>(through::<Conn>(&proxy).set_balance(11));
        assert_lost::<Conn>(through::<Conn>(&proxy).set_balance(12));
        proxy.disarm();
        assert_eq!(through::<Conn>(&proxy).set_balance(13), Ok(1));
        assert_eq!(cut.times_fired(), 2);
        assert_eq!(place.balance(), 13);
    }

    fn a_fault_of_another_text_does_not_fire(place) {
        let proxy = place.proxy();
        let mut conn: Conn = through(&proxy);
        let cut = proxy.cut_before("DELETE");
        assert_eq!(conn.set_balance(11), Ok(1));
        assert!(!cut.fired());
    }

    fn a_second_fault_is_refused_while_one_is_armed(place) {
        let refused = std::panic::catch_unwind(|| {
            let proxy = place.proxy();
            proxy.cut_before("COMMIT");
            proxy.cut_before("UPDATE");
        });
        let said = refused.unwrap_err().downcast::<String>().unwrap();
        let expected = r#"one fault at a time: CutBefore at "commit" is still armed, disarm it first"#;
        assert_eq!(*said, expected);
    }

    fn one_connection_is_cut_and_another_is_not(place) {
        let proxy = place.proxy();
        let (mut first, mut second) = (through::<Conn>(&proxy), through::<Conn>(&proxy));
        proxy.cut_before("UPDATE");
        assert_lost::<Conn>(first.set_balance(11));
        assert_eq!(second.balance(), Ok(10));
    }

    fn dropping_the_proxy_closes_its_connections(place) {
        let proxy = place.proxy();
        let url = proxy.url().to_owned();
        let mut conn: Conn = through(&proxy);
        drop(proxy);
        assert_lost::<Conn>(conn.set_balance(11));
        assert!(matches!(
            <Conn as diesel::Connection>::establish(&url).err(),
            Some(diesel::ConnectionError::BadConnection(_))
        ));
    }
}
