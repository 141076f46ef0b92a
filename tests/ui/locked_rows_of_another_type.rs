use diesel::prelude::*;
use diesel_occ::prelude::*;

diesel::table! {
    products (id) { id -> BigInt, stock -> Integer, }
}

fn main() -> diesel_occ::Result<()> {
    let mut conn = SqliteConnection::establish(":memory:").unwrap();
    conn.transact(&Retry::default(), |tx| {
        let stock = products::table.select(products::stock);
        let _: Vec<String> = stock.lock_rows(Lock::for_update()).load(tx)?;
        Ok(())
    })
}
