//! A save writes neither `skip_update` fields nor the soft-delete mark.
use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel_occ::prelude::*;

diesel::table! {
    notes (id) { id -> BigInt, text -> Text, made_by -> Text, deleted_at -> Nullable<Text>, version -> BigInt, }
}

#[derive(Clone, Queryable, Versioned)]
#[versioned(soft_delete = deleted_at)]
struct Note {
    id: i64,
    text: String,
    #[diesel(skip_update)]
    made_by: String,
    deleted_at: Option<String>,
    version: i64,
}

#[test]
fn row_o8_what_a_save_leaves_out_is_accepted() -> diesel_occ::Result<()> {
    let mut conn = SqliteConnection::establish(":memory:").unwrap();
    conn.batch_execute(
        "CREATE TABLE notes (id BIGINT PRIMARY KEY, text TEXT NOT NULL, made_by TEXT NOT NULL, deleted_at TEXT,
             version BIGINT NOT NULL);
         INSERT INTO notes VALUES (1, 'draft', 'ann', NULL, 7);",
    )?;
    let note = conn.fetch::<Note>(1)?;
    conn.save(&Note {
        text: "final".into(),
        made_by: "bob".into(),
        deleted_at: Some("now".into()),
        ..note
    })?;
    let note = conn.fetch::<Note>(1)?;
    assert_eq!((note.id, note.text.as_str(), note.version), (1, "final", 8));
    assert_eq!((note.made_by.as_str(), note.deleted_at), ("ann", None));
    Ok(())
}
