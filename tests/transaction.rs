//! A transaction that cannot lie: its guard, what poisons it, savepoints, panics, and every way it can be over too soon.
#![cfg(all(feature = "sqlite", feature = "r2d2"))]

mod support;

use diesel::connection::{Connection, SimpleConnection, TransactionManager};
use diesel::prelude::*;
use diesel_occ::prelude::*;
use diesel_occ::{Error, Fault};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};
use support::*;

/// Neither Diesel nor the database has a transaction open, and the connection works.
fn assert_usable<C>(conn: &mut C)
where
    C: VersionedConnection,
    Product: Record<C::Backend>,
{
    assert_eq!(depth(conn), 0);
    conn.batch_execute("BEGIN; ROLLBACK").unwrap();
    conn.fetch::<Product>(42).unwrap();
}

/// Makes the database full for whatever needs one page more.
fn fill_up(conn: &mut impl SimpleConnection) {
    conn.batch_execute("CREATE TABLE ballast (x BLOB); PRAGMA max_page_count = 1")
        .unwrap();
}

const OVERFLOW: &str = "INSERT INTO ballast VALUES (zeroblob(300000))";

on_every_connection! {
    fn row_r5_an_ok_is_committed_and_an_error_rolled_back(bed) {
        let (conn, other) = (&mut bed.connect(), &mut bed.connect());
        conn.transact(&Retry::never(), |tx| -> Result<(), App> {
            assert_eq!(depth(tx), 1);
            tx.touch(Product::at(42, 7))?;
            Ok(())
        }).unwrap();
        assert_eq!(other.fetch::<Product>(42).unwrap().version, 8);
        let refused = conn.transact(&Retry::default(), |tx| -> Result<(), App> {
            tx.touch(Product::at(42, 8))?;
            Err(App::OutOfStock)
        });
        assert!(matches!(refused, Err(App::OutOfStock)));
        assert_eq!(other.fetch::<Product>(42).unwrap().version, 8);
        assert_usable(conn);
    }

    fn row_r5_a_raw_rollback_or_commit_inside_is_never_reported_as_a_success(bed) {
        let conn = &mut bed.connect();
        for (end, stored) in [("ROLLBACK", false), ("COMMIT", true), ("commit and chain", true), ("ROLLBACK; BEGIN", false)] {
            if end.contains("chain") && conn.server().name() == "SQLite" {
                continue; // no such statement
            }
            let version = conn.fetch::<Product>(42).unwrap().version;
            let mut runs = 0;
            let result = conn.transact(&Retry::default(), |tx| -> Result<(), App> {
                runs += 1;
                tx.touch(Product::at(42, version))?;
                tx.batch_execute(end)?;
                Ok(())
            });
            assert!(matches!(&result, Err(App::Occ(Error::TransactionEnded(_)))), "{end}: {result:?}");
            assert_eq!(runs, 1, "{end}");
            assert_usable(conn);
            assert_eq!(conn.fetch::<Product>(42).unwrap().version, version + i64::from(stored), "{end}");
        }
    }

    fn row_r5_after_a_raw_end_no_further_statement_is_sent(bed) {
        let conn = &mut bed.connect();
        for end in ["ROLLBACK", "COMMIT"] {
            let version = conn.fetch::<Product>(42).unwrap().version;
            let result = conn.transact(&Retry::default(), |tx| -> Result<(), App> {
                tx.batch_execute(end)?;
                let refused = tx.touch(Product::at(42, version)).unwrap_err();
                assert!(matches!(refused, Error::TransactionEnded(_)), "{refused:?}");
                let refused = tx.batch_execute("DELETE FROM products").unwrap_err();
                assert!(matches!(Error::from(refused), Error::TransactionEnded(_)));
                assert!(matches!(tx.conn().err(), Some(Error::TransactionEnded(_))));
                Ok(())
            });
            assert!(matches!(&result, Err(App::Occ(Error::TransactionEnded(_)))), "{end}: {result:?}");
            assert_usable(conn);
            assert_eq!(conn.fetch::<Product>(42).unwrap().version, version, "{end}");
        }
    }

    fn row_r5_work_that_a_raw_commit_may_have_stored_is_not_run_again(bed) {
        let conn = &mut bed.connect();
        for prepared in [false, true] {
            let mut runs = 0;
            let result = conn.transact(&Retry::default(), |tx| -> Result<(), App> {
                runs += 1;
                if prepared {
                    diesel::sql_query("COMMIT").execute(tx)?;
                } else {
                    tx.batch_execute("COMMIT")?;
                }
                tx.touch(Product::at(42, 1))?; // a lost race, or refused
                Ok(())
            });
            assert!(result.is_err());
            assert_eq!(runs, 1, "prepared: {prepared}");
            assert_usable(conn);
        }
    }

    fn row_r5_a_panic_rolls_back_and_the_connection_works(bed) {
        let conn = &mut bed.connect();
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            conn.transact(&Retry::default(), |tx| -> Result<(), App> {
                tx.touch(Product::at(42, 7))?;
                tx.savepoint(|tx| -> Result<(), App> { tx.touch(Product::at(42, 8))?; panic!("in a savepoint") })
            })
        }));
        assert!(panicked.is_err());
        assert_usable(conn);
        assert_eq!(conn.fetch::<Product>(42).unwrap().version, 7);
        // A panic that the closure itself caught takes back the savepoint alone.
        conn.transact(&Retry::default(), |tx| -> Result<(), App> {
            tx.touch(Product::at(42, 7))?;
            let caught = catch_unwind(AssertUnwindSafe(|| {
                tx.savepoint(|tx| -> Result<(), App> { tx.touch(Product::at(42, 8))?; panic!("caught") })
            }));
            assert!(caught.is_err());
            assert_eq!(depth(tx), 1);
            Ok(())
        }).unwrap();
        assert_usable(conn);
        assert_eq!(conn.fetch::<Product>(42).unwrap().version, 8);
    }

    fn row_r5_savepoints_nest_and_take_back_what_was_behind_them(bed) {
        let conn = &mut bed.connect();
        conn.transact(&Retry::never(), |tx| -> Result<(), App> {
            let row = tx.touch(Product::at(42, 7))?;
            let inner: Result<(), App> = tx.savepoint(|tx| {
                assert_eq!(depth(tx), 2);
                let row = tx.touch(&row)?;
                tx.savepoint(|tx| { assert_eq!(depth(tx), 3); tx.touch(&row)?; Ok::<_, App>(()) })?;
                Err(App::OutOfStock)
            });
            assert!(matches!(inner, Err(App::OutOfStock)));
            let nested: Result<(), App> = tx.transaction(|tx| { tx.touch(&row)?; Ok(()) });
            nested?;
            assert_eq!(depth(tx), 1);
            tx.verify(Product::at(42, 9))?;
            Ok(())
        }).unwrap();
        assert_usable(conn);
        assert_eq!(conn.fetch::<Product>(42).unwrap().version, 9);
    }

    fn row_r5_a_savepoint_left_open_is_rolled_back_with_everything(bed) {
        let conn = &mut bed.connect();
        let result = conn.transact(&Retry::never(), |tx| -> Result<(), App> {
            tx.touch(Product::at(42, 7))?;
            begin_and_forget(tx)?;
            Ok(())
        });
        assert!(matches!(&result, Err(App::Occ(Error::Database(diesel::result::Error::AlreadyInTransaction)))), "{result:?}");
        assert_usable(conn);
        assert_eq!(conn.fetch::<Product>(42).unwrap().version, 7);
    }

    fn row_r4_diesel_queries_and_the_connection_itself_work_inside(bed) {
        let conn = &mut bed.connect();
        let log = Log::on(conn);
        conn.transact(&Retry::never(), |tx| -> Result<(), App> {
            let all: Vec<Product> = products::table.select(Product::as_select()).load(tx)?;
            assert_eq!(all.len(), 2);
            diesel::update(products::table.find(42)).set(products::name.eq("n")).execute(tx)?;
            diesel::insert_into(flags::table).values((flags::id.eq(5), flags::version.eq(0))).execute(tx)?;
            tx.conn()?.batch_execute("SELECT 1")?;
            Ok(())
        }).unwrap();
        assert!(log.statements().len() >= 6, "the user's own instrumentation goes on");
    }
}

