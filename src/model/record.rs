//! A model on a backend: the bounds that generic code needs, in one name.

use super::{Aim, Guard, Versioned};
use crate::backend::{Dialect, Driver, LockClause};
use crate::error::Result;
use diesel::result::QueryResult;

/// A versioned model that `DB` can load and save: the one bound for generic code. It is there for every model that derives
/// `Queryable` and `Versioned` with field types that match its table.
///
/// ```
/// # use diesel::prelude::*;
/// # use diesel_occ::prelude::*;
/// # diesel::table! { products (id) { id -> BigInt, stock -> Integer, version -> BigInt, } }
/// # #[derive(Debug, Clone, Queryable, Versioned)] #[diesel(table_name = products)]
/// # struct Product { id: i64, stock: i32, version: i64 }
/// fn restock<C>(conn: &mut C, id: i64, n: i32) -> diesel_occ::Result<Product>
/// where
///     C: VersionedConnection, // a connection, a pooled one, a MultiConnection, a Tx
///     Product: Record<C::Backend>,
/// {
///     conn.modify(id, Mode::optimistic(), |product: &mut Product| product.stock += n)
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be loaded and saved on `{DB}`",
    label = "not a versioned record here",
    note = "`{Self}` needs `#[derive(Queryable, Versioned)]` and field types that match its table",
    note = "in generic code add the bound `{Self}: Record<{DB}>`"
)]
pub trait Record<DB: Dialect>: Load<DB> {
    /// Writes every field under the check of `aim`; answers the affected rows.
    #[doc(hidden)]
    fn write<C: Driver<Backend = DB>>(&self, conn: &mut C, aim: Aim<'_, Self>) -> Result<usize>;

    /// Moves the version alone.
    #[doc(hidden)]
    fn bump<C: Driver<Backend = DB>>(conn: &mut C, aim: Aim<'_, Self>) -> Result<usize>;

    /// Waits for the writers of the row, and takes its lock. Sends nothing where a transaction has it already.
    #[doc(hidden)]
    fn take_turn<C: Driver<Backend = DB>>(conn: &mut C, key: &Self::Key) -> Result<()>;

    #[doc(hidden)]
    fn delete<C: Driver<Backend = DB>>(conn: &mut C, aim: Aim<'_, Self>) -> Result<usize>;

    /// Every row with this key: its version, and what a write would find.
    #[doc(hidden)]
    fn states<C, G>(
        conn: &mut C,
        key: &Self::Key,
        guard: Option<&G>,
    ) -> Result<Vec<(Self::Version, State)>>
    where
        C: Driver<Backend = DB>,
        G: Guard<Self, DB>;
}

/// The loading half of [`Record`], apart from it so that neither needs the other: rustc cannot resolve the cycle on MySQL.
#[doc(hidden)]
pub trait Load<DB: Dialect>: Versioned + 'static {
    fn load<C: Driver<Backend = DB>>(conn: &mut C, key: &Self::Key) -> Result<Option<Self>>;

    /// The row with a lock.
    fn load_locked<C: Driver<Backend = DB>>(
        conn: &mut C,
        key: &Self::Key,
        clause: &LockClause,
    ) -> QueryResult<Option<Self>>;

    /// The row that a write would meet now.
    fn load_current<C: Driver<Backend = DB>>(conn: &mut C, key: &Self::Key)
    -> Result<Option<Self>>;
}

/// What a write would find at a row.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Nothing in its way.
    Writable,
    /// The guard does not hold.
    GuardFails,
    /// The row is marked as deleted.
    SoftDeleted,
}
