//! A `bool` marks a deleted row.
use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel_occ::prelude::*;

diesel::table! {
    notes (id) { id -> BigInt, text -> Text, gone -> Bool, version -> BigInt, }
}

#[derive(Clone, Queryable, Versioned)]
#[versioned(soft_delete = "gone")]
struct Note {
    id: i64,
    text: String,
    gone: bool,
    version: i64,
}

#[test]
fn row_o8_soft_delete_by_a_flag_is_accepted() -> diesel_occ::Result<()> {
    let mut conn = SqliteConnection::establish(":memory:").unwrap();
    conn.batch_execute(
        "CREATE TABLE notes (id BIGINT PRIMARY KEY, text TEXT NOT NULL, gone BOOLEAN NOT NULL, version BIGINT NOT NULL);
         INSERT INTO notes VALUES (1, 'draft', FALSE, 7);",
    )?;
    let note = conn.fetch::<Note>(1)?;
    conn.save(&Note {
        text: "final".into(),
        gone: true,
        ..note
    })?;
    let note = conn.fetch::<Note>(1)?;
    assert_eq!(
        (note.id, note.text.as_str(), note.gone, note.version),
        (1, "final", false, 8)
    );
    Ok(())
}
