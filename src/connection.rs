//! The operations that people call, as methods of every connection.

mod lock;
mod mode;
mod modify;
mod write;

pub use mode::{Edit, Mode, Removal};
pub use write::GuardTarget;

use crate::backend::{Driver, Lock, depth, noted};
use crate::error::{Error, NotFound, Result};
use crate::fault::Fault;
use crate::model::{Changes, Guard, NoGuard, Record, RowKey, RowVersion};
use crate::statement::next_version;
use crate::transaction::{Next, Policy, Retry, Run, Turns, Tx, attempt};
use write::{aim, aim_unchecked, conflicting, missing, settle, settle_unchecked, update};

/// Everything of this crate that a connection can do. It is there for Diesel's connections, for pooled ones, for a
/// `MultiConnection` ([`impl_multi_connection!`](crate::impl_multi_connection)) and for a [`Tx`]; nobody implements it.
///
/// Every operation on one row is one statement, kept prepared by the connection, and **the affected row count decides**. When
/// it hit no row, one more statement reads why. Inside a transaction it is part of it, and a refusal leaves the transaction
/// as it was; outside, it is committed by itself. The version moves in SQL only, by one, and a value that the caller holds is
/// never changed: what was stale stays stale.
///
/// ```
/// use diesel::prelude::*;
/// use diesel_occ::prelude::*;
///
/// diesel::table! {
///     products (id) { id -> BigInt, name -> Text, stock -> Integer, version -> BigInt, }
/// }
///
/// #[derive(Debug, Clone, PartialEq, Queryable, Versioned)]
/// #[diesel(table_name = products)]
/// struct Product { id: i64, name: String, stock: i32, version: i64 }
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut conn = SqliteConnection::establish(":memory:")?;
/// # diesel::sql_query("CREATE TABLE products (id BIGINT PRIMARY KEY, name TEXT NOT NULL, stock INTEGER NOT NULL, version BIGINT NOT NULL DEFAULT 0)").execute(&mut conn)?;
/// # diesel::sql_query("INSERT INTO products (id, name, stock) VALUES (42, 'tea', 5)").execute(&mut conn)?;
/// let ours: Product = conn.fetch(42)?;
/// let theirs = ours.clone();
///
/// conn.versioned_update(&theirs, products::stock.eq(theirs.stock - 1))?;
///
/// let lost = conn.versioned_update(&ours, products::stock.eq(ours.stock - 1));
/// assert!(matches!(lost, Err(diesel_occ::Error::Conflict(_)))); // and not a lost update
/// # Ok(())
/// # }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a connection that diesel_occ knows",
    note = "it works on `SqliteConnection`, `PgConnection`, `MysqlConnection` (each behind its feature), on a pooled one of them, and on a `Tx`",
    note = "for a `#[derive(MultiConnection)]` enum write `diesel_occ::impl_multi_connection!(..)` beside it"
)]
pub trait VersionedConnection: Driver + Sized {
    /// Loads the row with this key. One statement.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] when there is none.
    fn fetch<M: Record<Self::Backend>>(&mut self, key: M::Key) -> Result<M> {
        M::load(self, &key)?.ok_or_else(|| missing::<M>(&key))
    }

    /// [`fetch`](VersionedConnection::fetch) where no row is no error. One statement.
    fn fetch_optional<M: Record<Self::Backend>>(&mut self, key: M::Key) -> Result<Option<M>> {
        M::load(self, &key)
    }

