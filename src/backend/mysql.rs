//! MySQL and MariaDB.

use super::{Dialect, Driver, Reread, Server};
use crate::fault;
use diesel::mysql::{Mysql, MysqlConnection, MysqlQueryBuilder};

static MYSQL: Server = Server {
    name: "MySQL or MariaDB",
    quote: "`",
    begin: "START TRANSACTION; SAVEPOINT occ_guard",
    begins_only_outside: None,
    nothing_to_roll_back: None,
    commit_can_be_tried_again: false,
    // MySQL: error 1093.
    counts_its_own_rows: false,
    faults: fault::mysql::TABLE,
};

impl Dialect for Mysql {
    type Fetch = Reread;

    fn server(_: &Mysql) -> &'static Server {
        &MYSQL
    }

    fn query_builder(_: &Mysql) -> MysqlQueryBuilder {
        MysqlQueryBuilder::default()
    }
}

impl Driver for MysqlConnection {
    fn backend(&mut self) -> Mysql {
        Mysql
    }
}
