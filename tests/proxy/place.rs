//! A database, or a schema, of a test's own.

use crate::support::proxy::Proxy;
use diesel::prelude::*;
use diesel::result::{DatabaseErrorKind, Error};

diesel::table! { accounts (id) { id -> Integer, balance -> Integer, } }

/// Writes each test once for each server. `Conn` is its connection there.
macro_rules! on_both {
    ($(fn $name:ident($place:ident) $body:block)+) => {
        #[cfg(feature = "postgres")]
        on_both!(@ postgres PgConnection $(fn $name($place) $body)+);
        #[cfg(feature = "mysql")]
        on_both!(@ mysql MysqlConnection $(fn $name($place) $body)+);
    };
    (@ $server:ident $conn:ident $(fn $name:ident($place:ident) $body:block)+) => {
        mod $server {
            use super::*;
            type Conn = diesel::$conn;
            $(
                #[test]
                fn $name() {
                    let $place = &Place::<Conn>::new();
                    $body
                }
            )+
        }
    };
}

pub trait Server: Connection {
    const NAME: &str;
    const VARIABLE: &str;
    const KIND: &str;
    const DROP: &str;

    /// The URL of what has this name.
    fn inside(server: &str, name: &str) -> String;
    fn balance(&mut self) -> QueryResult<i32>;
    fn set_balance(&mut self, balance: i32) -> QueryResult<usize>;
}

macro_rules! impl_server {
    ($conn:ident, $name:literal, $variable:literal, $kind:literal, $drop:literal, $inside:expr) => {
        impl Server for $conn {
            const NAME: &str = $name;
            const VARIABLE: &str = $variable;
            const KIND: &str = $kind;
            const DROP: &str = $drop;

            fn inside(server: &str, name: &str) -> String {
                $inside(server, name)
            }

            fn balance(&mut self) -> QueryResult<i32> {
                accounts::table.select(accounts::balance).first(self)
            }

            fn set_balance(&mut self, balance: i32) -> QueryResult<usize> {
                diesel::update(accounts::table)
                    .set(accounts::balance.eq(balance))
                    .execute(self)
            }
        }
    };
}

#[cfg(feature = "postgres")]
impl_server!(
    PgConnection,
    "postgres",
    "OCC_TEST_POSTGRES_URL",
    "SCHEMA",
    "CASCADE",
    |server: &str, name| {
        let and = if server.contains('?') { '&' } else { '?' };
        format!("{server}{and}options=-csearch_path%3D{name}")
    }
);
#[cfg(feature = "mysql")]
impl_server!(
    MysqlConnection,
    "mysql",
    "OCC_TEST_MYSQL_URL",
    "DATABASE",
    "",
    |server: &str, name| {
        let start = server.find("://").unwrap() + 3;
        let end = server[start..]
            .find('/')
            .map_or(server.len(), |at| start + at);
        format!("{}/{name}", &server[..end])
    }
);

pub struct Place<C: Server> {
    server: String,
    name: String,
    pub url: String,
    _conn: std::marker::PhantomData<fn() -> C>,
}

impl<C: Server> Place<C> {
    /// With one account, whose balance is 10.
    pub fn new() -> Self {
        let server = std::env::var(C::VARIABLE).unwrap_or_else(|_| {
            panic!(
                "{} is not set: run this with tests/with-servers cargo test --test proxy",
                C::VARIABLE
            )
        });
        let name = format!("proxy_{:016x}", fastrand::u64(..));
        let place = Place::<C> {
            url: C::inside(&server, &name),
            server,
            name,
            _conn: std::marker::PhantomData,
        };
        place.on_server(&format!("CREATE {} {}", C::KIND, place.name));
        place
            .direct()
            .batch_execute(
                "CREATE TABLE accounts (id INTEGER PRIMARY KEY, balance INTEGER NOT NULL);
                 INSERT INTO accounts VALUES (1, 10)",
            )
            .unwrap();
        place
    }

    /// A connection past the proxy.
    pub fn direct(&self) -> C {
        C::establish(&self.url).unwrap()
    }

    pub fn proxy(&self) -> Proxy {
        Proxy::to(&self.url)
    }

    /// What is stored, seen past the proxy.
    pub fn balance(&self) -> i32 {
        self.direct().balance().unwrap()
    }

    fn on_server(&self, statement: &str) {
        let mut conn = C::establish(&self.server).unwrap();
        conn.batch_execute(statement).unwrap();
    }
}

impl<C: Server> Drop for Place<C> {
    fn drop(&mut self) {
        self.on_server(&format!("DROP {} {} {}", C::KIND, self.name, C::DROP));
    }
}

/// A connection through the proxy, whose own set-up is not in the counts.
pub fn through<C: Connection>(proxy: &Proxy) -> C {
    let mut conn = C::establish(proxy.url()).unwrap();
    // The set-up ends with a message without an answer. When a later one is answered, it has passed.
    conn.batch_execute("SELECT 1").unwrap();
    proxy.forget();
    conn
}

/// The error of a connection that was lost while it waited.
pub fn assert_lost<C: Server>(result: QueryResult<impl std::fmt::Debug>) {
    let Err(Error::DatabaseError(kind, facts)) = &result else {
        panic!("{result:?}");
    };
    let said = facts.message();
    match C::NAME {
        "postgres" => {
            assert!(
                matches!(kind, DatabaseErrorKind::ClosedConnection),
                "{kind:?}"
            );
            assert!(
                said.starts_with("server closed the connection unexpectedly"),
                "{said}"
            );
        }
        // Diesel asks for single statements again after a batch, and reports how that failed.
        _ => {
            assert!(matches!(kind, DatabaseErrorKind::Unknown), "{kind:?}");
            assert!(
                said == "Server has gone away" || said.starts_with("Lost connection to"),
                "{said}"
            );
        }
    }
}