    /// [`fetch`](VersionedConnection::fetch) with a lock that lasts until the transaction ends: `SELECT .. FOR UPDATE`, and what
    /// else a [`Lock`] says. The row is read as it is now, whatever the transaction has read before.
    ///
    /// One statement where the row is free. With [`no_wait`](Lock::no_wait) a second one where it is held or not there; with
    /// [`within`](Lock::within) four more then on PostgreSQL, and one more on MySQL and MariaDB. On SQLite the transaction holds the lock of the whole database from its BEGIN, so that nobody else
    /// can hold a row.
    ///
    /// # Errors
    ///
    /// - [`Error::NotInTransaction`], before any SQL: the lock would be gone at once.
    /// - [`Error::Unsupported`], before any SQL: the server has no such lock. On SQLite also inside a transaction of Diesel's own,
    ///   which has not begun with the lock.
    /// - [`Error::NotFound`]: there is no such row, and nothing is locked.
    /// - [`Error::LockUnavailable`] and [`Error::LockTimeout`]: somebody else holds it, as `no_wait` and `within` say. The
    ///   transaction can go on. A closure that ends in one of them is not run again: the caller has said how long to wait.
    /// - [`Error::Database`]: the server's own lock timeout or a deadlock ended the statement.
    ///
    /// ```
    /// # use diesel::prelude::*;
    /// # use diesel_occ::prelude::*;
    /// # diesel::table! { products (id) { id -> BigInt, stock -> Integer, version -> BigInt, } }
    /// # #[derive(Debug, Clone, Queryable, Versioned)] #[diesel(table_name = products)]
    /// # struct Product { id: i64, stock: i32, version: i64 }
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let mut conn = SqliteConnection::establish(":memory:")?;
    /// # diesel::sql_query("CREATE TABLE products (id BIGINT PRIMARY KEY, stock INTEGER NOT NULL, version BIGINT NOT NULL)").execute(&mut conn)?;
    /// # diesel::sql_query("INSERT INTO products VALUES (42, 5, 7)").execute(&mut conn)?;
    /// conn.transact(&Retry::default(), |tx| -> diesel_occ::Result<()> {
    ///     let mut product = tx.fetch_locked::<Product>(42, Lock::for_update())?;
    ///     product.stock -= 1; // nobody else gets here meanwhile
    ///     tx.save(&product)?;
    ///     Ok(())
    /// })?;
    ///
    /// let alone = conn.fetch_locked::<Product>(42, Lock::for_update());
    /// assert!(matches!(alone, Err(diesel_occ::Error::NotInTransaction)));
    /// # Ok(())
    /// # }
    /// ```
    fn fetch_locked<M: Record<Self::Backend>>(&mut self, key: M::Key, lock: Lock) -> Result<M> {
        noted(self, |conn| lock::fetch_locked(conn, &key, lock))
    }

    /// The row as it is now, whatever version the caller has: what a conflict was lost against. `None` when it is gone. One
    /// statement; inside a transaction on MySQL and MariaDB a locking read, since a plain one would show the transaction's
    /// snapshot.
    fn current_row<M: Record<Self::Backend>>(
        &mut self,
        row: impl Into<RowVersion<M>>,
    ) -> Result<Option<M>> {
        M::load_current(self, &row.into().key)
    }

    /// Changes the row if it is still at this version, and answers it at the new one. One statement.
    ///
    /// The row is a model that was read (`&product`) or [`Product::at(42, 7)`](crate::Versioned::at); the changes are
    /// anything that Diesel's `.set(..)` takes. Changes with nothing in them move the version alone. Changes of the primary
    /// key are written like any other; the answer names the row by the key it had.
    ///
    /// # Errors
    ///
    /// - [`Error::Conflict`]: the row has another version (`Modified`), or is gone or marked as deleted (`Deleted`).
    /// - [`Error::Suppressed`]: the row is at this version, and the database still kept it from being written.
    /// - [`Error::VersionOverflow`] and [`Error::VersionInChanges`], before any SQL.
    /// - [`Error::TooManyRows`]: several rows have this key.
    /// - [`Error::OutcomeUnknown`]: the connection was lost while the statement was on its way outside a transaction. The row may
    ///   have been written.
    /// - [`Error::Database`]: the server refused the statement.
    ///
    /// In none of the others has the row been written, but as [`TooManyRows`](crate::error::TooManyRows) says, and where a trigger
    /// of SQLite raises `FAIL`, which keeps what the statement has done so far.
    ///
    /// ```
    /// # use diesel::prelude::*;
    /// # use diesel_occ::prelude::*;
    /// # diesel::table! { products (id) { id -> BigInt, stock -> Integer, version -> BigInt, } }
    /// # #[derive(Debug, Clone, Queryable, Versioned)] #[diesel(table_name = products)]
    /// # struct Product { id: i64, stock: i32, version: i64 }
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let mut conn = SqliteConnection::establish(":memory:")?;
    /// # diesel::sql_query("CREATE TABLE products (id BIGINT PRIMARY KEY, stock INTEGER NOT NULL, version BIGINT NOT NULL)").execute(&mut conn)?;
    /// # diesel::sql_query("INSERT INTO products VALUES (42, 5, 7)").execute(&mut conn)?;
    /// let row = conn.versioned_update(Product::at(42, 7), products::stock.eq(4))?;
    /// assert_eq!(row, Product::at(42, 8));
    /// # Ok(())
    /// # }
    /// ```
    fn versioned_update<M: Record<Self::Backend>>(
        &mut self,
        row: impl Into<RowVersion<M>>,
        changes: impl Changes<M, Self::Backend>,
    ) -> Result<RowVersion<M>> {
        let row = row.into();
        noted(self, |conn| update(conn, &row, changes, false))
    }

