//! The test frame: one real database a test, opened as often as the test likes, on every kind of connection.
#![allow(
    dead_code,
    unused_macros,
    unused_imports,
    reason = "each test file uses its share"
)]

pub mod fake_timer;
pub mod log;
pub mod schema;

pub use fake_timer::FakeTimer;
pub use log::Log;
pub use schema::*;

use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::r2d2::{ConnectionManager, Pool, PooledConnection};
use diesel_occ::prelude::*;
use diesel_occ::sqlite::Setup;
use tempfile::TempDir;

/// A database of its own for one test, and the way to open it.
pub struct Bed<C> {
    connect: Box<dyn Fn() -> C + Send + Sync>,
    url: String,
    _folder: TempDir,
}

impl<C> Bed<C> {
    /// One more connection to the same database.
    pub fn connect(&self) -> C {
        (self.connect)()
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    fn new(open: impl FnOnce(String) -> Box<dyn Fn() -> C + Send + Sync>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let url = folder.path().join("test.db").to_str().unwrap().to_owned();
        sqlite(&url).batch_execute(schema::SQLITE).unwrap();
        Bed {
            connect: open(url.clone()),
            url,
            _folder: folder,
        }
    }
}

pub fn sqlite(url: &str) -> SqliteConnection {
    let mut conn = SqliteConnection::establish(url).unwrap();
    Setup::default().apply(&mut conn).unwrap();
    conn
}

pub fn sqlite_bare() -> Bed<SqliteConnection> {
    Bed::new(|url| Box::new(move || sqlite(&url)))
}

pub fn sqlite_pooled() -> Bed<PooledConnection<ConnectionManager<SqliteConnection>>> {
    Bed::new(|url| {
        let pool = pool(&url, 4);
        Box::new(move || pool.get().unwrap())
    })
}

pub fn pool(url: &str, size: u32) -> Pool<ConnectionManager<SqliteConnection>> {
    Pool::builder()
        .max_size(size)
        .connection_customizer(Box::new(Setup::default()))
        .build(ConnectionManager::new(url))
        .unwrap()
}

#[derive(diesel::MultiConnection)]
pub enum Any {
    Sqlite(SqliteConnection),
}
diesel_occ::impl_multi_connection!(Any { Sqlite });

pub fn sqlite_multi() -> Bed<Any> {
    Bed::new(|url| Box::new(move || Any::Sqlite(sqlite(&url))))
}

/// Writes each test once for every kind of connection: a bare one, a pooled one and a `MultiConnection`. A server that comes
/// later is three more modules here.
#[macro_export]
macro_rules! on_every_connection {
    ($(fn $name:ident($bed:ident) $body:block)+) => {
        $crate::on_every_connection!(@ sqlite_bare { $(fn $name($bed) $body)+ });
        $crate::on_every_connection!(@ sqlite_pooled { $(fn $name($bed) $body)+ });
        $crate::on_every_connection!(@ sqlite_multi { $(fn $name($bed) $body)+ });
    };
    (@ $kind:ident { $(fn $name:ident($bed:ident) $body:block)+ }) => {
        mod $kind {
            #[allow(unused_imports)]
            use super::*;
            $(
                #[test]
                fn $name() {
                    let $bed = &$crate::support::$kind();
                    $body
                }
            )+
        }
    };
}
