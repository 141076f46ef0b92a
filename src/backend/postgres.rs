//! PostgreSQL.

use super::{Dialect, Driver, Returning, Server};
use crate::fault;
use diesel::pg::{Pg, PgConnection, PgQueryBuilder};

static POSTGRES: Server = Server {
    name: "PostgreSQL",
    quote: "\"",
    begin: "BEGIN; SAVEPOINT occ_guard",
    begins_only_outside: None,
    nothing_to_roll_back: None,
    commit_can_be_tried_again: false,
    counts_its_own_rows: true,
    faults: fault::postgres::TABLE,
};

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
