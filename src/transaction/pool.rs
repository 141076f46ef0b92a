//! The retry over a pool: no connection is held while it sleeps.

use super::attempt::attempt;
use super::options::Policy;
use super::run::{Next, Run};
use super::turn::Turns;
use super::tx::Tx;
use crate::backend::{Driver, depth};
use crate::error::{Error, Result};
use crate::fault::Fault;
use diesel::r2d2::{ConnectionManager, Pool, R2D2Connection};
use std::time::Duration;

/// [`transact`](crate::VersionedConnection::transact) on a connection of the pool, which goes back before every wait. After
/// a lost connection the work is run again on another one, unless COMMIT had been sent.
///
/// ```
/// use diesel::prelude::*;
/// use diesel::r2d2::{ConnectionManager, Pool};
/// use diesel_occ::prelude::*;
///
/// # diesel::table! { products (id) { id -> BigInt, stock -> Integer, version -> BigInt, } }
/// # #[derive(Debug, Clone, Queryable, Versioned)] #[diesel(table_name = products)]
/// # struct Product { id: i64, stock: i32, version: i64 }
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let pool = Pool::builder().max_size(1).build(ConnectionManager::<SqliteConnection>::new(":memory:"))?;
/// # diesel::sql_query("CREATE TABLE products (id BIGINT PRIMARY KEY, stock INTEGER NOT NULL, version BIGINT NOT NULL)").execute(&mut pool.get()?)?;
/// # diesel::sql_query("INSERT INTO products VALUES (1, 5, 7)").execute(&mut pool.get()?)?;
/// let left = retry_on(&pool, &Retry::default(), |tx| -> diesel_occ::Result<i32> {
///     let mut product = tx.fetch::<Product>(1)?;
///     product.stock -= 1;
///     Ok(tx.save(&product)?.stock)
/// })?;
/// assert_eq!(left, 4);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// As [`transact`](crate::VersionedConnection::transact), and [`Error::Pool`] when the pool has no connection to give within
/// its own timeout or the policy's deadline, whichever is first: as when a closure asks the pool that it runs on for a
/// second connection.
pub fn retry_on<C, T, E>(
    pool: &Pool<ConnectionManager<C>>,
    policy: &impl Policy,
    mut f: impl FnMut(&mut Tx<'_, C>) -> Result<T, E>,
) -> Result<T, E>
where
    C: Driver + R2D2Connection + 'static,
    E: From<Error>,
{
    let (mut run, mut turns) = (Run::new(policy), Turns::new());
    loop {
        let patience = pool.connection_timeout();
        let patience = run.left().map_or(patience, |left| {
            patience.min(left.max(Duration::from_millis(1)))
        });
        let mut conn = pool.get_timeout(patience).map_err(Error::Pool)?;
        // A test may have begun a transaction on the pool's connection.
        let outermost = depth(&mut *conn).map_or(true, |depth| depth == 0);
        let (result, seen) = attempt(&mut *conn, &run, &mut turns, &mut f);
        drop(conn);
        let Err(error) = result else { return result };
        if !outermost {
            return Err(error);
        }
        match run.next(&seen, |fault| {
            fault.is_retryable() || fault == Fault::ConnectionLost
        }) {
            Next::Again(delay) => run.sleep(delay),
            Next::Stop => return Err(error),
            Next::Exhausted(exhausted) => return Err(exhausted.into()),
        }
    }
}
