//! How the facts of a failure name a row that is given by a query: by its table and its WHERE.

use crate::backend::Dialect;
use crate::error::{AmbiguousFilter, Error, Result};
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

/// Refuses a WHERE whose raw SQL would go past what is appended to it: `a OR b AND version = ?` is `a OR (b AND ..)`.
/// What Diesel renders itself stands in parentheses.
pub(super) fn refuse_loose_filter(table: &'static str, rows: &str) -> Result<()> {
    if is_loose(rows) {
        return Err(Error::AmbiguousFilter(AmbiguousFilter {
            table,
            filter: rows.to_owned(),
        }));
    }
    Ok(())
}

/// Whether something binds weaker than AND outside of parentheses and quotes, or may hide what comes after it.
fn is_loose(sql: &str) -> bool {
    let (mut depth, mut quote, mut word) = (0_i32, None, String::new());
    let mut last = ' ';
    for c in sql.chars().chain([' ']) {
        if let Some(open) = quote {
            if c == open {
                quote = None;
            }
            last = c;
            continue;
        }
        if c.is_alphanumeric() || c == '_' {
            word.push(c.to_ascii_uppercase());
        } else {
            if depth == 0 && matches!(word.as_str(), "OR" | "XOR") {
                return true;
            }
            word.clear();
        }
        match c {
            '\'' | '"' | '`' => quote = Some(c),
            '(' => depth += 1,
            ')' => depth -= 1,
            '|' if last == '|' && depth == 0 => return true,
            '-' if last == '-' => return true,
            '*' if last == '/' => return true,
            ';' => return true,
            _ => {}
        }
        if depth < 0 {
            return true;
        }
        last = c;
    }
    quote.is_some() || depth != 0
}

#[cfg(test)]
mod tests {
    use super::is_loose;

    #[test]
    fn only_what_goes_past_the_check_is_loose() {
        for safe in [
            "WHERE (`products`.`id` = ?)",
            "WHERE ((`a` = ?) OR (`b` = ?))",
            "WHERE (a = 'x OR y' OR b = 1) AND c",
            "WHERE \"order\" = 1 AND ORDERS = 2",
            "WHERE a = 'it''s'",
            "",
        ] {
            assert!(!is_loose(safe), "{safe}");
        }
        for loose in [
            "WHERE a = 1 OR b = 2",
            "WHERE (a) or (b)",
            "WHERE a XOR b",
            "WHERE a || b",
            "WHERE a = 1 -- and",
            "WHERE a /* and",
            "WHERE a; DROP",
            "WHERE a = 1) OR (b = 1",
            "WHERE a = 'open",
        ] {
            assert!(is_loose(loose), "{loose}");
        }
    }
}
