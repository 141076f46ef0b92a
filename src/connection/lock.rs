//! One row with its lock.

use super::write::missing;
use crate::backend::{Driver, Lock, LockedRows, Server, Wait, read};
use crate::error::Result;
use crate::model::Record;
use crate::statement::{clause, in_diesel, ready, timeout, unavailable, within, without_waiting};
use diesel::result::QueryResult;
use std::time::{Duration, Instant};

/// What came of asking for a row and its lock.
enum Asked<M> {
    Got(M),
    /// No such row.
    Missing,
    /// Somebody else holds it.
    Held,
}

impl<M> From<Option<M>> for Asked<M> {
    fn from(row: Option<M>) -> Self {
        row.map_or(Asked::Missing, Asked::Got)
    }
}

pub(super) fn fetch_locked<M, C>(conn: &mut C, key: &M::Key, lock: Lock) -> Result<M>
where
    C: Driver,
    M: Record<C::Backend>,
{
    let server = ready(conn, lock)?;
    let asked = conn.now();
    let answer = match lock.wait {
        Wait::AsTheServerDoes => read(conn, |conn| {
            send::<M, C>(conn, server, key, lock, lock.wait)
        })?
        .into(),
        Wait::No | Wait::Skip => at_once::<M, C>(conn, server, key, lock)?,
        Wait::Within(_) => in_time::<M, C>(conn, server, key, lock)?,
    };
    let table = M::TABLE;
    match answer {
        Asked::Got(row) => {
            conn.locked(&LockedRows {
                table,
                key: Some(key),
                rows: 1,
                asked,
            });
            Ok(row)
        }
        Asked::Missing => Err(missing::<M>(key)),
        Asked::Held => {
            let key = format!("{key:?}");
            Err(match lock.wait {
                Wait::Within(_) => timeout(table, key, lock.limit().unwrap_or_default()),
                _ => unavailable(table, key),
            })
        }
    }
}

fn send<M, C>(
    conn: &mut C,
    server: &'static Server,
    key: &M::Key,
    lock: Lock,
    wait: Wait,
) -> QueryResult<Option<M>>
where
    C: Driver,
    M: Record<C::Backend>,
{
    let clause = clause(server, Lock { wait, ..lock }).map_err(in_diesel)?;
    M::load_locked(conn, key, &clause)
}

/// Without waiting: a row that is held is skipped. That tells it from one that is free, but not from one that is not there. Where any
/// error aborts the transaction a look without the lock does; elsewhere such a look may show an old snapshot, and an error
/// says it.
fn at_once<M, C>(
    conn: &mut C,
    server: &'static Server,
    key: &M::Key,
    lock: Lock,
) -> Result<Asked<M>>
where
    C: Driver,
    M: Record<C::Backend>,
{
    if server.locks_at_begin {
        return Ok(M::load(conn, key)?.into());
    }
    if let Some(row) = read(conn, |conn| send(conn, server, key, lock, Wait::Skip))? {
        return Ok(Asked::Got(row));
    }
    if server.any_error_aborts {
        return Ok(M::load(conn, key)?.map_or(Asked::Missing, |_| Asked::Held));
    }
    let row = without_waiting(conn, |conn| send(conn, server, key, lock, Wait::No))?;
    Ok(row.map_or(Asked::Held, Asked::from))
}

/// Within a time. A row that is free is had at once, before any setting is touched.
fn in_time<M, C>(
    conn: &mut C,
    server: &'static Server,
    key: &M::Key,
    lock: Lock,
) -> Result<Asked<M>>
where
    C: Driver,
    M: Record<C::Backend>,
{
    let (limit, started) = (lock.limit().unwrap_or_default(), Instant::now());
    if server.locks_at_begin || limit == Duration::ZERO {
        return at_once(conn, server, key, lock);
    }
    if let Some(row) = read(conn, |conn| send(conn, server, key, lock, Wait::Skip))? {
        return Ok(Asked::Got(row));
    }
    let left = limit.saturating_sub(started.elapsed());
    let row = within(conn, left, |conn, left| {
        send(conn, server, key, lock, Wait::Within(left))
    })?;
    Ok(row.map_or(Asked::Held, Asked::from))
}
