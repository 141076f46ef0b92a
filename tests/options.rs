//! What a transaction can be asked to be, and what is refused before any SQL.
#![cfg(all(feature = "sqlite", feature = "r2d2"))]

mod support;

use diesel_occ::prelude::*;
use diesel_occ::{Error, IsolationLevel, TxOptions};
use support::*;

on_every_connection! {
    fn row_r1_options_are_taken_wherever_a_retry_is_and_their_own_retry_counts(bed) {
        let conn = &mut bed.connect();
        let timer = FakeTimer::new(1.0);
        let options = TxOptions::default().isolation(IsolationLevel::Serializable).retry(Retry::default().attempts(3).timer(timer.clone()));
        let mut runs = 0;
        let error = conn.transact(&options, |tx| { runs += 1; tx.touch(Product::at(42, 1)) }).unwrap_err();
        assert!(matches!(&error, Error::RetriesExhausted(facts) if facts.attempts == 3), "{error:?}");
        assert_eq!((runs, timer.slept()), (3, vec![2, 4]));
        conn.transact(&TxOptions::default(), |tx| tx.touch(Product::at(42, 7))).unwrap();
    }

    fn bad_input_options_for_a_transaction_inside_another_are_unsupported_before_any_sql(bed) {
        let conn = &mut bed.connect();
        for options in [
            TxOptions::default().isolation(IsolationLevel::Serializable),
            TxOptions::default().read_only(),
            TxOptions::default().deferrable(),
        ] {
            let mut runs = 0;
            conn.transact(&Retry::never(), |tx| -> Result<(), App> {
                let log = Log::on(tx);
                let refused = tx.transact(&options, |_| -> Result<(), App> { runs += 1; Ok(()) });
                assert!(matches!(&refused, Err(App::Occ(Error::Unsupported(facts))) if facts.what.contains("inside another")), "{refused:?}");
                assert_eq!(log.statements(), Vec::<String>::new());
                tx.transact(&TxOptions::default(), |tx| tx.verify(Product::at(42, 7)))?;
                Ok(())
            }).unwrap();
            assert_eq!(runs, 0);
        }
    }

    fn row_r1_the_self_test_says_what_the_server_is_and_leaves_a_transaction_alone(bed) {
        let conn = &mut bed.connect();
        let checkup = diesel_occ::check(conn).unwrap();
        assert_eq!(checkup.warnings, [], "{checkup}");
        let text = checkup.to_string();
        match conn.server().name() {
            "SQLite" => assert_eq!((checkup.server, checkup.isolation, checkup.skip_locked, checkup.returning), ("SQLite", IsolationLevel::Serializable, false, true)),
            "PostgreSQL" => assert_eq!((checkup.server, checkup.isolation, checkup.skip_locked, checkup.returning, checkup.strict), ("PostgreSQL", IsolationLevel::ReadCommitted, true, true, true)),
            _ => assert_eq!((checkup.isolation, checkup.skip_locked, checkup.returning, checkup.strict), (IsolationLevel::RepeatableRead, true, false, true)),
        }
        assert_eq!(checkup.counts_found_rows, Some(true));
        assert!(text.starts_with(&format!("server: {} {}\n", checkup.server, checkup.version)), "{text}");
        assert!(text.contains("\nisolation: ") && text.contains("\ncounts found rows: yes\n"), "{text}");
        conn.transact(&Retry::never(), |tx| -> Result<(), App> {
            tx.touch(Product::at(42, 7))?;
            assert_eq!(diesel_occ::check(tx)?, checkup);
            Err(App::OutOfStock)
        }).unwrap_err();
        assert_eq!(conn.fetch::<Product>(42).unwrap().version, 7, "the transaction was still one");
    }
}

on_every_server! {
    fn row_r7_a_pool_takes_options_too(bed) {
        let options = TxOptions::default().isolation(IsolationLevel::Serializable);
        let row = retry_on(&bed.pool(1), &options, |tx| tx.touch(Product::at(42, 7))).unwrap();
        assert_eq!(row, Product::at(42, 8));
    }
}

mod only_on_sqlite {
    use super::*;

    on_every_connection! {
        of sqlite;

        fn bad_input_what_sqlite_has_not_is_unsupported_before_any_sql(bed) {
            let conn = &mut bed.connect();
            let log = Log::on(conn);
            for (options, what) in [
                (TxOptions::default().isolation(IsolationLevel::ReadUncommitted), "isolation level"),
                (TxOptions::default().isolation(IsolationLevel::ReadCommitted), "isolation level"),
                (TxOptions::default().isolation(IsolationLevel::RepeatableRead), "isolation level"),
                (TxOptions::default().read_only(), "read-only"),
                (TxOptions::default().deferrable(), "deferrable"),
            ] {
                let mut runs = 0;
                let refused = conn.transact(&options, |_| -> Result<(), App> { runs += 1; Ok(()) });
                assert!(matches!(&refused, Err(App::Occ(Error::Unsupported(facts))) if facts.server == "SQLite" && facts.what.contains(what)), "{refused:?}");
                assert_eq!(runs, 0);
            }
            assert_eq!(log.statements(), Vec::<String>::new());
        }
    }
}
