//! How the facts of a failure name a row that is given by a query: by its table and its WHERE.

use crate::backend::Dialect;
use crate::error::Result;
use diesel::query_builder::{QueryBuilder, QueryFragment};

/// The name of the module that `table!` made: only for the facts of a failure.
pub(super) fn table_name<T>() -> &'static str {
    let path = std::any::type_name::<T>();
    let module = path.strip_suffix("::table").unwrap_or(path);
    module.rsplit("::").next().unwrap_or(module)
}

/// The WHERE of a query without its values: what stands for the key in the facts of a failure.
pub(super) fn key_in_words<DB: Dialect, W: QueryFragment<DB>>(
    rows: &W,
    backend: &DB,
) -> Result<String> {
    let mut rendered = DB::query_builder(backend);
    rows.to_sql(&mut rendered, backend)?;
    Ok(rendered.finish().trim().to_owned())
}
