//! A database of its own for one test: an SQLite file, a schema on PostgreSQL, a database on MySQL or MariaDB.

use super::schema;
use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::r2d2::{ConnectionManager, Pool, PooledConnection, R2D2Connection};
use diesel_occ::prelude::*;
use diesel_occ::sqlite::Setup;
use std::any::Any as Anything;
use std::sync::Mutex;
use tempfile::TempDir;

/// A database for one test, and the way to open it.
pub struct Bed<C> {
    connect: Box<dyn Fn() -> C + Send + Sync>,
    url: String,
    _place: Box<dyn Anything + Send + Sync>,
}

impl<C> Bed<C> {
    /// One more connection to the same database.
    pub fn connect(&self) -> C {
        (self.connect)()
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    fn on<S: TestServer>(open: impl FnOnce(String) -> Box<dyn Fn() -> C + Send + Sync>) -> Self {
        let (url, place) = S::place();
        S::open(&url).batch_execute(S::SCHEMA).unwrap();
        Bed {
            connect: open(url.clone()),
            url,
            _place: place,
        }
    }
}

/// What the frame knows of a server.
pub trait TestServer: Driver + R2D2Connection + Send + 'static {
    const SCHEMA: &'static str;

    /// An empty database, and what removes it when it is dropped.
    fn place() -> (String, Box<dyn Anything + Send + Sync>);

    /// A connection that waits for a lock for some seconds at most, so that a test that blocks itself fails.
    fn open(url: &str) -> Self;

    fn pool(url: &str, size: u32) -> Pool<ConnectionManager<Self>>;
}

impl TestServer for SqliteConnection {
    const SCHEMA: &'static str = schema::SQLITE;

    fn place() -> (String, Box<dyn Anything + Send + Sync>) {
        let folder = tempfile::tempdir().unwrap();
        let url = folder.path().join("test.db").to_str().unwrap().to_owned();
        (url, Box::new(folder))
    }

    fn open(url: &str) -> Self {
        let mut conn = SqliteConnection::establish(url).unwrap();
        Setup::default().apply(&mut conn).unwrap();
        conn
    }

    fn pool(url: &str, size: u32) -> Pool<ConnectionManager<Self>> {
        Pool::builder()
            .max_size(size)
            .connection_customizer(Box::new(Setup::default()))
            .build(ConnectionManager::new(url))
            .unwrap()
    }
}

#[cfg(feature = "postgres")]
impl TestServer for PgConnection {
    const SCHEMA: &'static str = schema::POSTGRES;

    fn place() -> (String, Box<dyn Anything + Send + Sync>) {
        let (server, name) = (server_url("OCC_TEST_POSTGRES_URL"), a_name());
        let mut conn = PgConnection::establish(&server).unwrap();
        conn.batch_execute(&format!("CREATE SCHEMA {name}"))
            .unwrap();
        let join = if server.contains('?') { '&' } else { '?' };
        let url = format!("{server}{join}options=-csearch_path%3D{name}%20-clock_timeout%3D20s");
        let gone = OnDrop(Mutex::new(Some(Box::new(move || {
            conn.batch_execute(&format!(
                "SET client_min_messages = error; DROP SCHEMA {name} CASCADE"
            ))
        }))));
        (url, Box::new(gone))
    }

    fn open(url: &str) -> Self {
        PgConnection::establish(url).unwrap()
    }

    fn pool(url: &str, size: u32) -> Pool<ConnectionManager<Self>> {
        small_pool(url, size)
    }
}

#[cfg(feature = "mysql")]
impl TestServer for MysqlConnection {
    const SCHEMA: &'static str = schema::MYSQL;

    fn place() -> (String, Box<dyn Anything + Send + Sync>) {
        let (server, name) = (server_url("OCC_TEST_MYSQL_URL"), a_name());
        let mut conn = MysqlConnection::establish(&server).unwrap();
        conn.batch_execute(&format!("CREATE DATABASE {name}"))
            .unwrap();
        let (host, _) = server.rsplit_once('/').unwrap();
        let url = format!("{host}/{name}");
        let gone = OnDrop(Mutex::new(Some(Box::new(move || {
            conn.batch_execute(&format!("DROP DATABASE {name}"))
        }))));
        (url, Box::new(gone))
    }

    fn open(url: &str) -> Self {
        let mut conn = MysqlConnection::establish(url).unwrap();
        conn.batch_execute("SET innodb_lock_wait_timeout = 20")
            .unwrap();
        conn
    }

    fn pool(url: &str, size: u32) -> Pool<ConnectionManager<Self>> {
        small_pool(url, size)
    }
}

