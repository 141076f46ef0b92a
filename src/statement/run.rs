//! Running a node: cached under a key of its own, and loaded with bounds on the backend alone.

use diesel::backend::Backend;
use diesel::connection::LoadConnection;
use diesel::deserialize::FromSqlRow;
use diesel::expression::QueryMetadata;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::result::{Error as DieselError, QueryResult};
use std::marker::PhantomData;

/// In place of a key in the statement cache: a query of this crate's whose text varies.
#[doc(hidden)]
pub struct Own;

/// Gives a node whose SQL never varies the type `K` as its key in the statement cache, so that its text is built once a
/// connection.
pub(super) struct Fixed<Q, K>(pub(super) Q, PhantomData<fn() -> K>);

impl<Q, K> Fixed<Q, K> {
    pub(super) fn new(query: Q) -> Self {
        Fixed(query, PhantomData)
    }
}

impl<Q, K: 'static> QueryId for Fixed<Q, K> {
    type QueryId = K;
    const HAS_STATIC_QUERY_ID: bool = true;
}

impl<Q: Query, K> Query for Fixed<Q, K> {
    type SqlType = Q::SqlType;
}

impl<Q: QueryFragment<DB>, K, DB: Backend> QueryFragment<DB> for Fixed<Q, K> {
    fn walk_ast<'b>(&'b self, out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        self.0.walk_ast(out)
    }
}

/// Loads the first row of a query.
///
/// `LoadQuery` cannot be named with bounds on the backend alone, the cursor and `FromSqlRow` can.
pub(super) fn load_first<C, Q, ST, U>(conn: &mut C, query: Q) -> QueryResult<Option<U>>
where
    C: LoadConnection,
    Q: Query<SqlType = ST> + QueryFragment<C::Backend> + QueryId,
    C::Backend: QueryMetadata<ST>,
    U: FromSqlRow<ST, C::Backend>,
{
    let mut rows = LoadConnection::load(conn, query)?;
    rows.next()
        .map(|row| U::build_from_row(&row?).map_err(DieselError::DeserializationError))
        .transpose()
}

/// Loads every row of a query.
pub(super) fn load_all<C, Q, ST, U>(conn: &mut C, query: Q) -> QueryResult<Vec<U>>
where
    C: LoadConnection,
    Q: Query<SqlType = ST> + QueryFragment<C::Backend> + QueryId,
    C::Backend: QueryMetadata<ST>,
    U: FromSqlRow<ST, C::Backend>,
{
    LoadConnection::load(conn, query)?
        .map(|row| U::build_from_row(&row?).map_err(DieselError::DeserializationError))
        .collect()
}
