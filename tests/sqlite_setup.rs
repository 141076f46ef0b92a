//! The set-up of an SQLite connection, by hand and by a pool.
#![cfg(all(feature = "sqlite", feature = "r2d2"))]

mod support;

use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel_occ::Error;
use diesel_occ::prelude::*;
use diesel_occ::sqlite::{Journal, Setup, Synchronous};
use std::sync::{Arc, Barrier};
use std::time::Duration;

#[derive(QueryableByName, PartialEq, Debug)]
struct Settings {
    #[diesel(sql_type = diesel::sql_types::Integer)]
    timeout: i32,
    #[diesel(sql_type = diesel::sql_types::Text)]
    journal_mode: String,
    #[diesel(sql_type = diesel::sql_types::Integer)]
    synchronous: i32,
    #[diesel(sql_type = diesel::sql_types::Integer)]
    foreign_keys: i32,
}

fn settings(conn: &mut SqliteConnection) -> (i32, String, i32, i32) {
    let sql = "SELECT timeout, journal_mode, synchronous, foreign_keys \
               FROM pragma_busy_timeout, pragma_journal_mode, pragma_synchronous, pragma_foreign_keys";
    let Settings {
        timeout,
        journal_mode,
        synchronous,
        foreign_keys,
    } = diesel::sql_query(sql).get_result(conn).unwrap();
    (timeout, journal_mode, synchronous, foreign_keys)
}

fn file() -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let url = folder.path().join("setup.db").to_str().unwrap().to_owned();
    (folder, url)
}

#[test]
fn row_r1_the_default_setup_is_wal_full_with_foreign_keys_and_five_seconds() {
    let (_folder, url) = file();
    let conn = &mut SqliteConnection::establish(&url).unwrap();
    Setup::default().apply(conn).unwrap();
    assert_eq!(settings(conn), (5_000, "wal".into(), 2, 1));
    let other = Setup::default()
        .busy_timeout(Duration::from_millis(7))
        .journal(Journal::Delete)
        .synchronous(Synchronous::Normal)
        .foreign_keys(false);
    other.apply(conn).unwrap();
    assert_eq!(settings(conn), (7, "delete".into(), 1, 0));
    Setup::default()
        .busy_timeout(Duration::MAX)
        .apply(conn)
        .unwrap();
    assert_eq!(settings(conn).0, i32::MAX);
}

#[test]
fn row_r1_a_pool_sets_up_every_connection() {
    let (_folder, url) = file();
    let pool = <SqliteConnection as support::TestServer>::pool(&url, 3);
    let mut conns = [
        pool.get().unwrap(),
        pool.get().unwrap(),
        pool.get().unwrap(),
    ];
    for conn in &mut conns {
        assert_eq!(settings(conn), (5_000, "wal".into(), 2, 1));
    }
}

#[test]
fn row_r1_a_database_in_memory_takes_the_rest() {
    let conn = &mut SqliteConnection::establish(":memory:").unwrap();
    Setup::default().apply(conn).unwrap();
    assert_eq!(settings(conn), (5_000, "memory".into(), 2, 1));
}

#[test]
fn bad_input_a_setup_inside_a_transaction_is_refused() {
    let conn = &mut SqliteConnection::establish(":memory:").unwrap();
    let result: Result<(), Error> = conn.transaction(|conn| Setup::default().apply(conn));
    assert!(
        matches!(
            result,
            Err(Error::Database(diesel::result::Error::AlreadyInTransaction))
        ),
        "{result:?}"
    );
}

/// The journal changes once; who comes at the same time waits for it, although SQLite does not ask the busy handler there.
#[test]
fn row_r1_many_connections_set_up_a_new_file_at_once() {
    for _ in 0..10 {
        let (_folder, url) = file();
        let start = Arc::new(Barrier::new(8));
        let workers: Vec<_> = (0..8)
            .map(|_| {
                let (url, start) = (url.clone(), start.clone());
                std::thread::spawn(move || {
                    let mut conn = SqliteConnection::establish(&url).unwrap();
                    start.wait();
                    Setup::default().apply(&mut conn).unwrap();
                    settings(&mut conn)
                })
            })
            .collect();
        for worker in workers {
            assert_eq!(worker.join().unwrap().1, "wal");
        }
    }
}

#[test]
fn row_r1_a_file_that_stays_busy_is_an_error_after_the_timeout() {
    let (_folder, url) = file();
    let blocker = &mut SqliteConnection::establish(&url).unwrap();
    blocker
        .batch_execute("CREATE TABLE t (x); BEGIN EXCLUSIVE")
        .unwrap();
    let conn = &mut SqliteConnection::establish(&url).unwrap();
    let error = Setup::default()
        .busy_timeout(Duration::from_millis(30))
        .apply(conn)
        .unwrap_err();
    assert_eq!(diesel_occ::Fault::of(&error), diesel_occ::Fault::Busy);
    blocker.batch_execute("COMMIT").unwrap();
    Setup::default().apply(conn).unwrap();
    conn.transact(&Retry::never(), |tx| -> diesel_occ::Result<()> {
        Ok(tx.batch_execute("INSERT INTO t VALUES (1)")?)
    })
    .unwrap();
}

#[test]
fn row_r1_what_the_connection_was_set_to_last_holds_after_begin() {
    let bed = support::sqlite_bare();
    let conn = &mut bed.connect();
    for milliseconds in [5_000, 1_234, 0, 77] {
        conn.batch_execute(&format!("PRAGMA busy_timeout = {milliseconds}"))
            .unwrap();
        for _ in 0..2 {
            conn.transact(&Retry::never(), |tx| {
                tx.unchecked_touch(support::Product::key(42))
            })
            .unwrap();
            conn.modify(42, Mode::pessimistic(), |_: &mut support::Product| ())
                .unwrap();
            let timeout = diesel::dsl::sql::<diesel::sql_types::Integer>("timeout");
            let set = diesel::select(timeout.sql(" FROM pragma_busy_timeout"));
            assert_eq!(set.get_result::<i32>(conn), Ok(milliseconds));
        }
    }
}
