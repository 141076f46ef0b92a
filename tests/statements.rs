//! The checked statements: what each sends, what it counts, what it answers.
#![cfg(all(feature = "sqlite", feature = "r2d2"))]

mod support;

use diesel::prelude::*;
use diesel_occ::prelude::*;
use diesel_occ::{Error, Removal, uncached};
use support::*;

#[derive(AsChangeset)]
#[diesel(table_name = products)]
struct Form {
    name: Option<String>,
    stock: Option<i32>,
}

on_every_connection! {
    fn row_o1_the_version_moves_by_one_in_every_write(bed) {
        let conn = &mut bed.connect();
        let row = conn.versioned_update(Product::at(42, 7), products::stock.eq(49)).unwrap();
        assert_eq!(row, Product::at(42, 8));
        let product = conn.fetch::<Product>(42).unwrap();
        let saved = conn.save(&product).unwrap();
        assert_eq!(saved.version, 9);
        let touched = conn.touch(&saved).unwrap();
        assert_eq!(touched.version, 10);
        let modified = conn.modify(42, Mode::optimistic(), |product: &mut Product| product.stock -= 1).unwrap();
        assert_eq!(modified.version, 11);
        conn.guarded_update(Product::key(42), products::stock.ge(1), products::stock.eq(1)).unwrap();
        conn.unchecked_update(Product::key(42), products::stock.eq(2)).unwrap();
        conn.unchecked_touch(Product::key(42)).unwrap();
        let returned = conn.versioned_update_returning(Product::at(42, 14), products::stock.eq(3)).unwrap();
        assert_eq!(returned, conn.fetch::<Product>(42).unwrap());
        assert_eq!((returned.version, returned.stock), (15, 3));
    }

    fn row_o2_a_success_is_one_statement_with_the_version_in_its_where(bed) {
        let conn = &mut bed.connect();
        let log = Log::on(conn);
        let product = conn.fetch::<Product>(42).unwrap();
        assert_eq!(log.statements().len(), 1, "fetch");
        let row = conn.versioned_update(&product, products::stock.eq(49)).unwrap();
        let sent = log.statements();
        assert_eq!(sent.len(), 1, "{sent:?}");
        assert!(sent[0].starts_with("UPDATE `products` SET `stock` = ?, `version` = `version` + 1 WHERE "), "{sent:?}");
        assert!(sent[0].contains("AND `version` = ?"), "{sent:?}");
        let row = conn.touch(row).unwrap();
        assert_eq!(log.statements().len(), 1, "touch");
        conn.verify(&row).unwrap();
        assert_eq!(log.statements().len(), 1, "verify");
        let product = conn.fetch::<Product>(42).unwrap();
        log.statements();
        let product = conn.save(&product).unwrap();
        assert_eq!(log.statements().len(), 1, "save");
        conn.guarded_update(&product, products::stock.ge(1), products::stock.eq(1)).unwrap();
        assert_eq!(log.statements().len(), 1, "guarded update");
        conn.unchecked_update(Product::key(42), products::stock.eq(2)).unwrap();
        assert_eq!(log.statements().len(), 1, "unchecked update");
        let row = conn.fetch::<Product>(42).unwrap();
        log.statements();
        conn.versioned_delete(&row).unwrap();
        assert_eq!(log.statements().len(), 1, "delete");
        let doc = conn.fetch::<Doc>(2).unwrap();
        log.statements();
        conn.soft_delete(&doc, docs::deleted_at.eq(1)).unwrap();
        assert_eq!(log.statements().len(), 1, "soft delete");
    }

    fn row_o2_in_steady_state_nothing_is_prepared_again(bed) {
        let conn = &mut bed.connect();
        round_of_everything(conn);
        round_of_everything(conn);
        let log = Log::on(conn);
        for _ in 0..5 {
            round_of_everything(conn);
        }
        assert_eq!(log.prepared(), 0);
        assert!(log.statements().len() > 50);
    }

    fn row_o2_any_changeset_that_diesel_takes_is_taken(bed) {
        let conn = &mut bed.connect();
        let row = conn.versioned_update(Product::at(42, 7), products::stock.eq(products::stock - 1)).unwrap();
        let row = conn.versioned_update(row, (products::stock.eq(3), products::name.eq("n"))).unwrap();
        let row = conn.versioned_update(row, Some(products::stock.eq(4))).unwrap();
        let row = conn.versioned_update(row, Form { name: Some("form".into()), stock: None }).unwrap();
        let row = conn.versioned_update(row, uncached(Form { name: None, stock: Some(9) })).unwrap();
        let product = conn.fetch::<Product>(42).unwrap();
        assert_eq!(product, Product { id: 42, name: "form".into(), stock: 9, version: 12 });
        assert_eq!(row, Product::at(42, 12));
    }

    fn row_o2_an_empty_changeset_is_a_pure_bump(bed) {
        let conn = &mut bed.connect();
        let before = conn.fetch::<Product>(42).unwrap();
        let row = conn.versioned_update(&before, Form { name: None, stock: None }).unwrap();
        assert_eq!(row, Product::at(42, 8));
        let row = conn.versioned_update(row, None::<diesel::dsl::Eq<products::stock, i32>>).unwrap();
        assert_eq!(conn.fetch::<Product>(42).unwrap(), Product { version: 9, ..before });
        assert_eq!(row.version, 9);
        let flag = conn.fetch::<Flag>(1).unwrap();
        assert_eq!(conn.save(&flag).unwrap(), Flag { id: 1, version: 2 });
    }

    fn row_o5_a_delete_checks_the_version(bed) {
        let conn = &mut bed.connect();
        let stale = Product::at(42, 6);
        assert!(matches!(conn.versioned_delete(stale), Err(Error::Conflict(_))));
        assert_eq!(conn.fetch::<Product>(42).unwrap().version, 7);
        conn.versioned_delete(Product::at(42, 7)).unwrap();
        assert!(matches!(conn.fetch::<Product>(42), Err(Error::NotFound(_))));
        assert_eq!(conn.versioned_delete_if_exists(Product::at(42, 7)).unwrap(), Removal::AlreadyGone);
        assert!(matches!(conn.versioned_delete_if_exists(Product::at(43, 9)), Err(Error::Conflict(_))));
        assert_eq!(conn.versioned_delete_if_exists(Product::at(43, 1)).unwrap(), Removal::Deleted);
        assert_eq!(conn.unchecked_delete(Product::key(43)).unwrap(), Removal::AlreadyGone);
    }

    fn row_o5_a_soft_delete_is_checked_and_ends_checked_writes(bed) {
        let conn = &mut bed.connect();
        let doc = conn.fetch::<Doc>(2).unwrap();
        let unmarked = conn.soft_delete(&doc, docs::body.eq("b"));
        assert!(matches!(&unmarked, Err(Error::NoSoftDelete(facts)) if facts.column == Some("deleted_at")), "{unmarked:?}");
        let stale = conn.soft_delete(Doc::at(2, Some(4)), docs::deleted_at.eq(1));
        assert!(matches!(stale, Err(Error::Conflict(_))));
        let row = conn.soft_delete(&doc, docs::deleted_at.eq(1)).unwrap();
        assert_eq!(row, Doc::at(2, Some(6)));
        let deleted = conn.fetch::<Doc>(2).unwrap();
        for refused in [
            conn.touch(&deleted).unwrap_err(),
            conn.save(&deleted).unwrap_err(),
            conn.versioned_delete(&deleted).unwrap_err(),
            conn.verify(&deleted).unwrap_err(),
            conn.modify(2, Mode::optimistic(), |doc: &mut Doc| doc.body.clear()).unwrap_err(),
        ] {
            let Error::Conflict(conflict) = refused else { panic!("{refused:?}") };
            assert_eq!(conflict.kind, diesel_occ::ConflictKind::Deleted);
            assert_eq!(conflict.actual.as_deref(), Some("6"));
            assert!(!conflict.is_retryable());
        }
        assert!(matches!(
            conn.guarded_update(Doc::key(2), docs::body.ne(""), docs::body.eq("")),
            Err(Error::NotFound(_))
        ));
        conn.unchecked_update(Doc::key(2), docs::deleted_at.eq(None::<i64>)).unwrap();
        conn.verify(Doc::at(2, Some(7))).unwrap();
        let back = conn.fetch::<Doc>(2).unwrap();
        assert_eq!(conn.save(&Doc { deleted_at: Some(9), ..back }).unwrap().v, Some(8));
        assert_eq!(conn.fetch::<Doc>(2).unwrap().deleted_at, None, "save leaves the mark alone");
        assert!(matches!(
            conn.soft_delete(Product::at(42, 7), products::stock.eq(0)),
            Err(Error::NoSoftDelete(_))
        ));
    }

    fn row_o5_touch_bumps_and_verify_only_looks(bed) {
        let conn = &mut bed.connect();
        let before = conn.fetch::<Product>(42).unwrap();
        conn.verify(&before).unwrap();
        assert_eq!(conn.fetch::<Product>(42).unwrap(), before);
        conn.touch(&before).unwrap();
        assert_eq!(conn.fetch::<Product>(42).unwrap(), Product { version: 8, ..before.clone() });
        assert!(matches!(conn.verify(&before), Err(Error::Conflict(_))));
        assert!(matches!(conn.touch(&before), Err(Error::Conflict(_))));
    }

    fn row_o5_a_guard_that_fails_is_no_conflict(bed) {
        let conn = &mut bed.connect();
        let enough = |n: i32| products::stock.ge(n);
        let take = |n: i32| products::stock.eq(products::stock - n);
        let refused = conn.guarded_update(Product::key(42), enough(51), take(51)).unwrap_err();
        assert!(matches!(&refused, Error::GuardFailed(facts) if facts.key == "42" && facts.version == "7"), "{refused:?}");
        conn.guarded_update(Product::key(42), enough(50), take(50)).unwrap();
        assert_eq!(conn.fetch::<Product>(42).unwrap().stock, 0);
        let row = conn.guarded_update(Product::at(43, 1), enough(5), take(5)).unwrap();
        assert_eq!(row, Product::at(43, 2));
        let both = conn.guarded_update(Product::at(43, 1), enough(5), take(5)).unwrap_err();
        assert!(matches!(both, Error::Conflict(_)), "Modified wins over the guard: {both:?}");
        let guard = conn.guarded_update(Product::at(43, 2), enough(5), take(5)).unwrap_err();
        assert!(matches!(guard, Error::GuardFailed(_)), "{guard:?}");
        let missing = conn.guarded_update(Product::key(1), enough(0), take(0)).unwrap_err();
        assert!(matches!(missing, Error::NotFound(_)), "{missing:?}");
        let gone = conn.guarded_update(Product::at(1, 7), enough(0), take(0)).unwrap_err();
        assert!(matches!(gone, Error::Conflict(_)), "{gone:?}");
    }

    fn row_o5_a_guard_with_or_or_null_is_one_condition(bed) {
        let conn = &mut bed.connect();
        let guard = products::stock.ge(100).or(products::name.eq("coffee"));
        let refused = conn.guarded_update(Product::key(42), guard, products::stock.eq(0)).unwrap_err();
        assert!(matches!(refused, Error::GuardFailed(_)), "{refused:?}");
        let null = products::updated_at.eq("never");
        let refused = conn.guarded_update(Product::key(43), null, products::stock.eq(0)).unwrap_err();
        assert!(matches!(refused, Error::GuardFailed(_)), "{refused:?}");
        let raw = diesel::dsl::sql::<diesel::sql_types::Bool>("stock >= 100 OR 1 = 1");
        conn.guarded_update(Product::at(43, 1), raw.clone(), products::stock.eq(0)).unwrap();
        let stale = conn.guarded_update(Product::at(43, 1), raw, products::stock.eq(9)).unwrap_err();
        assert!(matches!(stale, Error::Conflict(_)), "{stale:?}");
        assert_eq!(conn.fetch::<Product>(43).unwrap().stock, 0);
    }

    fn row_o5_unchecked_writes_bump_so_that_a_stale_holder_conflicts(bed) {
        let conn = &mut bed.connect();
        for write in [0, 1, 2] {
            let held = conn.fetch::<Product>(42).unwrap();
            match write {
                0 => conn.unchecked_update(Product::key(42), products::stock.eq(9)).unwrap(),
                1 => conn.unchecked_touch(Product::key(42)).unwrap(),
                _ => {
                    let all = products::table.filter(products::stock.lt(100));
                    let rows = all.unchecked_update(products::version, products::stock.eq(7)).execute(conn).unwrap();
                    assert_eq!(rows, 2);
                }
            }
            assert!(matches!(conn.save(&held), Err(Error::Conflict(_))), "write {write}");
            assert_eq!(conn.fetch::<Product>(42).unwrap().version, held.version + 1);
        }
        assert!(matches!(conn.unchecked_update(Product::key(1), products::stock.eq(9)), Err(Error::NotFound(_))));
        assert!(matches!(conn.unchecked_touch(Product::key(1)), Err(Error::NotFound(_))));
    }

    fn row_o9_update_if_answers_the_version_or_a_typed_conflict(bed) {
        let conn = &mut bed.connect();
        let log = Log::on(conn);
        let product = products::table.find(42);
        let version = product.update_if(products::version, 7, products::stock.eq(49)).execute(conn).unwrap();
        assert_eq!((version, log.statements().len()), (8, 1));
        let error = product.update_if(products::version, 7, products::stock.eq(48)).execute(conn).unwrap_err();
        let Error::Conflict(conflict) = error else { panic!("{error:?}") };
        assert_eq!((conflict.table, conflict.expected.as_str(), conflict.actual.as_deref()), ("products", "7", Some("8")));
        assert_eq!(alike(&conflict.key), "WHERE (`products`.`id` = ?)");
        assert_eq!(conn.fetch::<Product>(42).unwrap().stock, 49);
        let error = product.delete_if(products::version, 7).execute(conn).unwrap_err();
        assert!(matches!(error, Error::Conflict(_)), "{error:?}");
        product.delete_if(products::version, 8).execute(conn).unwrap();
        let error = product.delete_if(products::version, 8).execute(conn).unwrap_err();
        assert!(matches!(&error, Error::Conflict(conflict) if conflict.actual.is_none()), "{error:?}");
    }

    fn row_o9_the_raw_query_is_reached_by_an_unchecked_method_only(bed) {
        let conn = &mut bed.connect();
        let product = products::table.find(42);
        let raw = |version: i64| product.update_if(products::version, version, products::stock.eq(1)).unchecked_query();
        assert_eq!(raw(6).execute(conn).unwrap(), 0);
        assert_eq!(raw(7).execute(conn).unwrap(), 1);
        assert_eq!(conn.fetch::<Product>(42).unwrap().version, 8);
    }
}

