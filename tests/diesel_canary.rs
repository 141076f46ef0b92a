//! What this crate uses of Diesel that Diesel does not document. Red here means that a new Diesel needs a look.
#![cfg(feature = "sqlite")]

use diesel::connection::{
    Connection, TransactionDepthChange, TransactionManager, TransactionManagerStatus,
};
use diesel::prelude::*;
use diesel::query_builder::{IntoUpdateTarget, QueryFragment};
use diesel::sqlite::{Sqlite, SqliteQueryBuilder};

diesel::table! { products (id) { id -> BigInt, stock -> Integer, version -> BigInt, } }

#[test]
fn the_parts_of_an_update_target_are_reachable() {
    let target = products::table.find(1).into_update_target();
    let mut sql = SqliteQueryBuilder::new();
    QueryFragment::<Sqlite>::to_sql(&target.where_clause, &mut sql, &Sqlite).unwrap();
    let sql = diesel::query_builder::QueryBuilder::<Sqlite>::finish(sql);
    assert_eq!(sql, " WHERE (`products`.`id` = ?)");
}

/// The search for changes that set the version looks for exactly this.
#[test]
fn an_assignment_is_a_bare_quoted_column_and_an_equals_sign() {
    let changes = (products::stock.eq(1), products::version.eq(2)).as_changeset();
    let mut sql = SqliteQueryBuilder::new();
    QueryFragment::<Sqlite>::to_sql(&changes, &mut sql, &Sqlite).unwrap();
    let sql = diesel::query_builder::QueryBuilder::<Sqlite>::finish(sql);
    assert_eq!(sql, "`stock` = ?, `version` = ?");
}

#[test]
fn the_depth_of_a_transaction_can_be_kept_by_hand() {
    let mut conn = SqliteConnection::establish(":memory:").unwrap();
    type Manager = <SqliteConnection as Connection>::TransactionManager;
    let TransactionManagerStatus::Valid(status) =
        Manager::transaction_manager_status_mut(&mut conn)
    else {
        panic!("in error")
    };
    status
        .change_transaction_depth(TransactionDepthChange::IncreaseDepth)
        .unwrap();
    assert_eq!(status.transaction_depth().map(u32::from), Some(1));
}

/// Savepoints of ours and of Diesel's must not share a name.
#[test]
fn diesels_savepoints_have_names_of_their_own() {
    let mut conn = SqliteConnection::establish(":memory:").unwrap();
    conn.transaction(|conn| {
        conn.transaction(|conn| {
            diesel::connection::SimpleConnection::batch_execute(
                conn,
                "SAVEPOINT probe; RELEASE diesel_savepoint_1; SAVEPOINT diesel_savepoint_1",
            )
        })
    })
    .unwrap();
}