    /// [`versioned_update`](VersionedConnection::versioned_update) that answers the whole row as it is stored, with what
    /// defaults and BEFORE triggers made of it. One statement with RETURNING, which on SQLite does not see what AFTER
    /// triggers write (<https://www.sqlite.org/lang_returning.html>); a write and a read on MySQL, MariaDB and a
    /// `MultiConnection`, where outside a transaction somebody else may have been there in between.
    ///
    /// # Errors
    ///
    /// As [`versioned_update`](VersionedConnection::versioned_update). A row that cannot be read as the model
    /// ([`Error::Database`] with Diesel's `DeserializationError`) has been written all the same. Where it reads,
    /// [`Error::NotFound`] says that the row was written and then deleted by somebody else.
    fn versioned_update_returning<M: Record<Self::Backend>>(
        &mut self,
        row: impl Into<RowVersion<M>>,
        changes: impl Changes<M, Self::Backend>,
    ) -> Result<M> {
        let row = row.into();
        noted(self, |conn| {
            next_version(&row)?;
            let aim = aim(conn, &row)?;
            let mut rows = changes.run_returning(conn, aim)?;
            settle(conn, rows.len(), &row, None::<&NoGuard>)?;
            rows.pop().ok_or_else(|| missing::<M>(&row.key))
        })
    }

    /// Changes the row if a condition on it holds: `stock >= n`. With a key alone, [`Product::key(42)`](crate::Versioned::key),
    /// the condition is the whole check, and writers of other columns do not get in each other's way; with a version too,
    /// both must hold. The version moves by one either way. One statement; answers what
    /// [`versioned_update`](VersionedConnection::versioned_update) does where the version was given, `()` where not.
    ///
    /// # Errors
    ///
    /// [`Error::GuardFailed`] when the condition does not hold: not a conflict, and not retried. Another version wins over
    /// it: [`Error::Conflict`]. [`Error::NotFound`] when the caller gave a key alone and there is no such row, or it is
    /// marked as deleted. Otherwise as [`versioned_update`](VersionedConnection::versioned_update).
    ///
    /// ```
    /// # use diesel::prelude::*;
    /// # use diesel_occ::prelude::*;
    /// # diesel::table! { products (id) { id -> BigInt, stock -> Integer, version -> BigInt, } }
    /// # #[derive(Debug, Clone, Queryable, Versioned)] #[diesel(table_name = products)]
    /// # struct Product { id: i64, stock: i32, version: i64 }
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let mut conn = SqliteConnection::establish(":memory:")?;
    /// # diesel::sql_query("CREATE TABLE products (id BIGINT PRIMARY KEY, stock INTEGER NOT NULL, version BIGINT NOT NULL)").execute(&mut conn)?;
    /// # diesel::sql_query("INSERT INTO products VALUES (42, 5, 7)").execute(&mut conn)?;
    /// let sell = |n| (products::stock.ge(n), products::stock.eq(products::stock - n));
    ///
    /// let (enough, taken) = sell(3);
    /// conn.guarded_update(Product::key(42), enough, taken)?;
    ///
    /// let (enough, taken) = sell(3);
    /// let refused = conn.guarded_update(Product::key(42), enough, taken);
    /// assert!(matches!(refused, Err(diesel_occ::Error::GuardFailed(_))));
    /// # Ok(())
    /// # }
    /// ```
    fn guarded_update<T>(
        &mut self,
        row: T,
        guard: impl Guard<T::Model, Self::Backend>,
        changes: impl Changes<T::Model, Self::Backend> + Clone,
    ) -> Result<T::Written>
    where
        T: GuardTarget,
        T::Model: Record<Self::Backend>,
    {
        noted(self, |conn| row.write(conn, &guard, changes))
    }