mod where_a_failed_statement_fails_alone {
    use super::*;

    on_every_connection! {
    of sqlite, of mysql;

    fn row_r5_a_statement_that_failed_alone_leaves_the_rest_to_be_committed(bed) {
        let conn = &mut bed.connect();
        conn.transact(&Retry::never(), |tx| -> Result<(), App> {
            tx.touch(Product::at(42, 7))?;
            assert!(tx.batch_execute("INSERT INTO flags VALUES (1, 1)").is_err());
            assert!(tx.guarded_update(Product::key(43), products::stock.ge(99), products::stock.eq(0)).is_err());
            tx.touch(Product::at(43, 1))?;
            Ok(())
        }).unwrap();
        assert_usable(conn);
        assert_eq!((conn.fetch::<Product>(42).unwrap().version, conn.fetch::<Product>(43).unwrap().version), (8, 2));
    }
    }
}

mod where_a_constraint_can_wait_for_commit {
    use super::*;

    on_every_connection! {
    of sqlite, of postgres;

    fn row_r5_a_commit_that_is_refused_rolls_back_and_says_why(bed) {
        let conn = &mut bed.connect();
        let mut runs = 0;
        let result = conn.transact(&Retry::default(), |tx| -> Result<(), App> {
            runs += 1;
            tx.touch(Product::at(42, 7))?;
            diesel::insert_into(orders::table).values((orders::id.eq(1), orders::product_id.eq(99))).execute(tx)?;
            Ok(())
        });
        let Err(App::Occ(Error::Database(error))) = result else { panic!("{result:?}") };
        assert!(matches!(error, diesel::result::Error::DatabaseError(..)), "{error:?}");
        assert_eq!(runs, 1);
        assert_usable(conn);
        assert_eq!(conn.fetch::<Product>(42).unwrap().version, 7);
        assert_eq!(orders::table.count().get_result::<i64>(conn).unwrap(), 0);
    }
    }
}

