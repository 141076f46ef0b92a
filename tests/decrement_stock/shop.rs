//! A database of its own for each test, on each server: what the example is given as `--database-url`.

use crate::process;
use diesel::connection::SimpleConnection;
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::Integer;
use serde_json::Value;
use std::process::Output;
use std::sync::MutexGuard;
#[cfg(any(feature = "postgres", feature = "mysql"))]
use std::sync::{Mutex, PoisonError};
use tempfile::TempDir;

#[derive(diesel::MultiConnection)]
pub enum Conn {
    Sqlite(SqliteConnection),
    #[cfg(feature = "postgres")]
    Postgres(PgConnection),
    #[cfg(feature = "mysql")]
    Mysql(MysqlConnection),
}

pub struct Shop {
    /// The name in the JSON of a run, and the cargo feature.
    pub backend: &'static str,
    /// What the head of the table says.
    pub server: &'static str,
    pub url: String,
    /// The same database, named in another way where there is one.
    pub other_url: String,
    pub folder: TempDir,
    open: fn(&str) -> Conn,
    /// What the test itself opens.
    place: String,
    /// Where it leaves, and with which statements.
    outside: String,
    last_words: Vec<String>,
    _turn: Option<MutexGuard<'static, ()>>,
}

/// One test at a time on a server, which allows so many connections: a test has nine, and a machine may have many cores.
#[cfg(any(feature = "postgres", feature = "mysql"))]
fn turn() -> Option<MutexGuard<'static, ()>> {
    static TURN: Mutex<()> = Mutex::new(());
    Some(TURN.lock().unwrap_or_else(PoisonError::into_inner))
}

impl Shop {
    pub fn run(&self, arguments: &str) -> Output {
        process::run(self.folder.path(), &self.here(arguments))
    }

    pub fn lines(&self, arguments: &str, ends_with: i32) -> Vec<Value> {
        process::lines(self.folder.path(), &self.here(arguments), ends_with)
    }

    fn here(&self, arguments: &str) -> String {
        format!("{arguments} --database-url {}", self.url)
    }

    pub fn execute(&self, statements: &str) {
        let mut conn = (self.open)(&self.place);
        conn.batch_execute(statements).unwrap();
    }

    pub fn number(&self, query: &str) -> i32 {
        let query = diesel::select(sql::<Integer>(&format!("({query})")));
        query.get_result(&mut (self.open)(&self.place)).unwrap()
    }

    pub fn has_the_table(&self) -> bool {
        let mut conn = (self.open)(&self.place);
        let looked = conn.batch_execute("SELECT 1 FROM decrement_stock_products");
        looked.is_ok()
    }
}

impl Drop for Shop {
    fn drop(&mut self) {
        for statement in &self.last_words {
            let left = (self.open)(&self.outside).batch_execute(statement);
            // A second panic would hide the first.
            assert!(left.is_ok() || std::thread::panicking(), "{left:?}");
        }
    }
}

pub fn sqlite() -> Shop {
    let folder = process::folder();
    let place = folder.path().join("shop.db").to_str().unwrap().to_owned();
    Shop {
        backend: "sqlite",
        server: "SQLite shop.db",
        url: "shop.db".into(),
        other_url: "sqlite://shop.db".into(),
        folder,
        open: |path| Conn::Sqlite(SqliteConnection::establish(path).unwrap()),
        outside: place.clone(),
        place,
        last_words: Vec::new(),
        _turn: None,
    }
}

/// A schema of its own.
#[cfg(feature = "postgres")]
pub fn postgres() -> Shop {
    let turn = turn();
    let (given, name) = (given("OCC_TEST_POSTGRES_URL"), fresh_name());
    let open = |url: &str| Conn::Postgres(PgConnection::establish(url).unwrap());
    let created = open(&given).batch_execute(&format!("CREATE SCHEMA {name}"));
    created.unwrap();
    let separator = if given.contains('?') { '&' } else { '?' };
    let url = format!("{given}{separator}options=-csearch_path%3D{name}");
    let (_, rest) = url.split_once("://").unwrap();
    Shop {
        backend: "postgres",
        server: "PostgreSQL",
        other_url: format!("postgresql://{rest}"),
        folder: process::folder(),
        open,
        place: url.clone(),
        url,
        outside: given,
        last_words: vec![format!("DROP SCHEMA {name} CASCADE")],
        _turn: turn,
    }
}

