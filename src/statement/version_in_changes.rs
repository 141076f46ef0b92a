//! Finding changes that set the version themselves. SQLite and MariaDB would take them without a word, and a client could
//! write any version it likes.

use crate::backend::Dialect;
use crate::error::{Error, VersionInChanges};
use diesel::query_builder::{QueryBuilder, QueryFragment};
use diesel::query_source::Column;
use diesel::result::QueryResult;

/// Renders the changes and looks for `"version" = ` where an assignment can begin.
///
/// The key is only put into words when something was found.
pub(super) fn refuse<Vc, Ch, DB>(
    changes: &Ch,
    backend: &DB,
    table: &'static str,
    key: impl FnOnce() -> String,
) -> crate::Result<()>
where
    Vc: Column,
    Ch: QueryFragment<DB>,
    DB: Dialect,
{
    if sets::<Vc, Ch, DB>(changes, backend)? {
        return Err(Error::VersionInChanges(VersionInChanges {
            table,
            key: key(),
            column: Vc::NAME,
        }));
    }
    Ok(())
}

fn sets<Vc, Ch, DB>(changes: &Ch, backend: &DB) -> QueryResult<bool>
where
    Vc: Column,
    Ch: QueryFragment<DB>,
    DB: Dialect,
{
    let mut rendered = DB::query_builder(backend);
    changes.to_sql(&mut rendered, backend)?;
    let rendered = rendered.finish();
    // The quoted column is needed only when its bare name occurs at all.
    if !rendered.contains(Vc::NAME) {
        return Ok(false);
    }
    let mut assigned = DB::query_builder(backend);
    assigned.push_identifier(Vc::NAME)?;
    assigned.push_sql(" = ");
    let assigned = assigned.finish();
    Ok(rendered
        .match_indices(&assigned)
        .any(|(at, _)| at == 0 || rendered[..at].ends_with(", ")))
}