    /// Saves every field of the model but key and version, if the row is still at the model's version. Answers the model
    /// as saved, at its new version; the argument is untouched. One statement.
    ///
    /// Fields that are skipped, the mark of a soft delete, and columns that triggers write come back as they were in the
    /// argument, and are stored as they were in the table:
    /// [`fetch`](VersionedConnection::fetch) reads them.
    ///
    /// # Errors
    ///
    /// As [`versioned_update`](VersionedConnection::versioned_update).
    fn save<M: Record<Self::Backend> + Clone>(&mut self, model: &M) -> Result<M> {
        let row = model.row_version();
        noted(self, |conn| {
            let new = next_version(&row)?;
            let aim = aim(conn, &row)?;
            let rows = model.write(conn, aim)?;
            settle(conn, rows, &row, None::<&NoGuard>)?;
            let mut saved = model.clone();
            saved.set_version(new.version);
            Ok(saved)
        })
    }

    /// [`save`](VersionedConnection::save)s every model, in this order, or none: the first refusal takes back all of them.
    /// A statement each, in one transaction, or behind a savepoint in an open one; nothing at all is sent for an empty list.
    ///
    /// # Errors
    ///
    /// The first of the errors of [`save`](VersionedConnection::save).
    fn save_all<M: Record<Self::Backend> + Clone>(&mut self, models: &[M]) -> Result<Vec<M>> {
        if models.is_empty() {
            return Ok(Vec::new());
        }
        self.transact(&Retry::never(), |tx| {
            models.iter().map(|model| tx.save(model)).collect()
        })
    }

    /// Moves the version without changing anything: who has read the row finds out. One statement.
    ///
    /// # Errors
    ///
    /// As [`versioned_update`](VersionedConnection::versioned_update).
    fn touch<M: Record<Self::Backend>>(
        &mut self,
        row: impl Into<RowVersion<M>>,
    ) -> Result<RowVersion<M>> {
        let row = row.into();
        noted(self, |conn| {
            let new = next_version(&row)?;
            let aim = aim(conn, &row)?;
            let rows = M::bump(conn, aim)?;
            settle(conn, rows, &row, None::<&NoGuard>)?;
            Ok(new)
        })
    }

    /// Checks that the row is still at this version, without writing. True when it was looked at: what must stay true needs
    /// [`touch`](VersionedConnection::touch), or a lock. One statement; inside a transaction on MySQL and MariaDB a locking
    /// read (`LOCK IN SHARE MODE`), since a plain one would look at the transaction's snapshot.
    ///
    /// # Errors
    ///
    /// [`Error::Conflict`] when it is not, [`Error::TooManyRows`] when several rows have the key.
    fn verify<M: Record<Self::Backend>>(&mut self, row: impl Into<RowVersion<M>>) -> Result<()> {
        let row = row.into();
        noted(self, |conn| {
            let rows = M::states(conn, &row.key, None::<&NoGuard>)?;
            conflicting(&row, &rows).map_or(Ok(()), Err)
        })
    }

    /// Deletes the row if it is still at this version. One statement.
    ///
    /// # Errors
    ///
    /// As [`versioned_update`](VersionedConnection::versioned_update): a row that is not there is a [`Error::Conflict`],
    /// `Deleted`, since whoever has a version has seen the row.
    fn versioned_delete<M: Record<Self::Backend>>(
        &mut self,
        row: impl Into<RowVersion<M>>,
    ) -> Result<()> {
        let row = row.into();
        noted(self, |conn| {
            let aim = aim(conn, &row)?;
            let rows = M::delete(conn, aim)?;
            settle(conn, rows, &row, None::<&NoGuard>)
        })
    }