/// A database of its own.
#[cfg(feature = "mysql")]
pub fn mysql() -> Shop {
    let turn = turn();
    let (given, name) = (given("OCC_TEST_MYSQL_URL"), fresh_name());
    let open = |url: &str| Conn::Mysql(MysqlConnection::establish(url).unwrap());
    let created = open(&given).batch_execute(&format!("CREATE DATABASE {name}"));
    created.unwrap();
    let (place, options) = given.split_once('?').unwrap_or((&given, ""));
    let (scheme, place) = place.split_once("://").unwrap();
    let (host, _) = place.split_once('/').unwrap_or((place, ""));
    let url = format!("{scheme}://{host}/{name}?{options}");
    Shop {
        backend: "mysql",
        server: "MySQL or MariaDB",
        other_url: url.clone(),
        folder: process::folder(),
        open,
        place: url.clone(),
        url,
        outside: given,
        last_words: vec![format!("DROP DATABASE {name}")],
        _turn: turn,
    }
}

/// A login of this database alone, and the URL with it. The password has to be written as in a URL.
#[cfg(feature = "postgres")]
pub fn postgres_with_login(password: &str, written: &str) -> (Shop, String) {
    let mut shop = postgres();
    let user = fresh_name();
    shop.last_words.push(format!("DROP ROLE {user}"));
    shop.execute(&format!(
        "CREATE ROLE {user} LOGIN PASSWORD '{password}'; \
         DO $$ BEGIN EXECUTE format('GRANT ALL ON SCHEMA %I TO {user}', current_schema()); END $$"
    ));
    let url = with_login(&shop.url, &user, written);
    (shop, url)
}

#[cfg(feature = "mysql")]
pub fn mysql_with_login(password: &str, written: &str) -> (Shop, String) {
    let mut shop = mysql();
    let user = fresh_name();
    // Where there is a nameless user of localhost, it would be taken before the one of any host.
    for host in ["%", "localhost"] {
        shop.last_words.push(format!("DROP USER {user}@'{host}'"));
        shop.execute(&format!(
            "CREATE USER {user}@'{host}' IDENTIFIED BY '{password}'; GRANT ALL ON *.* TO {user}@'{host}'"
        ));
    }
    let url = with_login(&shop.url, &user, written);
    (shop, url)
}

#[cfg(any(feature = "postgres", feature = "mysql"))]
fn with_login(url: &str, user: &str, password: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap();
    let (_, place) = rest.split_once('@').unwrap_or(("", rest));
    format!("{scheme}://{user}:{password}@{place}")
}

#[cfg(any(feature = "postgres", feature = "mysql"))]
fn given(variable: &str) -> String {
    std::env::var(variable).unwrap_or_else(|_| {
        panic!("{variable} is not set: run `tests/run`, or `tests/with-servers cargo test ..`")
    })
}

/// No other test has it, in this process or in another.
#[cfg(any(feature = "postgres", feature = "mysql"))]
fn fresh_name() -> String {
    use std::sync::atomic::{AtomicU32, Ordering};
    static LAST: AtomicU32 = AtomicU32::new(0);
    let number = LAST.fetch_add(1, Ordering::Relaxed);
    format!("occ_example_{}_{number}", std::process::id())
}

/// Makes a test of each function for every server, in a module of the server's name.
macro_rules! on_every_server {
    ($($name:ident)+) => {
        $crate::shop::on_every_server!(@ sqlite $($name)+);
        #[cfg(feature = "postgres")]
        $crate::shop::on_every_server!(@ postgres $($name)+);
        #[cfg(feature = "mysql")]
        $crate::shop::on_every_server!(@ mysql $($name)+);
    };
    (@ $server:ident $($name:ident)+) => {
        mod $server {
            $(
                #[test]
                fn $name() {
                    super::$name(&$crate::shop::$server());
                }
            )+
        }
    };
}
pub(crate) use on_every_server;
