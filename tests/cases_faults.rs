//! Reports by users of other systems about failures of the database, each as one small test. The number names the report.
#![cfg(all(feature = "sqlite", feature = "r2d2"))]

mod support;

use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel_occ::prelude::*;
use diesel_occ::{Error, Fault};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;
use support::*;

on_every_connection! {
    // After a panic in the closure the connection believed to be in a transaction.
    fn case_faults_11_after_a_panic_the_connection_is_as_new(bed) {
        let conn = &mut bed.connect();
        for _ in 0..2 {
            let panicked = catch_unwind(AssertUnwindSafe(|| {
                conn.transact(&Retry::default(), |tx| -> Result<(), App> {
                    tx.touch(Product::at(42, 7))?;
                    panic!("in the closure")
                })
            }));
            assert!(panicked.is_err());
        }
        let version = conn.transact(&Retry::never(), |tx| tx.touch(Product::at(42, 7))).unwrap().version;
        assert_eq!(version, 8);
    }

    // The same failure was one type of error here and another there.
    fn case_faults_19_the_same_failure_is_the_same_typed_error_on_every_kind_of_connection(bed) {
        let conn = &mut bed.connect();
        let result = conn.transact(&Retry::never(), |tx| -> Result<(), App> { tx.batch_execute("ROLLBACK")?; Ok(()) });
        assert!(matches!(result, Err(App::Occ(Error::TransactionEnded(_)))), "{result:?}");
        let result = conn.transact(&Retry::never(), |tx| -> Result<(), App> { tx.touch(Product::at(42, 1))?; Ok(()) });
        assert!(matches!(result, Err(App::Occ(Error::Conflict(_)))), "{result:?}");
    }

    // Two saves within one second by the same holder: the second affected no row.
    fn case_faults_23_every_save_moves_the_version_by_one_however_fast_they_come(bed) {
        let conn = &mut bed.connect();
        let mut product = conn.fetch::<Product>(42).unwrap();
        for version in 8..108 {
            product = conn.save(&product).unwrap();
            assert_eq!(product.version, version);
        }
    }
}

mod only_on_sqlite {
    use super::*;

    on_every_connection! {
    of sqlite;

    // SQLite rolled back by itself, and what came after was committed statement by statement.
    fn case_faults_9_after_an_automatic_rollback_nothing_is_committed_by_itself(bed) {
        let conn = &mut bed.connect();
        conn.batch_execute("CREATE TABLE ballast (x BLOB); PRAGMA max_page_count = 1").unwrap();
        let result = conn.transact(&Retry::default(), |tx| -> Result<(), App> {
            tx.touch(Product::at(42, 7))?;
            assert!(diesel::sql_query("INSERT INTO ballast VALUES (zeroblob(300000))").execute(tx).is_err());
            let _ = tx.touch(Product::at(43, 1));
            let _ = diesel::update(products::table.find(43)).set(products::stock.eq(0)).execute(tx);
            Ok(())
        });
        assert!(matches!(&result, Err(App::Occ(Error::Poisoned(facts))) if facts.fault == Fault::Storage), "{result:?}");
        let product = conn.fetch::<Product>(43).unwrap();
        assert_eq!((product.version, product.stock), (1, 5));
        assert_eq!(conn.fetch::<Product>(42).unwrap().version, 7);
    }

    // BUSY_SNAPSHOT: trying the statement again in the same transaction can never help.
    fn case_faults_15_a_snapshot_that_is_too_old_makes_the_whole_transaction_run_again(bed) {
        let (conn, other) = (&mut bed.connect(), &mut bed.connect());
        // A deferred transaction of the user's own that reads first: one answer, at once, and it says Busy.
        conn.batch_execute("BEGIN; SELECT * FROM products").unwrap();
        other.touch(Product::at(43, 1)).unwrap();
        let error = conn.touch(Product::at(42, 7)).unwrap_err();
        assert_eq!(Fault::of(&error), Fault::Busy);
        conn.batch_execute("ROLLBACK").unwrap();
        // A transaction of ours takes the write lock first, so it never reads what it cannot write.
        let mut runs = 0;
        conn.transact(&Retry::default(), |tx| -> Result<(), App> {
            runs += 1;
            let product = tx.fetch::<Product>(42)?;
            other.batch_execute("PRAGMA busy_timeout = 0")?;
            assert!(other.touch(Product::at(43, 2)).is_err());
            tx.save(&product)?;
            Ok(())
        }).unwrap();
        assert_eq!(runs, 1);
    }
    }
}

on_every_server! {
    // A COMMIT without an answer was sent again. On SQLite: tests/outcome_unknown.rs makes one for real; here, that no wrapping
    // turns it into something to run again.
    fn case_faults_17_an_unknown_outcome_is_never_a_reason_to_run_again(bed) {
        let mut conn = bed.connect();
        let mut ended = None;
        let mut runs = 0;
        let result = conn.transact(&Retry::default(), |tx| -> Result<(), App> {
            runs += 1;
            tx.batch_execute("COMMIT")?;
            tx.touch(Product::at(42, 7))
                .inspect_err(|error| ended = Some(Fault::of(error)))?;
            Ok(())
        });
        assert!(
            matches!(result, Err(App::Occ(Error::TransactionEnded(_)))),
            "{result:?}"
        );
        assert_eq!((runs, ended), (1, Some(Fault::Permanent)));
    }

    // Work that asks its own pool for a second connection waited for itself.
    fn case_faults_29_a_pool_that_has_no_second_connection_is_an_error_in_time(bed) {
        let pool = bed.pool(1);
        let started = std::time::Instant::now();
        let policy = Retry::default().deadline(Duration::from_millis(30));
        let result = retry_on(&pool, &policy, |_| -> Result<(), App> {
            retry_on(&pool, &policy, |tx| -> Result<(), App> {
                tx.touch(Product::at(42, 7))?;
                Ok(())
            })
        });
        assert!(
            matches!(result, Err(App::Occ(Error::Pool(_)))),
            "{result:?}"
        );
        // Generous: the pool's own patience is 30 s.
        assert!(started.elapsed() < Duration::from_secs(10));
    }
}