    /// [`versioned_delete`](VersionedConnection::versioned_delete) for those who may delete twice: a row that is gone
    /// already is no error.
    ///
    /// # Errors
    ///
    /// As [`versioned_delete`](VersionedConnection::versioned_delete), without `Deleted`.
    fn versioned_delete_if_exists<M: Record<Self::Backend>>(
        &mut self,
        row: impl Into<RowVersion<M>>,
    ) -> Result<Removal> {
        let row = row.into();
        noted(self, |conn| {
            let aim = aim(conn, &row)?;
            let rows = M::delete(conn, aim)?;
            match settle(conn, rows, &row, None::<&NoGuard>) {
                Ok(()) => Ok(Removal::Deleted),
                Err(Error::Conflict(conflict)) if !conflict.is_retryable() => {
                    Ok(Removal::AlreadyGone)
                }
                Err(error) => Err(error),
            }
        })
    }

    /// Marks the row as deleted, if it is still at this version; the changes set the column that
    /// `#[versioned(soft_delete = ..)]` names. From then on every checked write of the row is a [`Error::Conflict`],
    /// `Deleted`; [`fetch`](VersionedConnection::fetch) still finds it, and an
    /// [`unchecked_update`](VersionedConnection::unchecked_update) brings it back. One statement.
    ///
    /// # Errors
    ///
    /// As [`versioned_update`](VersionedConnection::versioned_update). [`Error::NoSoftDelete`] before any SQL when the
    /// model names no such column, or the changes leave it alone.
    ///
    /// ```
    /// # use diesel::prelude::*;
    /// # use diesel_occ::prelude::*;
    /// # diesel::table! { notes (id) { id -> BigInt, body -> Text, deleted -> Bool, version -> BigInt, } }
    /// #[derive(Debug, Clone, Queryable, Versioned)]
    /// #[diesel(table_name = notes)]
    /// #[versioned(soft_delete = deleted)]
    /// struct Note { id: i64, body: String, deleted: bool, version: i64 }
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let mut conn = SqliteConnection::establish(":memory:")?;
    /// # diesel::sql_query("CREATE TABLE notes (id BIGINT PRIMARY KEY, body TEXT NOT NULL, deleted BOOLEAN NOT NULL, version BIGINT NOT NULL)").execute(&mut conn)?;
    /// # diesel::sql_query("INSERT INTO notes VALUES (1, 'b', FALSE, 7)").execute(&mut conn)?;
    /// let deleted = conn.soft_delete(Note::at(1, 7), notes::deleted.eq(true))?;
    /// let late = conn.touch(deleted);
    /// assert!(matches!(late, Err(diesel_occ::Error::Conflict(_))));
    /// # Ok(())
    /// # }
    /// ```
    fn soft_delete<M: Record<Self::Backend>>(
        &mut self,
        row: impl Into<RowVersion<M>>,
        changes: impl Changes<M, Self::Backend>,
    ) -> Result<RowVersion<M>> {
        let row = row.into();
        noted(self, |conn| update(conn, &row, changes, true))
    }

    /// Changes the row whatever its version, and moves the version all the same: who has read the row finds out. Reaches a
    /// row that is marked as deleted. One statement.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] when there is no such row, otherwise as
    /// [`versioned_update`](VersionedConnection::versioned_update); the version that cannot grow is found by the statement.
    fn unchecked_update<M: Record<Self::Backend>>(
        &mut self,
        row: RowKey<M>,
        changes: impl Changes<M, Self::Backend>,
    ) -> Result<()> {
        noted(self, |conn| {
            let aim = aim_unchecked(conn, &row)?;
            let rows = changes.run(conn, aim, None::<&NoGuard>)?;
            settle_unchecked(conn, rows, &row, false)
        })
    }

    /// Moves the version of the row whatever it is. One statement.
    ///
    /// # Errors
    ///
    /// As [`unchecked_update`](VersionedConnection::unchecked_update).
    fn unchecked_touch<M: Record<Self::Backend>>(&mut self, row: RowKey<M>) -> Result<()> {
        noted(self, |conn| {
            let aim = aim_unchecked(conn, &row)?;
            let rows = M::bump(conn, aim)?;
            settle_unchecked(conn, rows, &row, false)
        })
    }

