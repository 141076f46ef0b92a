//! Says which SQLite the tests are linked with. `tests/run` reads the line that is printed here.
#![cfg(feature = "sqlite")]

use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::Text;

#[test]
fn row_o2_linked_sqlite_has_returning() {
    let mut conn = SqliteConnection::establish(":memory:").unwrap();
    let version: String = diesel::select(sql::<Text>("sqlite_version()"))
        .get_result(&mut conn)
        .unwrap();
    println!("sqlite {version}");

    let mut parts = version.split('.').map(|part| part.parse::<u32>().unwrap());
    let (major, minor) = (parts.next().unwrap(), parts.next().unwrap());
    assert!(
        (major, minor) >= (3, 35),
        "RETURNING came with SQLite 3.35, this is {version}"
    );
}
