//! Statements, messages and round trips, through Diesel's connections.

use crate::place::{Place, Server, through};
use crate::support::proxy::Proxy;
use diesel::connection::SimpleConnection;
use diesel::prelude::*;

/// All that passed since the last look.
fn seen(proxy: &Proxy) -> (Vec<String>, String, usize) {
    let messages = proxy.messages().join(" ");
    (proxy.statements(), messages, proxy.round_trips())
}

fn expected(
    statements: &[&str],
    messages: &str,
    round_trips: usize,
) -> (Vec<String>, String, usize) {
    let statements = statements.iter().map(|text| text.to_string()).collect();
    (statements, messages.to_owned(), round_trips)
}

on_both! {
    fn connections_are_told_apart(place) {
        let proxy = place.proxy();
        let (mut first, mut second) = (through::<Conn>(&proxy), through::<Conn>(&proxy));
        // What each prepares has the same name, or number, on its own connection.
        for (conn, sign) in [(&mut first, "+"), (&mut second, "-")] {
            let query = format!("SELECT balance {sign} 1 AS balance FROM accounts");
            diesel::sql_query(query).execute(conn).unwrap();
        }
        first.batch_execute("SELECT 3").unwrap();
        let all_round_trips = if Conn::NAME == "mysql" { (5, 2) } else { (2, 1) };
        assert_eq!((proxy.round_trips_of(0), proxy.round_trips_of(1)), all_round_trips);
        assert_eq!(proxy.statements_of(1), ["SELECT balance - 1 AS balance FROM accounts"]);
        assert_eq!(proxy.statements(), ["SELECT balance + 1 AS balance FROM accounts", "SELECT 3"]);
    }

    fn a_long_statement_and_a_long_answer_pass_whole(place) {
        let proxy = place.proxy();
        let mut conn: Conn = through(&proxy);
        let text = "x".repeat(500_000);
        let query = diesel::dsl::sql::<diesel::sql_types::Text>(&format!("SELECT '{text}'"));
        assert_eq!(query.get_result::<String>(&mut conn).unwrap(), text);
        assert_eq!(proxy.statements(), [format!("SELECT '{text}'")]);
    }

    fn a_failed_statement_is_counted_and_the_next_one_too(place) {
        let proxy = place.proxy();
        let mut conn: Conn = through(&proxy);
        for _ in 0..2 {
            diesel::sql_query("SELECT nothing FROM accounts").execute(&mut conn).unwrap_err();
        }
        proxy.forget();
        assert_eq!(conn.set_balance(11), Ok(1));
        assert_eq!(proxy.statements().len(), 1);
    }
}

#[cfg(feature = "postgres")]
#[test]
fn postgres_counts_a_batch_as_one_and_a_new_prepared_query_as_two() {
    let place = Place::<PgConnection>::new();
    let proxy = place.proxy();
    let mut conn: PgConnection = through(&proxy);
    conn.batch_execute("SELECT 1").unwrap();
    assert_eq!(seen(&proxy), expected(&["SELECT 1"], "Query", 1));

    let query = r#"SELECT "accounts"."balance" FROM "accounts" LIMIT $1"#;
    conn.balance().unwrap();
    let first = "Parse Sync Bind Describe Execute Sync";
    assert_eq!(seen(&proxy), expected(&[query], first, 2));
    conn.balance().unwrap();
    let cached = "Bind Describe Execute Sync";
    assert_eq!(seen(&proxy), expected(&[query], cached, 1));

    // Diesel does not cache an UPDATE, and what is not cached goes out at once.
    conn.set_balance(11).unwrap();
    let update = r#"UPDATE "accounts" SET "balance" = $1"#;
    let at_once = "Parse Bind Describe Execute Sync";
    assert_eq!(seen(&proxy), expected(&[update], at_once, 1));
}

#[cfg(feature = "postgres")]
#[test]
fn postgres_copies_in_two_round_trips() {
    let place = Place::<PgConnection>::new();
    let proxy = place.proxy();
    let mut conn: PgConnection = through(&proxy);
    let copied = diesel::copy_from(crate::place::accounts::table)
        .from_raw_data(crate::place::accounts::table, |copy| {
            copy.write_all(b"2\t20\n")
                .map_err(|error| diesel::result::Error::SerializationError(error.into()))
        })
        .execute(&mut conn);
    assert_eq!(copied, Ok(1));
    let (statements, messages, round_trips) = seen(&proxy);
    assert!(statements[0].starts_with("COPY "), "{statements:?}");
    assert_eq!(
        (messages.as_str(), round_trips),
        ("Parse Bind Describe Execute Sync CopyData CopyDone Sync", 2)
    );
    // The server has answered only one of the two Syncs, and what is answered next is still known.
    let cut = proxy.cut_after("UPDATE");
    crate::place::assert_lost::<PgConnection>(conn.set_balance(11));
    assert!(cut.fired());
}

#[cfg(feature = "mysql")]
#[test]
fn mysql_counts_a_batch_as_three_and_a_new_prepared_query_as_two() {
    let place = Place::<MysqlConnection>::new();
    let proxy = place.proxy();
    let mut conn: MysqlConnection = through(&proxy);
    conn.batch_execute("SELECT 1").unwrap();
    let batch = "COM_SET_OPTION COM_QUERY COM_SET_OPTION";
    assert_eq!(seen(&proxy), expected(&["SELECT 1"], batch, 3));

    let query = "SELECT `accounts`.`balance` FROM `accounts` LIMIT ?";
    conn.balance().unwrap();
    let first = "COM_STMT_PREPARE COM_STMT_EXECUTE";
    assert_eq!(seen(&proxy), expected(&[query], first, 2));
    conn.balance().unwrap();
    assert_eq!(seen(&proxy), expected(&[query], "COM_STMT_EXECUTE", 1));

    // Diesel does not cache an UPDATE. Its end is a message without an answer, which the next answer shows to have passed.
    conn.set_balance(11).unwrap();
    conn.balance().unwrap();
    let update = "UPDATE `accounts` SET `balance` = ?";
    let closed = "COM_STMT_PREPARE COM_STMT_EXECUTE COM_STMT_CLOSE COM_STMT_EXECUTE";
    assert_eq!(seen(&proxy), expected(&[update, query], closed, 3));
}

#[cfg(feature = "mysql")]
#[test]
fn mysql_without_found_rows_counts_no_row_that_keeps_its_value() {
    let place = Place::<MysqlConnection>::new();
    let proxy = place.proxy();
    let mut earlier: MysqlConnection = through(&proxy);
    assert_eq!(earlier.set_balance(10), Ok(1));
    proxy.clear_found_rows();
    let mut later: MysqlConnection = through(&proxy);
    assert_eq!(later.set_balance(10), Ok(0));
    assert_eq!(later.set_balance(11), Ok(1));
    assert_eq!(earlier.set_balance(11), Ok(1));
}
