//! Nothing is left to write: a save moves the version.
use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel_occ::prelude::*;

diesel::table! {
    marks (id) { id -> BigInt, version -> SmallInt, }
}

#[derive(Clone, Queryable, Versioned)]
struct Mark {
    id: i64,
    version: i16,
}

#[test]
fn row_o8_key_and_version_only_is_accepted() -> diesel_occ::Result<()> {
    let mut conn = SqliteConnection::establish(":memory:").unwrap();
    conn.batch_execute(
        "CREATE TABLE marks (id BIGINT PRIMARY KEY, version SMALLINT NOT NULL);
         INSERT INTO marks VALUES (1, 7);",
    )?;
    let mark = conn.fetch::<Mark>(1)?;
    assert_eq!(conn.save(&mark)?.version, 8);
    assert_eq!(conn.fetch::<Mark>(mark.id)?.version, 8);
    Ok(())
}
