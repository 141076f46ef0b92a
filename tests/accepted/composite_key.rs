//! Two columns are the key, in the order of `table!`; the fields stand in another, and the table is inferred.
use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel_occ::prelude::*;

diesel::table! {
    order_lines (order_id, number) { order_id -> BigInt, number -> Integer, amount -> Integer, version -> BigInt, }
}

#[derive(Clone, Queryable, Versioned)]
#[diesel(primary_key(order_id, number))]
struct OrderLine {
    version: i64,
    number: i32,
    amount: i32,
    order_id: i64,
}

#[test]
fn row_o8_composite_key_is_accepted() -> diesel_occ::Result<()> {
    let mut conn = SqliteConnection::establish(":memory:").unwrap();
    conn.batch_execute(
        "CREATE TABLE order_lines (order_id BIGINT, number INTEGER, amount INTEGER NOT NULL, version BIGINT NOT NULL,
             PRIMARY KEY (order_id, number));
         INSERT INTO order_lines VALUES (1, 2, 3, 7);",
    )?;
    let line = conn.fetch::<OrderLine>((1, 2))?;
    assert_eq!(
        (line.order_id, line.number, line.amount, line.version),
        (1, 2, 3, 7)
    );
    assert_eq!(line.row_key(), (1, 2));
    assert_eq!(conn.save(&OrderLine { amount: 4, ..line })?.version, 8);
    assert_eq!(conn.fetch::<OrderLine>((1, 2))?.amount, 4);
    assert_eq!(OrderLine::TABLE, "order_lines");
    Ok(())
}
