//! The databases: SQLite in a temporary folder, and the servers whose addresses are set.

use crate::product::CREATE;
use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::sql_types::BigInt;
use diesel_occ::Driver;
use diesel_occ::sqlite::Setup;
use std::time::Duration;
use tempfile::TempDir;

#[derive(diesel::MultiConnection)]
pub enum Any {
    Sqlite(SqliteConnection),
    Postgres(PgConnection),
    Mysql(MysqlConnection),
}
diesel_occ::impl_multi_connection!(Any {
    Sqlite,
    Postgres,
    Mysql
});

const STOCK: i64 = 2_000_000_000;

/// A database with the table.
pub struct Place {
    url: String,
    name: &'static str,
    _folder: Option<TempDir>,
}

/// A connection, set up as the guide advises.
pub fn open(url: &str) -> Any {
    let mut conn = Any::establish(url).expect("a connection");
    if let Any::Sqlite(conn) = &mut conn {
        // So that `modify` tries by itself, where everybody has a fair chance.
        let setup = Setup::default().busy_timeout(Duration::ZERO);
        setup.apply(conn).expect("settings");
    }
    conn
}

impl Place {
    pub fn all() -> Vec<Place> {
        let folder = tempfile::tempdir().expect("a folder");
        let url = folder.path().join("shop.db");
        let sqlite = Place {
            url: url.to_str().expect("UTF-8").to_owned(),
            name: "sqlite",
            _folder: Some(folder),
        };
        let servers = [
            ("postgres", "OCC_TEST_POSTGRES_URL"),
            ("mysql", "OCC_TEST_MYSQL_URL"),
        ];
        let servers = servers
            .into_iter()
            .filter_map(|(name, variable)| Some(Place::on(name, &std::env::var(variable).ok()?)));
        [sqlite].into_iter().chain(servers).collect()
    }

    fn on(name: &'static str, server: &str) -> Place {
        let made = format!("occ_choice_{}", std::process::id());
        let mut conn = open(server);
        let url = match name {
            "postgres" => {
                let made = conn
                    .batch_execute(&format!("CREATE SCHEMA {made}"))
                    .map(|()| made);
                format!(
                    "{server}?options=-csearch_path%3D{}",
                    made.expect("a schema")
                )
            }
            _ => {
                conn.batch_execute(&format!("CREATE DATABASE {made}"))
                    .expect("a database");
                let (host, _) = server.rsplit_once('/').expect("a slash");
                format!("{host}/{made}")
            }
        };
        Place {
            url,
            name,
            _folder: None,
        }
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    pub fn name(&self) -> &'static str {
        self.name
    }

    pub fn settings(&self) -> String {
        let checkup = diesel_occ::check(&mut open(&self.url)).expect("a checkup");
        format!("{} {}", checkup.server, checkup.version)
    }

    /// The table anew, with so many rows.
    pub fn fill(&self, rows: u32) {
        let mut conn = open(&self.url);
        let values: Vec<String> = (1..=rows)
            .map(|id| format!("({id}, 'tea', {STOCK}, 0)"))
            .collect();
        let values = values.join(", ");
        for sql in [
            "DROP TABLE IF EXISTS products",
            CREATE,
            &format!("INSERT INTO products (id, name, stock, version) VALUES {values}"),
        ] {
            conn.batch_execute(sql).expect("SQL");
        }
    }

    /// What is missing in the stock, and how often a version was moved.
    pub fn sold(&self) -> (i64, i64) {
        let mut conn = open(&self.url);
        let number = match conn.server().name() {
            "MySQL or MariaDB" => "SIGNED",
            _ => "BIGINT",
        };
        let mut ask = |what: &str| -> i64 {
            let sql = format!("(SELECT CAST({what} AS {number}) FROM products)");
            diesel::select(diesel::dsl::sql::<BigInt>(&sql))
                .get_result(&mut conn)
                .expect("the rows")
        };
        (ask(&format!("SUM({STOCK} - stock)")), ask("SUM(version)"))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let made = format!("occ_choice_{}", std::process::id());
        // A schema that stays behind hurts nobody.
        let _ = match self.name {
            "postgres" => open(&self.url).batch_execute(&format!(
                "SET client_min_messages = error; DROP SCHEMA {made} CASCADE"
            )),
            "mysql" => open(&self.url).batch_execute(&format!("DROP DATABASE {made}")),
            _ => Ok(()),
        };
    }
}
