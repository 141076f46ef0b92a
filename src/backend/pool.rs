//! A pooled connection is the connection in it.

use super::{Bundle, Checkup, Driver, Limit, LockedRows, Turn};
use crate::error::Error;
use diesel::r2d2::{ManageConnection, PooledConnection, R2D2Connection};
use diesel::result::{Error as DieselError, QueryResult};
use std::time::{Duration, Instant};

impl<M> Driver for PooledConnection<M>
where
    M: ManageConnection,
    M::Connection: Driver + R2D2Connection + Send + 'static,
{
    fn backend(&mut self) -> Self::Backend {
        (**self).backend()
    }

    fn begin(
        &mut self,
        sql: &str,
        again: &mut dyn FnMut(&DieselError) -> bool,
    ) -> QueryResult<Bundle> {
        (**self).begin(sql, again)
    }

    fn end(&mut self, sql: &str, bundle: Bundle) -> QueryResult<()> {
        (**self).end(sql, bundle)
    }

    fn number_of(&mut self, message: &str) -> QueryResult<Option<u32>> {
        (**self).number_of(message)
    }

    fn is_watched(&self) -> bool {
        (**self).is_watched()
    }

    fn current_read(&mut self) -> QueryResult<Option<&'static str>> {
        (**self).current_read()
    }

    fn limit(&mut self, limit: Duration) -> QueryResult<Option<Limit>> {
        (**self).limit(limit)
    }

    fn load_failed(&mut self) {
        (**self).load_failed();
    }

    fn began_with_lock(&self) -> bool {
        (**self).began_with_lock()
    }

    fn now(&self) -> Instant {
        (**self).now()
    }

    fn locked(&mut self, rows: &LockedRows<'_>) {
        (**self).locked(rows);
    }

    fn may_be_refused(&mut self) {
        (**self).may_be_refused();
    }

    fn was_refused(&mut self) {
        (**self).was_refused();
    }

    fn examine(&mut self) -> QueryResult<Checkup> {
        (**self).examine()
    }

    fn note(&mut self, error: &Error) {
        (**self).note(error);
    }

    fn lost(&mut self, row: impl Turn<Self::Backend>) {
        (**self).lost(row);
    }

    fn forget(&mut self) {
        (**self).forget();
    }
}
