//! What Diesel believes of a connection.

use diesel::connection::{Connection, TransactionManager};

/// How many transactions are open, savepoints counted.
pub fn depth<C: Connection>(conn: &mut C) -> u32 {
    let status = C::TransactionManager::transaction_manager_status_mut(conn);
    status
        .transaction_depth()
        .unwrap()
        .map_or(0, |depth| depth.get())
}

/// Whether no pool takes it back.
pub fn broken<C: Connection>(conn: &mut C) -> bool {
    C::TransactionManager::is_broken_transaction_manager(conn)
}

/// What Diesel does to a connection when it has lost track of a transaction.
pub fn break_it<C: Connection>(conn: &mut C) {
    C::TransactionManager::transaction_manager_status_mut(conn).set_in_error();
}
