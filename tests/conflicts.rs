//! What a refused write says: which row, what was expected, what is there, and never a value of a column.
#![cfg(all(feature = "sqlite", feature = "r2d2"))]

mod support;

use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel_occ::prelude::*;
use diesel_occ::{ConflictKind, Error};
use support::*;

/// The error, its source and the source's source, as a log would show them.
fn all_its_words(error: &Error) -> String {
    let mut words = format!("{error} {error:?}");
    let mut next = std::error::Error::source(error);
    while let Some(source) = next {
        words += &format!(" {source} {source:?}");
        next = source.source();
    }
    words
}

on_every_connection! {
    fn row_o3_a_failed_write_leaves_the_callers_value_and_conflicts_again(bed) {
        let (conn, other) = (&mut bed.connect(), &mut bed.connect());
        let mine = conn.fetch::<Product>(42).unwrap();
        other.modify(42, Mode::optimistic(), |product: &mut Product| product.stock = 11).unwrap();
        let before = mine.clone();
        for _ in 0..2 {
            assert!(matches!(conn.save(&mine), Err(Error::Conflict(_))));
            assert_eq!(mine, before);
            assert!(matches!(conn.versioned_update(&mine, products::stock.eq(1)), Err(Error::Conflict(_))));
            assert!(matches!(conn.versioned_update_returning(&mine, products::stock.eq(1)), Err(Error::Conflict(_))));
        }
        assert_eq!(conn.fetch::<Product>(42).unwrap().stock, 11);
        assert_eq!(conn.current_row(&mine).unwrap().unwrap().version, 8);
    }

    fn row_o3_save_answers_a_copy_and_leaves_its_argument(bed) {
        let conn = &mut bed.connect();
        let mut mine = conn.fetch::<Product>(42).unwrap();
        mine.stock = 3;
        let saved = conn.save(&mine).unwrap();
        assert_eq!((mine.version, saved.version, saved.stock), (7, 8, 3));
        assert_eq!(conn.fetch::<Product>(42).unwrap(), saved);
    }

    fn row_o4_a_conflict_carries_its_facts_and_no_values(bed) {
        let conn = &mut bed.connect();
        let error = conn.versioned_update(Product::at(42, 3), products::name.eq("secret coffee")).unwrap_err();
        let words = all_its_words(&error);
        let Error::Conflict(conflict) = error else { panic!("{error:?}") };
        assert_eq!((conflict.table, conflict.key.as_str()), ("products", "42"));
        assert_eq!((conflict.expected.as_str(), conflict.actual.as_deref()), ("3", Some("7")));
        assert_eq!(conflict.kind, ConflictKind::Modified);
        assert_eq!(conflict.to_string(), "products 42: expected version 3, found 7");
        assert!(!words.contains("secret"), "{words}");
    }

    fn row_o4_deleted_and_never_existed_are_told_apart(bed) {
        let (conn, other) = (&mut bed.connect(), &mut bed.connect());
        let held = conn.fetch::<Product>(43).unwrap();
        other.versioned_delete(&held).unwrap();
        for error in [
            conn.save(&held).unwrap_err(),
            conn.touch(&held).unwrap_err(),
            conn.verify(&held).unwrap_err(),
            conn.versioned_delete(&held).unwrap_err(),
            conn.versioned_update_returning(&held, products::stock.eq(1)).unwrap_err(),
        ] {
            let Error::Conflict(conflict) = error else { panic!("{error:?}") };
            assert_eq!((conflict.kind, conflict.actual.as_deref()), (ConflictKind::Deleted, None));
            assert_eq!(conflict.to_string(), "products 43: expected version 1, the row is deleted");
        }
        assert!(conn.current_row(&held).unwrap().is_none());
        for error in [
            conn.fetch::<Product>(99).unwrap_err(),
            conn.modify(99, Mode::optimistic(), |product: &mut Product| product.stock = 1).unwrap_err(),
        ] {
            assert!(matches!(&error, Error::NotFound(facts) if facts.table == "products" && facts.key == "99"), "{error:?}");
        }
        assert_eq!(products::table.count().get_result::<i64>(conn).unwrap(), 1, "nothing was put in its place");
    }

    fn bad_input_a_changeset_that_sets_the_version_is_refused_before_any_sql(bed) {
        let conn = &mut bed.connect();
        let log = Log::on(conn);
        #[derive(AsChangeset, Clone)]
        #[diesel(table_name = products)]
        struct Smuggled { stock: i32, version: i64 }
        let smuggled = || Smuggled { stock: 1, version: 900 };
        let errors = [
            conn.versioned_update(Product::at(42, 7), products::version.eq(900)).unwrap_err(),
            conn.versioned_update(Product::at(42, 7), smuggled()).unwrap_err(),
            conn.versioned_update_returning(Product::at(42, 7), smuggled()).unwrap_err(),
            conn.unchecked_update(Product::key(42), (products::stock.eq(1), Some(products::version.eq(900)))).unwrap_err(),
            conn.guarded_update(Product::key(42), products::stock.ge(0), smuggled()).unwrap_err(),
            conn.guarded_update(Product::at(42, 7), products::stock.ge(0), smuggled()).unwrap_err(),
            products::table.find(42).update_if(products::version, 7, smuggled()).execute(conn).unwrap_err(),
            products::table.find(42).update_if(products::version, 7, smuggled()).unchecked_query().execute(conn).unwrap_err(),
            products::table.unchecked_update(products::version, smuggled()).execute(conn).unwrap_err(),
            conn.versioned_update(Part::at((1, "x".into()), 3), (parts::qty.eq(1), parts::rev.eq(9))).unwrap_err(),
        ];
        for error in errors {
            let Error::VersionInChanges(facts) = &error else { panic!("{error:?}") };
            assert!(facts.column == "version" || facts.column == "lock_version", "{facts}");
            assert!(!all_its_words(&error).contains("900"));
        }
        assert_eq!(log.statements(), Vec::<String>::new());
        assert_eq!(conn.fetch::<Product>(42).unwrap().version, 7);
        // The version may be read in the changes.
        conn.versioned_update(Product::at(42, 7), products::stock.eq(diesel::dsl::sql::<diesel::sql_types::Integer>("version + 1"))).unwrap();
        assert_eq!(conn.fetch::<Product>(42).unwrap().stock, 8);
    }

    fn bad_input_one_key_of_several_rows_in_a_transaction_is_an_error_and_none_is_written(bed) {
        let conn = &mut bed.connect();
        // The count decides afterwards, and the transaction is not committed even if the error is swallowed.
        let result = conn.transact(&Retry::default(), |tx| -> Result<(), App> {
            let error = tx.versioned_update(Loose::at(1, 7), loose::note.eq("lost")).unwrap_err();
            assert!(matches!(&error, Error::TooManyRows(facts) if facts.rows == 2 && facts.written), "{error:?}");
            assert!(matches!(tx.touch(Product::at(42, 7)), Err(Error::Poisoned(_))));
            Ok(())
        });
        assert!(matches!(result, Err(App::Occ(Error::Poisoned(_)))), "{result:?}");
        let notes: Vec<String> = loose::table.order(loose::note).select(loose::note).load(conn).unwrap();
        assert_eq!(notes, ["a", "b", "c", "d"]);
        assert_eq!(conn.fetch::<Product>(42).unwrap().version, 7);
    }

    fn bad_input_an_empty_list_is_ok_without_sql(bed) {
        let conn = &mut bed.connect();
        let log = Log::on(conn);
        assert_eq!(conn.save_all::<Product>(&[]).unwrap(), []);
        assert_eq!(log.statements(), Vec::<String>::new());
    }

    fn row_o3_save_all_saves_every_model_or_none(bed) {
        let conn = &mut bed.connect();
        let (first, second) = (conn.fetch::<Product>(42).unwrap(), conn.fetch::<Product>(43).unwrap());
        let mine = [Product { stock: 1, ..first.clone() }, Product { stock: 2, ..second.clone() }];
        let saved = conn.save_all(&mine).unwrap();
        assert_eq!(saved.iter().map(|product| (product.stock, product.version)).collect::<Vec<_>>(), [(1, 8), (2, 2)]);
        let stale = [Product { stock: 9, ..saved[0].clone() }, Product { stock: 9, ..second }];
        assert!(matches!(conn.save_all(&stale), Err(Error::Conflict(conflict)) if conflict.key == "43"));
        assert_eq!(conn.fetch::<Product>(42).unwrap().stock, 1, "the first is taken back");
    }
}