mod only_on_sqlite {
    use super::*;

    on_every_connection! {
    of sqlite;

    fn row_r1_begin_with_its_guard_and_release_with_commit_are_one_batch_each(bed) {
        let conn = &mut bed.connect();
        conn.batch_execute("PRAGMA busy_timeout = 0").unwrap();
        conn.transact(&Retry::never(), |tx| tx.touch(Product::at(42, 7))).unwrap();
        let log = Log::on(conn);
        conn.transact(&Retry::never(), |tx| tx.touch(Product::at(42, 8))).unwrap();
        let sent = log.statements();
        let sent: Vec<&str> = sent.iter().map(|sql| sql.split(" SET").next().unwrap()).collect();
        assert_eq!(sent, [
            "PRAGMA busy_timeout -- binds: []",
            "BEGIN IMMEDIATE; SAVEPOINT occ_guard",
            "UPDATE `products`",
            "RELEASE SAVEPOINT occ_guard; COMMIT",
        ]);
        assert_usable(conn);
    }

    fn row_r1_the_write_lock_is_held_from_the_beginning_of_the_closure(bed) {
        let (conn, other) = (&mut bed.connect(), &mut bed.connect());
        other.batch_execute("PRAGMA busy_timeout = 0").unwrap();
        conn.transact(&Retry::never(), |_| -> Result<(), App> {
            let refused = other.touch(Product::at(42, 7)).unwrap_err();
            assert_eq!(Fault::of(&refused), Fault::Busy);
            assert_eq!(other.fetch::<Product>(42)?.version, 7, "readers go on");
            Ok(())
        }).unwrap();
        other.touch(Product::at(42, 7)).unwrap();
    }

    fn row_r1_the_busy_timeout_of_the_connection_is_what_it_was(bed) {
        let (conn, other) = (&mut bed.connect(), &mut bed.connect());
        #[derive(QueryableByName)]
        struct Row { #[diesel(sql_type = diesel::sql_types::Integer)] timeout: i32 }
        let timeout = |conn: &mut _| diesel::sql_query("PRAGMA busy_timeout").get_result::<Row>(conn).unwrap().timeout;
        conn.batch_execute("PRAGMA busy_timeout = 1234").unwrap();
        conn.transact(&Retry::never(), |_| -> Result<(), App> { Ok(()) }).unwrap();
        assert_eq!(timeout(conn), 1234);
        other.batch_execute("BEGIN IMMEDIATE").unwrap();
        let policy = Retry::default().deadline(std::time::Duration::from_millis(20));
        let refused = conn.transact(&policy, |_| -> Result<(), App> { Ok(()) }).unwrap_err();
        assert!(matches!(refused, App::Occ(Error::LockTimeout(_))), "{refused:?}");
        assert_eq!(timeout(conn), 1234);
        other.batch_execute("ROLLBACK").unwrap();
        assert_usable(conn);
    }

    fn row_r5_a_full_disk_that_was_swallowed_poisons_and_nothing_leaks_into_autocommit(bed) {
        let conn = &mut bed.connect();
        fill_up(conn);
        let mut runs = 0;
        let result = conn.transact(&Retry::default(), |tx| -> Result<(), App> {
            runs += 1;
            tx.touch(Product::at(42, 7))?;
            assert!(tx.batch_execute(OVERFLOW).is_err());
            let refused = tx.touch(Product::at(43, 1)).unwrap_err();
            assert!(matches!(&refused, Error::Poisoned(facts) if facts.fault == Fault::Storage), "{refused:?}");
            Ok(())
        });
        assert!(matches!(&result, Err(App::Occ(Error::Poisoned(facts))) if facts.fault == Fault::Storage), "{result:?}");
        assert_eq!(runs, 1);
        assert_usable(conn);
        assert_eq!(conn.fetch::<Product>(42).unwrap().version, 7);
        assert_eq!(conn.fetch::<Product>(43).unwrap().version, 1);
    }

    fn row_r5_a_full_disk_as_the_last_statement_is_no_success(bed) {
        let conn = &mut bed.connect();
        fill_up(conn);
        let result = conn.transact(&Retry::default(), |tx| -> Result<(), App> {
            tx.touch(Product::at(42, 7))?;
            assert!(tx.batch_execute(OVERFLOW).is_err());
            Ok(())
        });
        assert!(matches!(&result, Err(App::Occ(Error::Poisoned(facts))) if facts.fault == Fault::Storage), "{result:?}");
        assert_usable(conn);
        assert_eq!(conn.fetch::<Product>(42).unwrap().version, 7);
    }

    fn row_r5_an_error_that_rolls_back_by_itself_poisons_whatever_its_text(bed) {
        let conn = &mut bed.connect();
        conn.batch_execute("CREATE TRIGGER no BEFORE DELETE ON products BEGIN SELECT RAISE(ROLLBACK, 'Löschen verboten'); END").unwrap();
        let result = conn.transact(&Retry::default(), |tx| -> Result<(), App> {
            tx.touch(Product::at(42, 7))?;
            assert!(tx.versioned_delete(Product::at(43, 1)).is_err());
            assert!(matches!(tx.touch(Product::at(43, 1)), Err(Error::Poisoned(_))));
            let rows = products::table.load::<(i64, String, i32, Option<String>, i64)>(tx);
            assert!(rows.is_err(), "plain Diesel is refused too");
            Ok(())
        });
        assert!(matches!(&result, Err(App::Occ(Error::Poisoned(_)))), "{result:?}");
        let result = conn.transact(&Retry::default(), |tx| -> Result<(), App> {
            tx.touch(Product::at(42, 7))?;
            diesel::sql_query("INSERT OR ROLLBACK INTO flags VALUES (1, 1)").execute(tx).unwrap_err();
            Ok(())
        });
        // The text mentions an end, so what it did is not accounted for.
        assert!(matches!(&result, Err(App::Occ(Error::TransactionEnded(_)))), "{result:?}");
        assert_usable(conn);
        assert_eq!(conn.fetch::<Product>(42).unwrap().version, 7);
    }

    fn row_r5_a_fault_inside_a_savepoint_that_ended_everything_is_the_error_that_is_reported(bed) {
        let conn = &mut bed.connect();
        fill_up(conn);
        let result = conn.transact(&Retry::default(), |tx| -> Result<(), App> {
            tx.touch(Product::at(42, 7))?;
            let inner: Result<(), App> = tx.savepoint(|tx| { tx.batch_execute(OVERFLOW)?; Ok(()) });
            // The original failure, not "no such savepoint".
            assert!(matches!(&inner, Err(App::Diesel(error)) if error.to_string() == "database or disk is full"), "{inner:?}");
            let inner: Result<(), diesel::result::Error> = tx.transaction(|_| Ok(()));
            assert!(inner.is_err());
            Ok(())
        });
        assert!(matches!(&result, Err(App::Occ(Error::Poisoned(facts))) if facts.fault == Fault::Storage), "{result:?}");
        assert_usable(conn);
        assert_eq!(conn.fetch::<Product>(42).unwrap().version, 7);
    }
    }
}

/// What a closure may do by mistake through Diesel's own interface.
fn begin_and_forget<C: Connection>(conn: &mut C) -> diesel::QueryResult<()> {
    C::TransactionManager::begin_transaction(conn)
}

/// A rollback journal, in which a reader keeps COMMIT from the file.
#[test]
fn row_r5_a_commit_that_readers_keep_busy_is_sent_again() {
    let folder = tempfile::tempdir().unwrap();
    let url = folder.path().join("journal.db");
    let open = || SqliteConnection::establish(url.to_str().unwrap()).unwrap();
    let conn = &mut open();
    conn.batch_execute(SQLITE).unwrap();
    let reader = Arc::new(Mutex::new(open()));
    let read = || {
        reader
            .lock()
            .unwrap()
            .batch_execute("BEGIN; SELECT * FROM products")
            .unwrap()
    };
    read();
    let (leaves, mut waits) = (reader.clone(), 0);
    let timer = FakeTimer::new(0.5).on_sleep(move || {
        waits += 1;
        if waits == 3 {
            leaves.lock().unwrap().batch_execute("COMMIT").unwrap();
        }
    });
    let mut runs = 0;
    conn.transact(
        &Retry::default().timer(timer.clone()),
        |tx| -> Result<(), App> {
            runs += 1;
            tx.touch(Product::at(42, 7))?;
            Ok(())
        },
    )
    .unwrap();
    assert_eq!((runs, timer.slept().len()), (1, 3));
    assert_usable(conn);
    assert_eq!(conn.fetch::<Product>(42).unwrap().version, 8);
    // A reader that never leaves: by the deadline everything is rolled back, and that is certain.
    read();
    let result = conn.transact(&Retry::default().timer(FakeTimer::new(0.5)), |tx| {
        tx.touch(Product::at(42, 8))
    });
    assert!(matches!(result, Err(Error::LockTimeout(_))), "{result:?}");
    reader.lock().unwrap().batch_execute("COMMIT").unwrap();
    assert_usable(conn);
    assert_eq!(conn.fetch::<Product>(42).unwrap().version, 8);
}
