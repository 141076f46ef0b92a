//! How a transaction of MySQL or MariaDB can end without being told to, and what it must not leave behind.
#![cfg(all(feature = "mysql", feature = "sqlite", feature = "r2d2"))]

mod support;

use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::sql_types::Integer;
use diesel_occ::prelude::*;
use diesel_occ::{Error, Fault, IsolationLevel, TxOptions, Warning};
use std::sync::{Arc, Barrier, Mutex};
use support::*;

/// Refused by the server inside a transaction.
fn assert_none_is_open(conn: &mut impl SimpleConnection) {
    conn.batch_execute("SET TRANSACTION READ WRITE").unwrap();
}

/// A COMMIT in a query node of the user's.
#[derive(diesel::query_builder::QueryId)]
struct Hidden;

impl<DB: diesel::backend::Backend> diesel::query_builder::QueryFragment<DB> for Hidden {
    fn walk_ast<'b>(
        &'b self,
        mut out: diesel::query_builder::AstPass<'_, 'b, DB>,
    ) -> QueryResult<()> {
        out.push_sql("COMMIT");
        Ok(())
    }
}

impl<C> RunQueryDsl<C> for Hidden {}

on_every_connection! {
    of mysql;

    // By completion_type every COMMIT and ROLLBACK begins a new transaction, or ends the connection.
    fn row_r5_no_transaction_is_chained_behind_ours_and_none_ends_the_connection(bed) {
        for setting in ["CHAIN", "RELEASE", "NO_CHAIN"] {
            let conn = &mut bed.connect();
            let version = conn.fetch::<Product>(42).unwrap().version;
            conn.batch_execute(&format!("SET completion_type = '{setting}'")).unwrap();
            conn.transact(&Retry::never(), |tx| tx.touch(Product::at(42, version))).unwrap();
            assert_none_is_open(conn);
            conn.transact(&Retry::never(), |tx| -> Result<(), App> { tx.touch(Product::at(42, version + 1))?; Err(App::OutOfStock) }).unwrap_err();
            assert_none_is_open(conn);
            conn.touch(Product::at(42, version + 1)).unwrap();
            assert_eq!(bed.connect().fetch::<Product>(42).unwrap().version, version + 2, "{setting}");
        }
    }

    // A transaction of the user's own that Diesel does not know of: its isolation cannot be set any more.
    fn row_r5_a_begin_that_fails_half_way_leaves_no_transaction_open(bed) {
        let conn = &mut bed.connect();
        conn.batch_execute("START TRANSACTION; SELECT 1").unwrap();
        let options = TxOptions::default().isolation(IsolationLevel::Serializable);
        let refused = conn.transact(&options, |tx| tx.touch(Product::at(42, 7)));
        assert!(matches!(refused, Err(Error::Database(_))), "{refused:?}");
        assert_none_is_open(conn);
        conn.touch(Product::at(42, 7)).unwrap();
        assert_eq!(bed.connect().fetch::<Product>(42).unwrap().version, 8);
    }

    fn row_r5_whatever_commits_is_noticed_before_the_next_statement(bed) {
        let conn = &mut bed.connect();
        for (number, end) in [
            "CREATE\nTABLE one (id INT)", "ALTER/**/TABLE docs ADD extra INT", "TRUNCATE\nloose",
            "LOCK  TABLES products WRITE", "EXECUTE IMMEDIATE CONCAT('COM', 'MIT')", "/*! COMMIT */",
        ].into_iter().enumerate() {
            let before = conn.fetch::<Product>(43).unwrap().version;
            let mut refused = None;
            let result = conn.transact(&Retry::default(), |tx| -> Result<(), App> {
                tx.batch_execute(end)?;
                refused = tx.touch(Product::at(43, before)).err();
                Ok(())
            });
            assert!(matches!(refused, Some(Error::TransactionEnded(_))), "{number} {end}: {refused:?}");
            assert!(matches!(&result, Err(App::Occ(Error::TransactionEnded(_)))), "{end}: {result:?}");
            assert_none_is_open(conn);
            assert_eq!(conn.fetch::<Product>(43).unwrap().version, before, "{end}");
        }
    }

    fn row_r5_a_commit_in_a_query_of_the_users_own_is_noticed(bed) {
        let conn = &mut bed.connect();
        for hidden in [false, true] {
            let result = conn.transact(&Retry::default(), |tx| -> Result<(), App> {
                match hidden {
                    true => Hidden.execute(tx)?,
                    false => diesel::dsl::sql::<Integer>("COMMIT").execute(tx)?,
                };
                assert!(matches!(tx.touch(Product::at(43, 1)), Err(Error::TransactionEnded(_))));
                Ok(())
            });
            assert!(matches!(&result, Err(App::Occ(Error::TransactionEnded(_)))), "{result:?}");
        }
        assert_eq!(conn.fetch::<Product>(43).unwrap().version, 1);
    }

    fn row_r5_locks_of_tables_do_not_outlive_the_transaction_that_they_ended(bed) {
        let (conn, other) = (&mut bed.connect(), &mut bed.connect());
        let result = conn.transact(&Retry::never(), |tx| -> Result<(), App> { Ok(tx.batch_execute("LOCK TABLES products WRITE")?) });
        assert!(matches!(&result, Err(App::Occ(Error::TransactionEnded(_)))), "{result:?}");
        other.batch_execute("SET lock_wait_timeout = 1").unwrap();
        other.touch(Product::at(42, 7)).unwrap();
    }

    // Diesel's own transaction around ours does not learn of it, and would report a success.
    fn row_r5_a_deadlock_inside_a_transaction_of_diesels_is_no_success_of_that_one(bed) {
        for propagates in [false, true] {
            let (mut conn, mut other) = (bed.connect(), bed.connect());
            let before = conn.fetch::<Product>(42).unwrap().version;
            let (both_hold, their_both_hold) = { let barrier = Arc::new(Barrier::new(2)); (barrier.clone(), barrier) };
            let their = std::thread::spawn(move || {
                other.batch_execute("START TRANSACTION; UPDATE loose SET note = concat(note, '!'); UPDATE products SET updated_at = 'theirs' WHERE id = 43").unwrap();
                their_both_hold.wait();
                other.batch_execute("UPDATE products SET updated_at = 'theirs' WHERE id = 42; COMMIT").unwrap();
            });
            let result: Result<(), App> = conn.transaction(|conn| {
                conn.touch(Product::at(42, before))?;
                both_hold.wait();
                let inner = conn.transact(&Retry::default(), |tx| tx.unchecked_touch(Product::key(43)));
                assert!(matches!(&inner, Err(error) if Fault::of(error) == Fault::Deadlock), "{inner:?}");
                // Not in autocommit.
                assert!(conn.touch(Doc::at(2, Some(5))).is_err());
                if propagates { Ok(inner?) } else { Ok(()) }
            });
            their.join().unwrap();
            assert!(result.is_err(), "{propagates}: {result:?}");
            assert!(broken(&mut conn), "no pool takes it back");
            let mut other = bed.connect();
            assert_eq!((other.fetch::<Product>(42).unwrap().version, other.fetch::<Doc>(2).unwrap().v), (before, Some(5)));
        }
    }

    fn row_r5_an_interrupted_statement_that_was_swallowed_is_not_committed_without_it(bed) {
        let (conn, other) = (&mut bed.connect(), &mut bed.connect());
        other.batch_execute("START TRANSACTION; UPDATE products SET stock = stock WHERE id = 42").unwrap();
        conn.batch_execute("SET max_statement_time = 0.05").unwrap();
        let result = conn.transact(&Retry::default(), |tx| -> Result<(), App> {
            tx.touch(Product::at(43, 1))?;
            assert!(tx.touch(Product::at(42, 7)).is_err());
            Ok(())
        });
        other.batch_execute("ROLLBACK").unwrap();
        assert!(matches!(&result, Err(App::Occ(Error::Poisoned(facts))) if facts.fault == Fault::Permanent), "{result:?}");
        assert_eq!(conn.fetch::<Product>(43).unwrap().version, 1);
        // A write in autocommit that was interrupted is not carried out, and says so.
        other.batch_execute("START TRANSACTION; UPDATE products SET stock = stock WHERE id = 42").unwrap();
        let alone = conn.touch(Product::at(42, 7)).unwrap_err();
        other.batch_execute("ROLLBACK").unwrap();
        assert!(matches!(alone, Error::Database(_)), "{alone:?}");
    }

    fn row_r1_a_table_that_was_changed_since_the_snapshot_makes_the_closure_run_again(bed) {
        let (conn, other) = (&mut bed.connect(), &mut bed.connect());
        let mut runs = 0;
        conn.transact(&Retry::default().timer(FakeTimer::new(0.0)), |tx| -> Result<(), App> {
            runs += 1;
            tx.fetch::<Product>(42)?;
            if runs == 1 {
                other.batch_execute("ALTER TABLE docs ADD COLUMN extra INT, ALGORITHM = COPY")?;
            }
            tx.fetch::<Doc>(2)?;
            Ok(())
        }).unwrap();
        assert_eq!(runs, 2);
    }

    fn row_o4_what_a_trigger_signals_is_in_no_debug(bed) {
        let conn = &mut bed.connect();
        conn.batch_execute("CREATE TRIGGER low BEFORE UPDATE ON products FOR EACH ROW BEGIN
            DECLARE m TEXT DEFAULT CONCAT('not enough of ', OLD.name);
            SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = 3819, MESSAGE_TEXT = m; END").unwrap();
        let error = conn.touch(Product::at(42, 7)).unwrap_err();
        assert!(!format!("{error:?} {error}").contains("secret"), "{error:?}");
        let result = conn.transact(&Retry::never(), |tx| tx.touch(Product::at(42, 7))).unwrap_err();
        assert!(!format!("{result:?} {result}").contains("secret"), "{result:?}");
    }

    fn row_r1_the_self_test_warns_of_a_session_without_autocommit(bed) {
        let conn = &mut bed.connect();
        conn.batch_execute("SET autocommit = 0").unwrap();
        let checkup = diesel_occ::check(conn).unwrap();
        assert!(checkup.warnings.contains(&Warning::NoAutocommit), "{checkup}");
        conn.batch_execute("ROLLBACK; SET autocommit = 1").unwrap();
    }

    // In front of the failure there are warnings, and the language is known to no table.
    fn row_r1_the_number_of_a_failure_is_found_behind_warnings(bed) {
        let (conn, other) = (&mut bed.connect(), Arc::new(Mutex::new(bed.connect())));
        conn.batch_execute("SET lc_messages = 'de_DE', innodb_lock_wait_timeout = 0, sql_mode = ''").unwrap();
        other.lock().unwrap().batch_execute("START TRANSACTION; UPDATE products SET stock = stock WHERE id = 42").unwrap();
        let leaves = other.clone();
        let timer = FakeTimer::new(0.0).on_sleep(move || leaves.lock().unwrap().batch_execute("ROLLBACK").unwrap());
        let mut runs = 0;
        conn.transact(&Retry::default().timer(timer), |tx| -> Result<(), App> {
            runs += 1;
            tx.batch_execute("UPDATE products SET stock = '12 and more' WHERE id IN (42, 43) ORDER BY id DESC")?;
            Ok(())
        }).unwrap();
        assert_eq!(runs, 2);
        // What was not the server's failure has no number, whatever the server said before.
        conn.batch_execute("SELECT nonsense").unwrap_err();
        assert_eq!(Driver::number_of(conn, "something else").unwrap(), None);
    }

    fn row_r1_a_lock_timeout_of_a_locking_read_is_asked_about_before_anything_else(bed) {
        let (conn, other) = (&mut bed.connect(), Arc::new(Mutex::new(bed.connect())));
        conn.batch_execute("SET lc_messages = 'de_DE', innodb_lock_wait_timeout = 0").unwrap();
        other.lock().unwrap().batch_execute("START TRANSACTION; UPDATE products SET stock = stock WHERE id = 42").unwrap();
        let leaves = other.clone();
        let timer = FakeTimer::new(0.0).on_sleep(move || leaves.lock().unwrap().batch_execute("ROLLBACK").unwrap());
        let mut runs = 0;
        conn.transact(&Retry::default().timer(timer), |tx| -> Result<(), App> {
            runs += 1;
            let locked = diesel::dsl::sql::<Integer>("SELECT stock FROM products WHERE id = 42 FOR UPDATE");
            assert_eq!(locked.load::<i32>(tx).is_err(), runs == 1);
            Ok(())
        }).unwrap();
        assert_eq!(runs, 2);
    }

    // The server closes the connection behind a failure that no table has.
    fn row_r7_a_connection_that_does_not_answer_any_more_is_marked_as_broken(bed) {
        let conn = &mut bed.connect();
        let too_long = "x".repeat(20 << 20);
        let failed = conn.versioned_update(Product::at(42, 7), products::name.eq(too_long.as_str()));
        assert!(failed.is_err());
        assert!(broken(conn), "{failed:?}");
        assert_eq!(bed.connect().fetch::<Product>(42).unwrap().version, 7);
    }
}