#[cfg(any(feature = "postgres", feature = "mysql"))]
fn small_pool<C: TestServer>(url: &str, size: u32) -> Pool<ConnectionManager<C>> {
    Pool::builder()
        .max_size(size)
        .build(ConnectionManager::new(url))
        .unwrap()
}

/// Where the server of this run is.
#[cfg(any(feature = "postgres", feature = "mysql"))]
pub fn server_url(variable: &str) -> String {
    std::env::var(variable).unwrap_or_else(|_| {
        panic!("{variable} is not set: run `tests/run`, or `tests/with-servers cargo test ..`")
    })
}

/// The languages that PostgreSQL answers in here: without its translations it takes the setting, and speaks English.
#[cfg(feature = "postgres")]
pub fn languages_of_postgres(all: &[&'static str]) -> Vec<&'static str> {
    let speaks = std::env::var("OCC_TEST_FRENCH").map_or(true, |speaks| speaks == "yes");
    let (english, others): (Vec<_>, Vec<_>) = all
        .iter()
        .partition(|name| ["C", "en_US.UTF-8"].contains(name));
    if !speaks {
        println!("SKIPPED: PostgreSQL has no translations here, so not in {others:?}");
        return english;
    }
    all.to_vec()
}

/// A name that no other test has.
#[cfg(any(feature = "postgres", feature = "mysql"))]
pub fn a_name() -> String {
    use std::hash::{BuildHasher, Hasher};
    let random = std::hash::RandomState::new().build_hasher().finish();
    format!("occ_{}_{random:016x}", std::process::id())
}

/// Removes what a test has made. A connection of the test that is still open may hold a lock, so a failure is no failure of
/// the test.
#[cfg(any(feature = "postgres", feature = "mysql"))]
struct OnDrop(Mutex<Option<Remove>>);

#[cfg(any(feature = "postgres", feature = "mysql"))]
type Remove = Box<dyn FnOnce() -> QueryResult<()> + Send>;

#[cfg(any(feature = "postgres", feature = "mysql"))]
impl Drop for OnDrop {
    fn drop(&mut self) {
        if let Ok(Some(remove)) = self.0.get_mut().map(Option::take) {
            let _ = remove();
        }
    }
}

fn bare<S: TestServer>() -> Bed<S> {
    Bed::on::<S>(|url| Box::new(move || S::open(&url)))
}

fn pooled<S: TestServer>() -> Bed<PooledConnection<ConnectionManager<S>>> {
    Bed::on::<S>(|url| {
        let pool = S::pool(&url, 4);
        Box::new(move || pool.get().unwrap())
    })
}

fn multi<S: TestServer>(variant: fn(S) -> Any) -> Bed<Any> {
    Bed::on::<S>(move |url| Box::new(move || variant(S::open(&url))))
}

/// A `MultiConnection` of the backends that are compiled in.
#[derive(diesel::MultiConnection)]
pub enum Any {
    Sqlite(SqliteConnection),
    #[cfg(feature = "postgres")]
    Pg(PgConnection),
    #[cfg(feature = "mysql")]
    Mysql(MysqlConnection),
}
diesel_occ::impl_multi_connection!(Any {
    Sqlite,
    #[cfg(feature = "postgres")]
    Pg,
    #[cfg(feature = "mysql")]
    Mysql,
});

macro_rules! beds {
    ($($bare:ident $pooled:ident $multi:ident: $connection:ty, $variant:ident;)+) => {$(
        pub fn $bare() -> Bed<$connection> {
            bare()
        }
        pub fn $pooled() -> Bed<PooledConnection<ConnectionManager<$connection>>> {
            pooled::<$connection>()
        }
        pub fn $multi() -> Bed<Any> {
            multi::<$connection>(Any::$variant)
        }
    )+};
}

beds!(sqlite_bare sqlite_pooled sqlite_multi: SqliteConnection, Sqlite;);
#[cfg(feature = "postgres")]
beds!(postgres_bare postgres_pooled postgres_multi: PgConnection, Pg;);
#[cfg(feature = "mysql")]
beds!(mysql_bare mysql_pooled mysql_multi: MysqlConnection, Mysql;);

impl<C: TestServer> Bed<C> {
    /// A pool of so many connections to the same database.
    pub fn pool(&self, size: u32) -> Pool<ConnectionManager<C>> {
        C::pool(&self.url, size)
    }

    /// A connection and a pool of one by another way to the same database.
    pub fn by(&self, url: &str) -> (C, Pool<ConnectionManager<C>>) {
        (C::open(url), C::pool(url, 1))
    }
}

/// A set up connection to an SQLite file.
pub fn sqlite(url: &str) -> SqliteConnection {
    SqliteConnection::open(url)
}
