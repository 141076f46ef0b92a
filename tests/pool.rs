//! The retry over a pool: what it gives back before it sleeps, and what it does after a broken connection.
#![cfg(all(feature = "sqlite", feature = "r2d2"))]

mod support;

use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel_occ::prelude::*;
use diesel_occ::{Error, Fault};
use std::time::Duration;
use support::*;

on_every_server! {
    fn row_r7_the_connection_is_back_in_the_pool_while_it_sleeps(bed) {
        let pool = bed.pool(1);
        let watched = pool.clone();
        let timer = FakeTimer::new(1.0).on_sleep(move || {
            assert_eq!(watched.state().idle_connections, 1, "held while asleep");
            // The only connection of the pool works for others meanwhile.
            watched
                .get()
                .unwrap()
                .unchecked_touch(Product::key(43))
                .unwrap();
        });
        let mut runs = 0;
        let version = retry_on(
            &pool,
            &Retry::default().timer(timer.clone()),
            |tx| -> Result<i64, App> {
                runs += 1;
                if runs < 4 {
                    tx.touch(Product::at(42, 1))?;
                }
                Ok(tx.fetch::<Product>(43)?.version)
            },
        )
        .unwrap();
        assert_eq!((version, timer.slept()), (4, vec![2, 4, 8]));
    }

    fn row_r7_after_a_broken_connection_it_takes_another_one(bed) {
        let pool = bed.pool(1);
        pool.get()
            .unwrap()
            .batch_execute("CREATE TEMPORARY TABLE mark (x INTEGER)")
            .unwrap();
        let mut seen = vec![];
        retry_on(
            &pool,
            &Retry::default().timer(FakeTimer::new(0.0)),
            |tx| -> Result<(), App> {
                let look: diesel_occ::Result<usize> = tx.savepoint(|tx| Ok(diesel::sql_query("SELECT * FROM mark").execute(tx)?));
                let old = look.is_ok();
                seen.push(old);
                if old {
                    // What Diesel does to a connection that the server has dropped.
                    break_it(tx.conn()?);
                    tx.touch(Product::at(42, 7))?;
                }
                tx.touch(Product::at(42, 7))?;
                Ok(())
            },
        )
        .unwrap();
        assert_eq!(seen, [true, false]);
        assert_eq!(bed.connect().fetch::<Product>(42).unwrap().version, 8);
    }

    fn row_r7_on_one_connection_a_broken_connection_is_not_retried(bed) {
        let mut conn = bed.connect();
        let mut runs = 0;
        let result = conn.transact(&Retry::default(), |tx| -> Result<(), App> {
            runs += 1;
            break_it(tx.conn()?);
            tx.touch(Product::at(42, 7))?;
            Ok(())
        });
        assert!(
            matches!(&result, Err(App::Occ(error)) if Fault::of(error) == Fault::ConnectionLost),
            "{result:?}"
        );
        assert_eq!(runs, 1);
    }

    fn bad_input_a_pool_that_is_exhausted_is_a_typed_error_within_the_deadline(bed) {
        let pool = bed.pool(1);
        let policy = Retry::default().deadline(Duration::from_millis(50));
        // A closure that asks the pool it runs on for a second connection would wait for itself.
        let result = retry_on(&pool, &policy, |tx| -> Result<(), App> {
            tx.touch(Product::at(42, 7))?;
            retry_on(&pool, &policy, |tx| -> Result<(), App> {
                tx.touch(Product::at(43, 1))?;
                Ok(())
            })
        });
        let Err(App::Occ(error @ Error::Pool(_))) = result else {
            panic!("{result:?}")
        };
        assert_eq!(
            (error.to_string().as_str(), format!("{error:?}").as_str()),
            ("no connection from the pool", "Pool")
        );
        // Nothing was stored, and the pool works.
        assert_eq!(pool.get().unwrap().fetch::<Product>(42).unwrap().version, 7);
    }

    fn row_r7_no_connection_goes_back_with_a_transaction_open(bed) {
        let pool = bed.pool(1);
        for end in ["COMMIT", "ROLLBACK", "ROLLBACK; BEGIN"] {
            let result = retry_on(&pool, &Retry::never(), |tx| -> Result<(), App> {
                tx.batch_execute(end)?;
                Ok(())
            });
            assert!(
                matches!(result, Err(App::Occ(Error::TransactionEnded(_)))),
                "{end}: {result:?}"
            );
            pool.get()
                .unwrap()
                .batch_execute("BEGIN; ROLLBACK")
                .unwrap();
        }
    }
}
