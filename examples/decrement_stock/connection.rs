//! The connection of a worker: one type for every server that is compiled in, so that nobody else asks which one it is.

use crate::failure::{Failure, chain};
use crate::server_url::{shown, without_password};
use diesel::prelude::*;
use diesel_occ::sqlite::Setup;

#[derive(diesel::MultiConnection)]
pub enum AnyConnection {
    Sqlite(SqliteConnection),
    #[cfg(feature = "postgres")]
    Postgres(PgConnection),
    #[cfg(feature = "mysql")]
    Mysql(MysqlConnection),
}

diesel_occ::impl_multi_connection!(AnyConnection {
    Sqlite,
    #[cfg(feature = "postgres")]
    Postgres,
    #[cfg(feature = "mysql")]
    Mysql,
});

/// Connects, and changes nothing. The URL is the path of a file, or has the scheme of a server that is compiled in.
pub fn connect(url: &str) -> Result<AnyConnection, String> {
    let connected = match url.split_once("://") {
        #[cfg(feature = "postgres")]
        Some(("postgres" | "postgresql", _)) => {
            PgConnection::establish(url).map(AnyConnection::Postgres)
        }
        #[cfg(feature = "mysql")]
        Some(("mysql", _)) => MysqlConnection::establish(url).map(AnyConnection::Mysql),
        _ => SqliteConnection::establish(url).map(AnyConnection::Sqlite),
    };
    connected.map_err(|error| {
        let error = without_password(url, &chain(&error));
        format!("{}: {}", shown(url), error.trim_end())
    })
}

/// What every connection needs before it works. SQLite forgets all but the journal.
pub fn set_up(conn: &mut AnyConnection) -> Result<(), Failure> {
    match conn {
        AnyConnection::Sqlite(conn) => Setup::default()
            .apply(conn)
            .map_err(|error| Failure::broken("setting up the connection", &error)),
        #[cfg(any(feature = "postgres", feature = "mysql"))]
        _ => Ok(()),
    }
}

/// A connection of a worker.
pub fn open(url: &str) -> Result<AnyConnection, Failure> {
    let mut conn = connect(url).map_err(Failure::Broken)?;
    set_up(&mut conn)?;
    Ok(conn)
}

impl AnyConnection {
    /// The cargo feature of its server.
    pub fn feature(&self) -> &'static str {
        match self {
            AnyConnection::Sqlite(_) => "sqlite",
            #[cfg(feature = "postgres")]
            AnyConnection::Postgres(_) => "postgres",
            #[cfg(feature = "mysql")]
            AnyConnection::Mysql(_) => "mysql",
        }
    }
}