mod where_a_write_can_count_its_own_rows {
    use super::*;

    on_every_connection! {
    of sqlite, of postgres;

    fn bad_input_one_key_of_several_rows_is_an_error_and_none_is_written(bed) {
        let conn = &mut bed.connect();
        let errors = [
            conn.touch(Loose::at(1, 7)).unwrap_err(),
            conn.versioned_update(Loose::at(1, 7), loose::note.eq("lost")).unwrap_err(),
            conn.versioned_delete(Loose::at(1, 7)).unwrap_err(),
            conn.verify(Loose::at(1, 7)).unwrap_err(),
            conn.unchecked_update(Loose::key(1), loose::note.eq("lost")).unwrap_err(),
            conn.unchecked_delete(Loose::key(1)).unwrap_err(),
            conn.save(&Loose { id: 1, note: "lost".into(), version: 7 }).unwrap_err(),
        ];
        for error in errors {
            assert!(matches!(&error, Error::TooManyRows(facts) if facts.rows == 2 && !facts.written), "{error:?}");
        }
        let notes: Vec<String> = loose::table.order(loose::note).select(loose::note).load(conn).unwrap();
        assert_eq!(notes, ["a", "b", "c", "d"]);
        assert_eq!(conn.fetch::<Product>(42).unwrap().version, 7);
    }
    }
}

