//! The table of the run: made, recognised, filled anew for each mode, and counted at the end. A database that was there
//! before keeps everything else that is in it.

use crate::failure::Failure;
use crate::workload::Stocked;
use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::sql_types::{Nullable, Text};
use diesel_occ::prelude::*;
use diesel_occ::sqlite::Setup;
use std::collections::BTreeMap;
use std::path::Path;
use tempfile::TempDir;

diesel::table! {
    #[sql_name = "decrement_stock_products"]
    products (id) {
        id -> BigInt,
        name -> Text,
        stock -> Integer,
        version -> BigInt,
    }
}

/// A product as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Versioned)]
#[diesel(table_name = products)]
pub struct Product {
    pub id: i64,
    pub name: String,
    pub stock: i32,
    version: i64,
}

/// SQLite keeps the text of the statement, comment and all: by it the example knows its own table again.
const CREATE: &str = "\
CREATE TABLE decrement_stock_products (
  -- Made by the example decrement_stock of diesel_occ, and emptied by each of its runs.
  id INTEGER PRIMARY KEY NOT NULL,
  name TEXT NOT NULL,
  stock INTEGER NOT NULL,
  version BIGINT NOT NULL DEFAULT 0
)";

/// The database of a run: a file that the caller named, or one in a temporary folder that goes with this value.
pub struct Database {
    path: String,
    _folder: Option<TempDir>,
}

impl Database {
    pub fn temporary() -> Result<Self, Failure> {
        let folder =
            tempfile::tempdir().map_err(|error| Failure::broken("no temporary folder", &error))?;
        let path = folder.path().join("decrement_stock.db");
        let Some(path) = path.to_str().map(str::to_owned) else {
            let path = path.display();
            return Err(Failure::Broken(format!("{path}: the path is not UTF-8")));
        };
        Ok(Database {
            path,
            _folder: Some(folder),
        })
    }

    /// Takes a path or `sqlite://path`. Each worker opens the database for itself, so it has to be a file.
    pub fn named(url: &str) -> Result<Self, Failure> {
        let path = match url.split_once("://") {
            None => url,
            Some(("sqlite", path)) => path,
            Some((scheme, _)) => return Err(other_scheme(scheme)),
        };
        if path.is_empty() || path.starts_with(':') || path.starts_with("file:") {
            return Err(Failure::bad_input(format_args!(
                "--database-url {url}: the workers need the path of a file that all of them can open"
            )));
        }
        if Path::new(path).is_dir() {
            return Err(Failure::bad_input(format_args!(
                "--database-url {url}: that is a folder"
            )));
        }
        Ok(Database {
            path: path.to_owned(),
            _folder: None,
        })
    }

    pub fn path(&self) -> &str {
        &self.path
    }

    /// Makes the table where it is missing. A table of that name that is not this example's is left alone, and the whole
    /// database as it was.
    pub fn prepare(&self) -> Result<SqliteConnection, Failure> {
        let wrong = |error: &dyn std::error::Error| {
            let error = crate::failure::chain(error);
            Failure::bad_input(format_args!("{}: {error}", self.path))
        };
        let mut conn = SqliteConnection::establish(&self.path).map_err(|error| wrong(&error))?;
        let found = diesel::sql_query(
            "SELECT sql FROM sqlite_master WHERE name = 'decrement_stock_products' COLLATE NOCASE",
        )
        .get_result::<Entry>(&mut conn)
        .optional()
        .map_err(|error| wrong(&error))?;
        match found {
            None => {}
            Some(Entry { sql: Some(sql) }) if sql == CREATE => return open_prepared(conn),
            Some(_) => {
                return Err(Failure::bad_input(format_args!(
                    "{}: it has a table decrement_stock_products that this example has not made; \
                     name another database",
                    self.path
                )));
            }
        }
        conn.batch_execute(CREATE).map_err(|error| wrong(&error))?;
        open_prepared(conn)
    }
}

#[derive(QueryableByName)]
struct Entry {
    #[diesel(sql_type = Nullable<Text>)]
    sql: Option<String>,
}

fn other_scheme(scheme: &str) -> Failure {
    let feature = match scheme {
        "postgres" | "postgresql" => "postgres",
        "mysql" | "mariadb" => "mysql",
        _ => {
            return Failure::bad_input(format_args!(
                "--database-url: nothing here talks {scheme}://; name a file, or sqlite://path"
            ));
        }
    };
    Failure::bad_input(format_args!(
        "--database-url: {scheme}:// needs the feature `{feature}`, which this example does not use yet; \
         today it runs on SQLite: name a file, or sqlite://path"
    ))
}

/// A connection of a worker. Every connection is set up: SQLite forgets all but the journal.
pub fn open(path: &str) -> Result<SqliteConnection, Failure> {
    let conn = SqliteConnection::establish(path).map_err(|error| Failure::broken(path, &error))?;
    open_prepared(conn)
}

fn open_prepared(mut conn: SqliteConnection) -> Result<SqliteConnection, Failure> {
    Setup::default()
        .apply(&mut conn)
        .map_err(|error| Failure::broken("setting up the connection", &error))?;
    Ok(conn)
}

/// Puts the stock back to what it is at the start.
pub fn fill(conn: &mut SqliteConnection, stocked: &[Stocked]) -> Result<(), Failure> {
    let rows: Vec<_> = stocked
        .iter()
        .map(|product| {
            (
                products::id.eq(product.id),
                products::name.eq(&product.name),
                products::stock.eq(product.stock),
            )
        })
        .collect();
    conn.transact(&Retry::default(), |tx| -> diesel_occ::Result<()> {
        diesel::delete(products::table).execute(tx)?;
        for row in &rows {
            diesel::insert_into(products::table)
                .values(row)
                .execute(tx)?;
        }
        Ok(())
    })
    .map_err(|error| Failure::broken("filling the table", &error))
}

/// What is left of each product.
pub fn left(conn: &mut SqliteConnection) -> Result<BTreeMap<i64, i32>, Failure> {
    let rows = products::table
        .select((products::id, products::stock))
        .load::<(i64, i32)>(conn)
        .map_err(|error| Failure::broken("counting what is left", &error))?;
    Ok(rows.into_iter().collect())
}
