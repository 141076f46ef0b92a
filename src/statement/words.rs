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

/// The same of the first table that a query names.
pub(super) fn first_table<Q>() -> &'static str {
    let query = std::any::type_name::<Q>();
    let path = query.split_once("::table").map_or(query, |(path, _)| path);
    path.rsplit("::").next().unwrap_or(path)
}

/// The last name in quotes, with them: of `"schema"."table"` the table, of `"table" AS "alias"` the alias.
pub(super) fn last_identifier<'s>(sql: &'s str, quote: &str) -> Option<&'s str> {
    let inner = sql.strip_suffix(quote)?;
    let mut start = inner.rfind(quote)?;
    // A quote in the name is written twice.
    while let Some(before) = inner[..start].strip_suffix(quote) {
        start = before.rfind(quote)?;
    }
    Some(&sql[start..])
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

/// Whether a WHERE can be followed by ` AND ..` as it is: groups in parentheses joined by AND, as Diesel renders them.
///
/// Raw SQL may hold an OR outside of parentheses, and `a OR b AND version = ?` is `a OR (b AND ..)`. What is not surely
/// grouped is no error: it is put into a subquery. So whatever is unusual here may answer no.
pub(super) fn is_grouped(sql: &str) -> bool {
    let Some(sql) = sql.trim().strip_prefix("WHERE ") else {
        return sql.trim().is_empty();
    };
    let (mut depth, mut quote, mut outside) = (0_u32, None, String::new());
    let mut chars = sql.chars().peekable();
    while let Some(c) = chars.next() {
        match (quote, c) {
            // A bind of PostgreSQL. The tag of a quoted string cannot begin with a digit.
            (None, '$') if depth > 0 && chars.peek().is_some_and(char::is_ascii_digit) => {}
            // Escapes, other kinds of quotes, and comments.
            (_, '\'' | '\\' | '$' | '[' | ']' | '-' | '/' | '#' | ';') => return false,
            (Some(open), _) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '"' | '`') if depth == 0 => return false,
            (None, '"' | '`') => quote = Some(c),
            (None, '(') => depth += 1,
            (None, ')') if depth == 0 => return false,
            (None, ')') => {
                depth -= 1;
                outside.push(' ');
            }
            (None, _) if depth == 0 => outside.push(c),
            (None, _) => {}
        }
    }
    quote.is_none() && depth == 0 && outside.split_whitespace().all(|word| word == "AND")
}

#[cfg(test)]
mod tests {
    use super::is_grouped;

    #[test]
    fn only_what_diesel_renders_is_taken_as_it_is() {
        for grouped in [
            "",
            " WHERE (`products`.`id` = ?)",
            " WHERE ((`a` = ?) OR (`b` = ?))",
            " WHERE ((`a` = ?) AND (`b` IN (?, ?)))",
            " WHERE (\"a\" = $1)",
            " WHERE ((\"a\" = $1) OR (\"b\" = $12))",
            " WHERE (`a` = ?) AND (`b` = ?)",
        ] {
            assert!(is_grouped(grouped), "{grouped}");
        }
        for loose in [
            " WHERE a = 1 OR b = 2",
            " WHERE (a) or (b)",
            " WHERE (a) XOR (b)",
            " WHERE (a) || (b)",
            " WHERE (a = 1) -- and",
            " WHERE (a /* and",
            " WHERE (a); DROP",
            " WHERE a = 1) OR (b = 1",
            " WHERE (a = 'open",
            " WHERE ([it's] = 1) OR ([b's] = 2)",
            " WHERE ([it's] = 1 OR [b's] = 2)",
            " WHERE (a = $$) OR (b = $$)",
            " WHERE (a = $x$) OR (b = $x$)",
            " WHERE (a = $1 $$) OR (b$$)",
            " WHERE $1 OR $2",
            " WHERE (`a` = '\\'' OR 1 = 1)",
            " WHERE `a` OR `b`",
        ] {
            assert!(!is_grouped(loose), "{loose}");
        }
    }
}