mod where_a_write_can_count_its_own_rows {
    use super::*;

    on_every_connection! {
    of sqlite, of postgres;

    fn row_o9_a_query_that_meets_several_rows_writes_none(bed) {
        let conn = &mut bed.connect();
        let notes = loose::table.filter(loose::id.eq(1));
        let error = notes.update_if(loose::version, 7, loose::note.eq("lost")).execute(conn).unwrap_err();
        assert!(matches!(&error, Error::TooManyRows(facts) if facts.rows == 2 && !facts.written), "{error:?}");
        let error = notes.delete_if(loose::version, 7).execute(conn).unwrap_err();
        assert!(matches!(&error, Error::TooManyRows(facts) if facts.rows == 2 && !facts.written), "{error:?}");
        let notes: Vec<String> = loose::table.order(loose::note).select(loose::note).load(conn).unwrap();
        assert_eq!(notes, ["a", "b", "c", "d"]);
        assert_eq!(flags::table.update_if(flags::version, 1, flags::id.eq(1)).execute(conn).unwrap(), 2);
    }
    }
}

/// Every operation once, so that the same statements are sent each time.
fn round_of_everything<C>(conn: &mut C)
where
    C: VersionedConnection,
    Product: Record<C::Backend>,
    Doc: Record<C::Backend>,
    diesel::dsl::Eq<products::stock, i32>: Changes<Product, C::Backend>,
    diesel::dsl::Eq<docs::deleted_at, i64>: Changes<Doc, C::Backend>,
    diesel::dsl::Eq<docs::deleted_at, Option<i64>>: Changes<Doc, C::Backend>,
{
    let product = conn.fetch::<Product>(42).unwrap();
    let product = conn.save(&product).unwrap();
    let row = conn
        .versioned_update(&product, products::stock.eq(3))
        .unwrap();
    let row = conn.touch(row).unwrap();
    conn.verify(&row).unwrap();
    conn.current_row(&row).unwrap();
    conn.unchecked_update(Product::key(42), products::stock.eq(2))
        .unwrap();
    conn.unchecked_touch(Product::key(42)).unwrap();
    conn.touch(Product::at(42, 1)).unwrap_err();
    conn.modify(42, Mode::optimistic(), |product: &mut Product| {
        product.stock += 1
    })
    .unwrap();
    conn.transact(&Retry::default(), |tx| -> diesel_occ::Result<()> {
        let product = tx.fetch::<Product>(42)?;
        let product = tx.save(&product)?;
        tx.versioned_update(&product, products::stock.eq(8))?;
        Ok(())
    })
    .unwrap();
    let doc = conn.fetch::<Doc>(2).unwrap();
    conn.soft_delete(&doc, docs::deleted_at.eq(1)).unwrap();
    conn.unchecked_update(Doc::key(2), docs::deleted_at.eq(None))
        .unwrap();
}
