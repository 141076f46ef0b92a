//! The servers: where they are, what they are set to, and the table.

use crate::product::CREATE;
use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::sql_types::Text;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Server {
    Postgres,
    Mysql,
}

pub const ROWS: i64 = 100;
pub const NAME: &str = "Darjeeling, first flush, 250 g";
pub const STOCK: i32 = 2_000_000_000;

/// A place for the table on a server.
pub struct Place {
    pub server: Server,
    pub url: String,
}

impl Server {
    pub const ALL: [Server; 2] = [Server::Postgres, Server::Mysql];

    pub fn name(self) -> &'static str {
        match self {
            Server::Postgres => "postgres",
            Server::Mysql => "mysql",
        }
    }

    pub fn variable(self) -> &'static str {
        match self {
            Server::Postgres => "OCC_TEST_POSTGRES_URL",
            Server::Mysql => "OCC_TEST_MYSQL_URL",
        }
    }

    /// An empty place of this run's own; `None` where the server is not said.
    pub fn place(self) -> Option<Place> {
        let server = std::env::var(self.variable()).ok()?;
        let name = format!("occ_bench_{}", std::process::id());
        let url = match self {
            Server::Postgres => {
                let mut conn = PgConnection::establish(&server).expect("PostgreSQL");
                let made = conn.batch_execute(&format!("CREATE SCHEMA {name}"));
                made.expect("a schema");
                format!("{server}?options=-csearch_path%3D{name}")
            }
            Server::Mysql => {
                let mut conn = MysqlConnection::establish(&server).expect("MariaDB");
                let made = conn.batch_execute(&format!("CREATE DATABASE {name}"));
                made.expect("a database");
                let (host, _) = server.rsplit_once('/').expect("a slash");
                format!("{host}/{name}")
            }
        };
        Some(Place { server: self, url })
    }
}

#[derive(QueryableByName)]
struct Setting {
    #[diesel(sql_type = Text)]
    value: String,
}

impl Place {
    /// Version, and whether a commit is on the disk when it is answered.
    pub fn settings(&self) -> (String, bool) {
        match self.server {
            Server::Postgres => {
                let asked = "SELECT concat_ws(' ', current_setting('server_version'), 'fsync', current_setting('fsync'),
                    'synchronous_commit', current_setting('synchronous_commit')) AS value";
                let mut conn = PgConnection::establish(&self.url).expect("PostgreSQL");
                let set: Setting = diesel::sql_query(asked)
                    .get_result(&mut conn)
                    .expect("settings");
                let durable = set.value.ends_with("fsync on synchronous_commit on");
                (format!("PostgreSQL {}", set.value), durable)
            }
            Server::Mysql => {
                let asked = "SELECT CONCAT_WS(' ', VERSION(), 'innodb_flush_log_at_trx_commit',
                    @@innodb_flush_log_at_trx_commit) AS value";
                let mut conn = MysqlConnection::establish(&self.url).expect("MariaDB");
                let set: Setting = diesel::sql_query(asked)
                    .get_result(&mut conn)
                    .expect("settings");
                let durable = set.value.ends_with(" 1");
                (set.value, durable)
            }
        }
    }

    /// The table anew, with these many rows of this stock.
    pub fn fill(&self, rows: i64, stock: i32) {
        let values: Vec<String> = (1..=rows)
            .map(|id| format!("({id}, '{NAME}', {stock}, 0)"))
            .collect();
        self.batch(&format!(
            "DROP TABLE IF EXISTS products; {CREATE}; INSERT INTO products (id, name, stock, version) VALUES {}",
            values.join(", ")
        ));
    }

    pub fn batch(&self, sql: &str) {
        let done = match self.server {
            Server::Postgres => {
                PgConnection::establish(&self.url).map(|mut conn| conn.batch_execute(sql))
            }
            Server::Mysql => {
                MysqlConnection::establish(&self.url).map(|mut conn| conn.batch_execute(sql))
            }
        };
        done.expect("a connection").expect("SQL");
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let name = format!("occ_bench_{}", std::process::id());
        match self.server {
            Server::Postgres => self.batch(&format!(
                "SET client_min_messages = error; DROP SCHEMA {name} CASCADE"
            )),
            Server::Mysql => self.batch(&format!("DROP DATABASE {name}")),
        }
    }
}
