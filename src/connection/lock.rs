//! One row with its lock.

use super::write::missing;
use crate::backend::{Driver, Lock, LockedRows, Server, Wait, read};
use crate::error::Result;
use crate::model::{Record, Versioned};
use crate::statement::{clause, in_diesel, ready, timeout, unavailable, within, without_waiting};
use diesel::result::QueryResult;
use std::time::{Duration, Instant};

pub(super) fn fetch_locked<M, C>(conn: &mut C, key: &M::Key, lock: Lock) -> Result<M>
where
    C: Driver,
    M: Record<C::Backend>,
{
    let server = ready(conn, lock)?;
    let wanted = Wanted::<M> { server, key, lock };
    let asked = conn.now();
    let answer = match lock.wait {
        Wait::AsTheServerDoes => read(conn, |conn| wanted.send(conn, lock.wait))?.into(),
        Wait::No | Wait::Skip => wanted.at_once(conn)?,
        Wait::Within(_) => wanted.in_time(conn)?,
    };
    let table = M::TABLE;
    match answer {
        Answer::Row(row) => {
            conn.locked(&LockedRows {
                table,
                key: Some(key),
                rows: 1,
                asked,
            });
            Ok(row)
        }
        Answer::Missing => Err(missing::<M>(key)),
        Answer::Held => {
            let key = format!("{key:?}");
            Err(match lock.wait {
                Wait::Within(_) => timeout(table, key, lock.limit().unwrap_or_default()),
                _ => unavailable(table, key),
            })
        }
    }
}

/// What comes of asking for a row and its lock.
enum Answer<M> {
    Row(M),
    /// No such row.
    Missing,
    /// Somebody else holds it.
    Held,
}

impl<M> From<Option<M>> for Answer<M> {
    fn from(row: Option<M>) -> Self {
        row.map_or(Answer::Missing, Answer::Row)
    }
}

struct Wanted<'k, M: Versioned> {
    server: &'static Server,
    key: &'k M::Key,
    lock: Lock,
}

impl<M: Versioned> Wanted<'_, M> {
    fn send<C>(&self, conn: &mut C, wait: Wait) -> QueryResult<Option<M>>
    where
        C: Driver,
        M: Record<C::Backend>,
    {
        let lock = Lock { wait, ..self.lock };
        let clause = clause(self.server, lock).map_err(in_diesel)?;
        M::load_locked(conn, self.key, &clause)
    }

    /// Without waiting: a row that is held is skipped. That tells it from one that is free, but not from one that is not there.
    /// Where any error aborts the transaction a look without the lock does; elsewhere such a look may show an old snapshot, and
    /// an error says it.
    fn at_once<C>(&self, conn: &mut C) -> Result<Answer<M>>
    where
        C: Driver,
        M: Record<C::Backend>,
    {
        if self.server.locks_at_begin {
            return Ok(M::load(conn, self.key)?.into());
        }
        if let Some(row) = read(conn, |conn| self.send(conn, Wait::Skip))? {
            return Ok(Answer::Row(row));
        }
        if self.server.any_error_aborts {
            let seen = M::load(conn, self.key)?;
            return Ok(seen.map_or(Answer::Missing, |_| Answer::Held));
        }
        let row = without_waiting(conn, |conn| self.send(conn, Wait::No))?;
        Ok(row.map_or(Answer::Held, Answer::from))
    }

    /// Within a time. A row that is free is had at once, before any setting is touched.
    fn in_time<C>(&self, conn: &mut C) -> Result<Answer<M>>
    where
        C: Driver,
        M: Record<C::Backend>,
    {
        let (limit, started) = (self.lock.limit().unwrap_or_default(), Instant::now());
        if self.server.locks_at_begin || limit == Duration::ZERO {
            return self.at_once(conn);
        }
        if let Some(row) = read(conn, |conn| self.send(conn, Wait::Skip))? {
            return Ok(Answer::Row(row));
        }
        let left = limit.saturating_sub(started.elapsed());
        let row = within(conn, left, |conn, left| self.send(conn, Wait::Within(left)))?;
        Ok(row.map_or(Answer::Held, Answer::from))
    }
}