    /// Deletes the row whatever its version, and answers whether it was there. One statement.
    ///
    /// # Errors
    ///
    /// [`Error::TooManyRows`] when several rows have the key; [`Error::Suppressed`] when the row is there and the database
    /// kept it.
    fn unchecked_delete<M: Record<Self::Backend>>(&mut self, row: RowKey<M>) -> Result<Removal> {
        noted(self, |conn| {
            let aim = aim_unchecked(conn, &row)?;
            let rows = M::delete(conn, aim)?;
            match settle_unchecked(conn, rows, &row, true) {
                Ok(()) => Ok(Removal::Deleted),
                Err(Error::NotFound(NotFound { .. })) => Ok(Removal::AlreadyGone),
                Err(error) => Err(error),
            }
        })
    }

    /// Reads the row, lets the closure change it, and saves it under the version that was read; answers the row as saved.
    /// After a lost race it reads again and runs the closure again, as the mode's [`Retry`] says. What
    /// [`save`](VersionedConnection::save) does not store, such as the mark of a soft delete, this does not store either.
    ///
    /// The closure returns nothing, or a `Result<(), E>` with any `E: From<Error>`, whose error ends it at once and leaves
    /// the row as it was. What else it has to say goes into a variable that it captures.
    ///
    /// Outside a transaction, with [`Mode::optimistic`]: two statements, a SELECT and an UPDATE, each committed by itself,
    /// so **a closure that takes long blocks nobody**, unless its call has lost the row [many times](Mode::optimistic). Inside a
    /// transaction it runs once, and it is for the outermost
    /// [`transact`](VersionedConnection::transact) to run everything again.
    ///
    /// # Errors
    ///
    /// The closure's own; [`Error::NotFound`]; [`Error::RetriesExhausted`]; [`Error::KeyChanged`] when the closure changed
    /// the primary key; otherwise as [`versioned_update`](VersionedConnection::versioned_update).
    ///
    /// ```
    /// # use diesel::prelude::*;
    /// # use diesel_occ::prelude::*;
    /// # diesel::table! { products (id) { id -> BigInt, stock -> Integer, version -> BigInt, } }
    /// # #[derive(Debug, Clone, Queryable, Versioned)] #[diesel(table_name = products)]
    /// # struct Product { id: i64, stock: i32, version: i64 }
    /// #[derive(Debug, thiserror::Error)]
    /// enum Shop {
    ///     #[error("out of stock")]
    ///     OutOfStock,
    ///     #[error(transparent)]
    ///     Occ(#[from] diesel_occ::Error),
    /// }
    ///
    /// fn sell(conn: &mut SqliteConnection, id: i64, n: i32) -> Result<i32, Shop> {
    ///     let product = conn.modify(id, Mode::optimistic(), |product: &mut Product| {
    ///         if product.stock < n {
    ///             return Err(Shop::OutOfStock);
    ///         }
    ///         product.stock -= n;
    ///         Ok(())
    ///     })?;
    ///     Ok(product.stock)
    /// }
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let mut conn = SqliteConnection::establish(":memory:")?;
    /// # diesel::sql_query("CREATE TABLE products (id BIGINT PRIMARY KEY, stock INTEGER NOT NULL, version BIGINT NOT NULL)").execute(&mut conn)?;
    /// # diesel::sql_query("INSERT INTO products VALUES (42, 5, 7)").execute(&mut conn)?;
    /// assert_eq!(sell(&mut conn, 42, 3)?, 2);
    /// assert!(matches!(sell(&mut conn, 42, 3), Err(Shop::OutOfStock)));
    /// # Ok(())
    /// # }
    /// ```
    fn modify<M, O>(
        &mut self,
        key: M::Key,
        mode: Mode,
        f: impl FnMut(&mut M) -> O,
    ) -> Result<M, O::Error>
    where
        M: Record<Self::Backend>,
        O: Edit,
    {
        modify::modify(self, &key, &mode, f)
    }

