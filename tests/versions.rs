//! The kinds of versions and keys: sizes, NULL, the largest number, composite keys, renamed columns.
#![cfg(all(feature = "sqlite", feature = "r2d2"))]

mod support;

use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel_occ::prelude::*;
use diesel_occ::{ConflictKind, Error};
use support::*;

/// Columns in another order than the table's, one left out, one written by triggers only.
#[derive(Debug, Clone, PartialEq, Queryable, Versioned)]
#[diesel(table_name = products)]
struct Shuffled {
    version: i64,
    #[diesel(skip_update)]
    updated_at: Option<String>,
    stock: i32,
    #[diesel(column_name = id)]
    number: i64,
}

on_every_connection! {
    fn row_o8_a_composite_key_reaches_one_row_of_one_tenant(bed) {
        let conn = &mut bed.connect();
        let part = conn.fetch::<Part>((1, "x".into())).unwrap();
        let saved = conn.save(&Part { qty: 99, ..part.clone() }).unwrap();
        assert_eq!((saved.qty, saved.revision), (99, 4));
        assert_eq!(conn.fetch::<Part>((2, "x".into())).unwrap(), Part { tenant: 2, id: "x".into(), qty: 20, revision: 3 });
        let error = conn.save(&part).unwrap_err();
        assert!(matches!(&error, Error::Conflict(conflict) if conflict.key == r#"(1, "x")"#), "{error:?}");
        conn.versioned_delete(Part::at((1, "x".into()), 4)).unwrap();
        conn.verify(Part::at((2, "x".into()), 3)).unwrap();
    }

    fn row_o8_a_null_version_is_a_state_of_its_own_that_the_first_write_ends(bed) {
        let (conn, other) = (&mut bed.connect(), &mut bed.connect());
        let (mine, theirs) = (conn.fetch::<Doc>(1).unwrap(), other.fetch::<Doc>(1).unwrap());
        assert_eq!(mine.v, None);
        let saved = conn.save(&Doc { body: "mine".into(), ..mine }).unwrap();
        assert_eq!(saved.v, Some(1));
        let error = other.save(&theirs).unwrap_err();
        assert!(matches!(&error, Error::Conflict(conflict) if conflict.expected == "None" && conflict.actual.as_deref() == Some("1")), "{error:?}");
        assert_eq!(conn.save(&saved).unwrap().v, Some(2));
        conn.batch_execute("UPDATE docs SET v = NULL WHERE id = 1").unwrap();
        let error = conn.touch(Doc::at(1, Some(2))).unwrap_err();
        assert!(matches!(&error, Error::Conflict(conflict) if conflict.actual.as_deref() == Some("None")), "{error:?}");
        conn.unchecked_touch(Doc::key(1)).unwrap();
        conn.verify(Doc::at(1, Some(1))).unwrap();
        conn.batch_execute("UPDATE docs SET v = NULL WHERE id = 1").unwrap();
        assert_eq!(docs::table.find(1).update_if(docs::v, None::<i16>, docs::body.eq("b")).execute(conn).unwrap(), Some(1));
        conn.batch_execute("UPDATE docs SET v = NULL WHERE id = 1").unwrap();
        conn.versioned_delete(Doc::at(1, None)).unwrap();
    }

    fn row_o8_the_largest_version_is_a_typed_error_before_any_sql(bed) {
        let conn = &mut bed.connect();
        let log = Log::on(conn);
        let errors = [
            conn.touch(Product::at(42, i64::MAX)).unwrap_err(),
            conn.versioned_update(Part::at((1, "x".into()), i32::MAX), parts::qty.eq(1)).unwrap_err(),
            conn.touch(Doc::at(2, Some(i16::MAX))).unwrap_err(),
            conn.versioned_update_returning(Product::at(42, i64::MAX), products::stock.eq(1)).unwrap_err(),
            conn.save(&Product { id: 42, name: String::new(), stock: 1, version: i64::MAX }).unwrap_err(),
            conn.guarded_update(Product::at(42, i64::MAX), products::stock.ge(0), products::stock.eq(1)).unwrap_err(),
            products::table.find(42).update_if(products::version, i64::MAX, products::stock.eq(1)).execute(conn).unwrap_err(),
        ];
        for error in errors {
            assert!(matches!(&error, Error::VersionOverflow(_)), "{error:?}");
        }
        assert_eq!(log.statements(), Vec::<String>::new());
    }

    fn row_o8_a_write_that_knows_no_version_does_not_overflow_it(bed) {
        let conn = &mut bed.connect();
        conn.batch_execute("
            UPDATE products SET version = 9223372036854775807 WHERE id = 42; UPDATE docs SET v = 32767 WHERE id = 1;
            UPDATE parts SET lock_version = 2147483647 WHERE tenant = 1;
        ").unwrap();
        let errors = [
            conn.unchecked_touch(Product::key(42)).unwrap_err(),
            conn.unchecked_update(Part::key((1, "x".into())), parts::qty.eq(1)).unwrap_err(),
            conn.unchecked_touch(Doc::key(1)).unwrap_err(),
            conn.guarded_update(Product::key(42), products::stock.ge(0), products::stock.eq(1)).unwrap_err(),
            conn.modify(42, Mode::optimistic(), |product: &mut Product| product.stock = 1).unwrap_err(),
        ];
        for error in errors {
            assert!(matches!(&error, Error::VersionOverflow(_)), "{error:?}");
        }
        let all = products::table.unchecked_update(products::version, products::stock.eq(1)).execute(conn).unwrap();
        assert_eq!(all, 1);
        assert_eq!(conn.fetch::<Product>(42).unwrap(), Product { id: 42, name: "secret tea".into(), stock: 50, version: i64::MAX });
        // Deleting needs no successor.
        conn.versioned_delete(Product::at(42, i64::MAX)).unwrap();
    }

    fn row_o8_columns_are_found_by_name_in_whatever_order(bed) {
        let conn = &mut bed.connect();
        conn.batch_execute("UPDATE products SET updated_at = 'then' WHERE id = 42").unwrap();
        let row = conn.fetch::<Shuffled>(42).unwrap();
        assert_eq!(row, Shuffled { version: 7, updated_at: Some("then".into()), stock: 50, number: 42 });
        let saved = conn.save(&Shuffled { updated_at: None, stock: 3, ..row }).unwrap();
        let stored = conn.fetch::<Shuffled>(42).unwrap();
        assert_eq!(stored, Shuffled { updated_at: Some("then".into()), ..saved }, "a skipped column is not written");
        let row = conn.versioned_update_returning(&stored, products::stock.eq(4)).unwrap();
        assert_eq!(row, Shuffled { version: 9, stock: 4, ..stored });
    }

    fn row_o8_a_conflict_tells_modified_from_deleted_with_nullable_versions(bed) {
        let conn = &mut bed.connect();
        let error = conn.touch(Doc::at(9, None)).unwrap_err();
        assert!(matches!(&error, Error::Conflict(conflict) if conflict.kind == ConflictKind::Deleted), "{error:?}");
    }
}