mod where_a_write_cannot_count_its_own_rows {
    use super::*;

    on_every_connection! {
    of mysql;

    fn bad_input_one_key_of_several_rows_outside_a_transaction_is_an_error_that_says_that_they_were_written(bed) {
        let conn = &mut bed.connect();
        let error = conn.versioned_update(Loose::at(1, 7), loose::note.eq("x")).unwrap_err();
        assert!(matches!(&error, Error::TooManyRows(facts) if facts.rows == 2 && facts.written), "{error:?}");
        let error = conn.verify(Loose::at(1, 8)).unwrap_err();
        assert!(matches!(&error, Error::TooManyRows(facts) if facts.rows == 2 && !facts.written), "{error:?}");
    }
    }
}

mod only_on_sqlite {
    use super::*;

    on_every_connection! {
    of sqlite;

    fn row_o4_a_write_that_the_database_swallows_is_suppressed_and_not_a_conflict(bed) {
        let conn = &mut bed.connect();
        conn.batch_execute("
            CREATE TRIGGER quiet BEFORE UPDATE ON products WHEN old.id = 42 BEGIN SELECT RAISE(IGNORE); END;
            CREATE TRIGGER quiet_delete BEFORE DELETE ON products WHEN old.id = 42 BEGIN SELECT RAISE(IGNORE); END;
        ").unwrap();
        let held = conn.fetch::<Product>(42).unwrap();
        let mut closures = 0;
        for error in [
            conn.save(&held).unwrap_err(),
            conn.touch(&held).unwrap_err(),
            conn.versioned_delete(&held).unwrap_err(),
            conn.versioned_update_returning(&held, products::stock.eq(1)).unwrap_err(),
            conn.guarded_update(Product::key(42), products::stock.ge(1), products::stock.eq(1)).unwrap_err(),
            conn.unchecked_update(Product::key(42), products::stock.eq(1)).unwrap_err(),
            conn.unchecked_delete(Product::key(42)).unwrap_err(),
            conn.modify(42, Mode::optimistic(), |product: &mut Product| { closures += 1; product.stock = 1 }).unwrap_err(),
            products::table.find(42).update_if(products::version, 7, products::stock.eq(1)).execute(conn).unwrap_err(),
        ] {
            assert!(matches!(&error, Error::Suppressed(facts) if facts.version == "7"), "{error:?}");
        }
        assert_eq!(closures, 1, "not retried");
        let stale = conn.touch(Product::at(42, 6)).unwrap_err();
        assert!(matches!(stale, Error::Conflict(_)), "{stale:?}");
        let guard = conn.guarded_update(Product::at(42, 7), products::stock.ge(99), products::stock.eq(1)).unwrap_err();
        assert!(matches!(guard, Error::GuardFailed(_)), "{guard:?}");
    }

    fn row_o4_a_view_with_an_instead_of_trigger_is_suppressed(bed) {
        let conn = &mut bed.connect();
        conn.batch_execute("
            DROP TABLE flags; CREATE TABLE flags_behind (id INTEGER PRIMARY KEY, version INTEGER NOT NULL);
            INSERT INTO flags_behind VALUES (1, 1);
            CREATE VIEW flags AS SELECT * FROM flags_behind;
            CREATE TRIGGER flags_update INSTEAD OF UPDATE ON flags BEGIN SELECT 1; END;
        ").unwrap();
        let error = conn.touch(Flag::at(1, 1)).unwrap_err();
        assert!(matches!(error, Error::Suppressed(_)), "{error:?}");
    }
    }
}
