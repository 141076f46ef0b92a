//! A COMMIT whose answer says that the storage failed: nobody knows what is stored, and nobody tries again.
#![cfg(all(feature = "sqlite", unix))]

use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel_occ::prelude::*;
use diesel_occ::sqlite::Setup;
use diesel_occ::{Error, Fault};
use std::process::Command;

diesel::table! { notes (id) { id -> Integer, body -> Binary, version -> Integer, } }

#[derive(Debug, Clone, Queryable, Versioned)]
#[diesel(table_name = notes)]
struct Note {
    id: i32,
    body: Vec<u8>,
    version: i32,
}

/// Names the database in the process that works under the limit.
const LIMITED: &str = "OCC_LIMITED_DATABASE";

/// SQLite writes the log of a WAL database at COMMIT. Where the kernel lets no file grow any more, that is a real
/// "disk I/O error", and the limit is the process's own: so the work is done by this test in a process of its own.
#[test]
fn row_r6_a_commit_that_the_storage_fails_is_outcome_unknown_and_never_retried() {
    if let Ok(file) = std::env::var(LIMITED) {
        return commit_under_a_file_size_limit(&file);
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("limited.db");
    let mut conn = SqliteConnection::establish(file.to_str().unwrap()).unwrap();
    Setup::default().apply(&mut conn).unwrap();
    conn.batch_execute(
        "CREATE TABLE notes (id INTEGER PRIMARY KEY, body BLOB NOT NULL, version INTEGER NOT NULL);
         INSERT INTO notes VALUES (1, x'00', 1)",
    )
    .unwrap();
    // `ulimit -f` counts blocks of 512 bytes in sh. The signal that comes with the limit is ignored, so that the write fails.
    let child = Command::new("sh")
        .arg("-c")
        .arg(r#"trap '' XFSZ; ulimit -f 400; exec "$@""#)
        .arg("sh")
        .arg(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "row_r6_a_commit_that_the_storage_fails_is_outcome_unknown_and_never_retried",
            "--nocapture",
        ])
        .env(LIMITED, &file)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&child.stdout).into_owned()
        + &String::from_utf8_lossy(&child.stderr);
    assert!(child.status.success(), "{said}");
    assert!(said.contains("runs 1 outcome unknown"), "{said}");
    // The connection that saw it was usable afterwards, and wrote this.
    assert_eq!(conn.fetch::<Note>(1).unwrap().body, b"after");
}

fn commit_under_a_file_size_limit(file: &str) {
    let mut conn = SqliteConnection::establish(file).unwrap();
    Setup::default().apply(&mut conn).unwrap();
    let mut runs = 0;
    let result = conn.transact(&Retry::default(), |tx| -> diesel_occ::Result<()> {
        runs += 1;
        tx.versioned_update(Note::at(1, 1), notes::body.eq(vec![7; 500_000]))?;
        Ok(())
    });
    match result {
        Err(Error::OutcomeUnknown(facts)) if facts.fault == Fault::Storage => {
            println!("runs {runs} outcome unknown")
        }
        other => panic!("runs {runs} {other:?}"),
    }
    let note = conn.fetch::<Note>(1).unwrap();
    conn.versioned_update(&note, notes::body.eq(b"after".to_vec()))
        .unwrap();
}
