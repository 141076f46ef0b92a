//! The database of the run: its table is made or recognised, filled anew for each mode, and counted at the end. A database
//! that was there before keeps everything else that is in it.

use crate::connection::{self, AnyConnection};
use crate::failure::{Failure, chain};
use crate::server_url;
use crate::table::{self, Found};
use crate::workload::Stocked;
use diesel::prelude::*;
use diesel_occ::prelude::*;
use std::collections::BTreeMap;
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

/// The database of a run: what the caller named, or a file in a temporary folder that goes with this value.
pub struct Database {
    url: String,
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
            url: path,
            _folder: Some(folder),
        })
    }

    pub fn named(url: &str) -> Result<Self, Failure> {
        Ok(Database {
            url: server_url::accepted(url)?.to_owned(),
            _folder: None,
        })
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    /// "PostgreSQL", or "SQLite" with the path of its file.
    pub fn describe(&self, conn: &mut AnyConnection) -> String {
        let server = conn.server().name();
        if self.url.contains("://") {
            server.to_owned()
        } else {
            format!("{server} {}", self.url)
        }
    }

    /// Makes the table where it is missing. A table of that name that is not this example's is left alone, and the whole
    /// database as it was.
    pub fn prepare(&self) -> Result<AnyConnection, Failure> {
        let name = server_url::shown(&self.url);
        let wrong = |error| Failure::bad_input(format_args!("{name}: {}", chain(&error)));
        let mut conn = connection::connect(&self.url).map_err(Failure::BadInput)?;
        match table::find(&mut conn).map_err(wrong)? {
            Found::Ours => {}
            Found::Nothing => table::create(&mut conn).map_err(wrong)?,
            Found::SomebodyElses => {
                return Err(Failure::bad_input(format_args!(
                    "{name}: it has a table decrement_stock_products that this example has not made; \
                     name another database"
                )));
            }
        }
        connection::set_up(&mut conn)?;
        Ok(conn)
    }
}

/// Puts the stock back to what it is at the start.
pub fn fill(conn: &mut AnyConnection, stocked: &[Stocked]) -> Result<(), Failure> {
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
pub fn left(conn: &mut AnyConnection) -> Result<BTreeMap<i64, i32>, Failure> {
    let rows = products::table
        .select((products::id, products::stock))
        .load::<(i64, i32)>(conn)
        .map_err(|error| Failure::broken("counting what is left", &error))?;
    Ok(rows.into_iter().collect())
}
