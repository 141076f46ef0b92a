//! A pooled connection is the connection in it.

use super::Driver;
use crate::error::Error;
use diesel::r2d2::{ManageConnection, PooledConnection, R2D2Connection};
use diesel::result::{Error as DieselError, QueryResult};

impl<M> Driver for PooledConnection<M>
where
    M: ManageConnection,
    M::Connection: Driver + R2D2Connection + Send + 'static,
{
    fn backend(&mut self) -> Self::Backend {
        (**self).backend()
    }

    fn begin_to_write(&mut self, again: &mut dyn FnMut(&DieselError) -> bool) -> QueryResult<()> {
        (**self).begin_to_write(again)
    }

    fn note(&mut self, error: &Error) {
        (**self).note(error);
    }

    fn forget(&mut self) {
        (**self).forget();
    }
}