    /// Runs the closure in a transaction of its own: BEGIN, the closure, COMMIT; after a lost race, a serialization failure,
    /// a deadlock or a busy database everything is rolled back and **the whole closure runs again**, as the policy says. So
    /// the closure reads what it needs itself, and does nothing outside the database that must not happen twice.
    ///
    /// What the [`Tx`] saw decides, not the closure's error: that may be any type with `From<Error>`, and comes back
    /// untouched when the work is not run again. An `Ok` is committed, and only a commit that the server confirmed is
    /// answered with it.
    ///
    /// The policy is a [`Retry`], or [`TxOptions`](crate::TxOptions) for another isolation level or access mode.
    ///
    /// BEGIN and the guard behind it are one round trip, as are the guard's release and COMMIT; on MySQL, which cannot prepare
    /// them together, four and three. **On SQLite this holds the write lock of the whole database** from the beginning of
    /// the closure to its end (`BEGIN IMMEDIATE`): keep slow work outside, or use
    /// [`modify`](VersionedConnection::modify). Waiting for that lock is not an attempt; the policy's deadline bounds it. No
    /// deadline interrupts a statement that is on its way.
    ///
    /// After a lost race the next run first waits for the row that it lost, and takes its lock (`FOR NO KEY UPDATE`, on MySQL and
    /// MariaDB `FOR UPDATE`; one statement a row): the server's queue is fair, and who has waited in it does not lose the row
    /// once more. The first run takes no lock before it writes.
    ///
    /// Inside an open transaction the closure runs once, behind a savepoint, since running it again would read the same
    /// snapshot: it is for the outermost `transact` to run everything again. Where that is a transaction of Diesel's own and the
    /// server ends it inside, the connection is marked as broken: Diesel would go on and report a success.
    ///
    /// # Errors
    ///
    /// The closure's own, and by `From`:
    ///
    /// - [`Error::RetriesExhausted`]: every attempt was rolled back. With one attempt, the closure's error instead.
    /// - [`Error::Poisoned`]: the closure swallowed an error that ended the transaction; on PostgreSQL any failed statement, on
    ///   MySQL and MariaDB also a statement that did not get its lock in time. Everything is rolled back, and the first error
    ///   is the source.
    /// - [`Error::Unsupported`]: the server has not what the options ask, or a transaction is open already. Nothing was sent.
    /// - [`Error::TransactionEnded`]: a COMMIT or ROLLBACK was sent as SQL inside. Parts may be stored. Never run again.
    /// - [`Error::OutcomeUnknown`]: COMMIT's answer did not come. Never run again.
    /// - [`Error::LockTimeout`]: the write lock was not free by the deadline.
    ///
    /// ```
    /// # use diesel::prelude::*;
    /// # use diesel_occ::prelude::*;
    /// # diesel::table! { products (id) { id -> BigInt, stock -> Integer, version -> BigInt, } }
    /// # #[derive(Debug, Clone, Queryable, Versioned)] #[diesel(table_name = products)]
    /// # struct Product { id: i64, stock: i32, version: i64 }
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let mut conn = SqliteConnection::establish(":memory:")?;
    /// # diesel::sql_query("CREATE TABLE products (id BIGINT PRIMARY KEY, stock INTEGER NOT NULL, version BIGINT NOT NULL)").execute(&mut conn)?;
    /// # diesel::sql_query("INSERT INTO products VALUES (1, 5, 7), (2, 5, 7)").execute(&mut conn)?;
    /// conn.transact(&Retry::default(), |tx| -> anyhow::Result<()> {
    ///     let mut from = tx.fetch::<Product>(1)?;
    ///     let mut to = tx.fetch::<Product>(2)?;
    ///     from.stock -= 3;
    ///     to.stock += 3;
    ///     tx.save(&from)?;
    ///     tx.save(&to)?;
    ///     Ok(())
    /// })?;
    /// # Ok(())
    /// # }
    /// ```
    fn transact<T, E>(
        &mut self,
        policy: &impl Policy,
        mut f: impl FnMut(&mut Tx<'_, Self>) -> Result<T, E>,
    ) -> Result<T, E>
    where
        E: From<Error>,
    {
        let outermost = depth(self).map_err(Error::from)? == 0;
        let (mut run, mut turns) = (Run::new(policy), Turns::new());
        loop {
            let (result, seen) = attempt(self, &run, &mut turns, &mut f);
            let Err(error) = result else { return result };
            if !outermost {
                return Err(error);
            }
            match run.next(&seen, Fault::is_retryable) {
                Next::Again(delay) => run.sleep(delay),
                Next::Stop => return Err(error),
                Next::Exhausted(exhausted) => return Err(exhausted.into()),
            }
        }
    }
}

#[diagnostic::do_not_recommend]
impl<C: Driver> VersionedConnection for C {}
