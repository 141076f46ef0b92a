//! PostgreSQL.

use super::{Begin, Dialect, Driver, Returning, Server};
use crate::fault;
use diesel::pg::{Pg, PgConnection, PgQueryBuilder};
use std::borrow::Cow;

static POSTGRES: Server = Server {
    name: "PostgreSQL",
    quote: "\"",
    begin,
    only_outside: None,
    ending_words: &[],
    nothing_to_roll_back: None,
    commit_can_be_tried_again: false,
    any_error_aborts: true,
    counts_its_own_rows: true,
    // A write in REPEATABLE READ that meets a newer row is refused (40001), so that no read has to explain it.
    current_read: None,
    faults: fault::postgres::TABLE,
};

/// Isolation and access are said in BEGIN itself: behind the guard savepoint the isolation level cannot be set any more.
/// <https://www.postgresql.org/docs/current/sql-begin.html>
fn begin(asked: &Begin) -> Result<Cow<'static, str>, &'static str> {
    const PLAIN: &str = "BEGIN; SAVEPOINT occ_guard";
    if *asked == Begin::default() {
        return Ok(Cow::Borrowed(PLAIN));
    }
    let mut sql = "BEGIN".to_owned();
    if let Some(level) = asked.isolation {
        sql += " ISOLATION LEVEL ";
        sql += level.sql();
    }
    if asked.read_only {
        sql += " READ ONLY";
    }
    if asked.deferrable {
        sql += " DEFERRABLE";
    }
    Ok(Cow::Owned(sql + "; SAVEPOINT occ_guard"))
}

impl Dialect for Pg {
    type Fetch = Returning;

    fn server(_: &Pg) -> &'static Server {
        &POSTGRES
    }

    fn query_builder(_: &Pg) -> PgQueryBuilder {
        PgQueryBuilder::default()
    }
}

impl Driver for PgConnection {
    fn backend(&mut self) -> Pg {
        Pg
    }
}
