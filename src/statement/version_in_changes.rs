//! Finding changes that set the version themselves. SQLite and MariaDB would take them without a word, and a client could
//! write any version it likes.

use super::column::is_plain;
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
    if assign(changes, backend, Vc::NAME, const { is_plain(Vc::NAME) })? {
        return Err(Error::VersionInChanges(VersionInChanges {
            table,
            key: key(),
            column: Vc::NAME,
        }));
    }
    Ok(())
}

/// Whether the changes assign this column. In quotes a plain name is itself, so nothing more is looked for where it does not
/// occur at all.
pub(super) fn assign<Ch, DB>(
    changes: &Ch,
    backend: &DB,
    column: &str,
    is_plain: bool,
) -> QueryResult<bool>
where
    Ch: QueryFragment<DB>,
    DB: Dialect,
{
    let mut rendered = DB::query_builder(backend);
    changes.to_sql(&mut rendered, backend)?;
    let rendered = rendered.finish();
    if is_plain && !rendered.contains(column) {
        return Ok(false);
    }
    let mut assigned = DB::query_builder(backend);
    assigned.push_identifier(column)?;
    assigned.push_sql(" = ");
    let assigned = assigned.finish();
    Ok(rendered
        .match_indices(&assigned)
        .any(|(at, _)| at == 0 || rendered[..at].ends_with(", ")))
}
