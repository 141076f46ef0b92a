//! The column: what it does to the data, to the writes of this crate, and to programs that do not know it.

use super::super::BARE_VALUES;
use super::*;
use crate::expect::assert_modified;
use diesel_occ::Removal;

#[test]
fn adopting_keeps_the_data_and_gives_every_row_version_0() {
    let shop = Shop::with(&[COLUMN]);
    let mut conn = shop.connect();
    let tea = Product {
        id: 42,
        name: "tea".into(),
        stock: 50,
        gone: false,
        version: 0,
    };
    assert_eq!(conn.fetch::<Product>(42).unwrap(), tea);
    let coffee = conn.fetch::<Product>(43).unwrap();
    assert_eq!(
        (coffee.name.as_str(), coffee.stock, coffee.version),
        ("coffee", 5, 0)
    );
    let count: i64 = products::table.count().get_result(&mut conn).unwrap();
    assert_eq!(count, 2);
}

#[test]
fn adopting_an_insert_without_the_version_gets_0() {
    on_every_choice(|shop, conn| {
        at_a_prompt(
            shop,
            "INSERT INTO products (id, name, stock) VALUES (44, 'cocoa', 1)",
        )
        .unwrap();
        assert_eq!(version(conn, 44), 0);
        diesel::insert_into(products::table)
            .values((
                products::id.eq(45),
                products::name.eq("milk"),
                products::stock.eq(2),
            ))
            .execute(conn)
            .unwrap();
        assert_eq!(version(conn, 45), 0);
    });
}

#[test]
fn adopting_an_insert_that_names_no_column_at_all_may_have_to_change() {
    let shop = Shop::with(&[COLUMN]);
    let bare = at_a_prompt(
        &shop,
        "INSERT INTO products VALUES (44, 'cocoa', 1, FALSE, NULL)",
    );
    let said = bare.map_err(|error| error.to_string());
    assert_eq!(
        said.as_ref().map_err(String::as_str),
        BARE_VALUES.as_ref().map_err(|said| *said)
    );
}

#[test]
fn adopting_a_program_that_runs_goes_on_with_its_prepared_statements() {
    let shop = Shop::with(&[]);
    let mut old = shop.connect();
    let read_and_sell = |conn: &mut Conn| -> QueryResult<i32> {
        diesel::update(products::table.find(42))
            .set(products::stock.eq(products::stock - 1))
            .execute(conn)?;
        products::table.find(42).select(products::stock).first(conn)
    };
    assert_eq!(read_and_sell(&mut old), Ok(49));
    for (migration, stock) in [(COLUMN, 48), (BUMP, 47)] {
        shop.copy(migration, str::to_owned);
        shop.migrate();
        assert_eq!(read_and_sell(&mut old), Ok(stock), "{migration}");
    }
    assert_eq!(version(&mut old, 42), 1);
}

#[test]
fn row_o1_the_first_checked_update_makes_the_version_1() {
    on_every_choice(|_, conn| {
        let tea = conn.fetch::<Product>(42).unwrap();
        let row = conn.versioned_update(&tea, products::stock.eq(49)).unwrap();
        assert_eq!(row, Product::at(42, 1));
        assert_eq!(version(conn, 42), 1);
    });
}

#[test]
fn row_o1_every_write_moves_the_version_by_exactly_one_beside_either_trigger() {
    on_every_choice(|_, conn| {
        every_write(conn);
        conn.transact(&Retry::default(), |tx| -> diesel_occ::Result<()> {
            every_write(tx.conn()?);
            Ok(())
        })
        .unwrap();
    });
}

#[test]
fn row_o1_an_update_of_many_rows_moves_each_of_them_by_one_beside_either_trigger() {
    on_every_choice(|_, conn| {
        conn.touch(Product::at(43, 0)).unwrap();
        let rows = products::table
            .unchecked_update(products::version, products::stock.eq(7))
            .execute(conn)
            .unwrap();
        assert_eq!(rows, 2);
        assert_eq!((version(conn, 42), version(conn, 43)), (1, 2));
        assert_eq!((stock(conn, 42), stock(conn, 43)), (7, 7));
    });
}

#[test]
fn row_o2_a_stale_write_conflicts_beside_either_trigger() {
    on_every_choice(|_, conn| {
        let stale = conn.fetch::<Product>(42).unwrap();
        conn.touch(&stale).unwrap();
        assert_modified(conn.save(&stale), "0", "1");
        assert_modified(conn.versioned_delete(&stale), "0", "1");
        conn.versioned_delete(Product::at(42, 1)).unwrap();
        let removal = conn.unchecked_delete(Product::key(43)).unwrap();
        assert_eq!(removal, Removal::Deleted);
    });
}
