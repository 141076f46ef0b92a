//! Real threads and real processes on one row, with default settings: nothing lost, nothing given up.
#![cfg(all(feature = "sqlite", feature = "r2d2"))]

mod support;

use diesel::prelude::*;
use diesel_occ::Error;
use diesel_occ::prelude::*;
use std::sync::{Arc, Barrier};
use support::*;

const WORKERS: usize = 8;
const EACH: i32 = 100;

/// Every worker takes its share, all at once; the row must account for every one of them.
fn exact<C, F>(bed: &Bed<C>, take: F)
where
    C: TestServer,
    Product: Record<C::Backend>,
    F: Fn(&mut C) -> Result<(), App> + Send + Sync + 'static,
{
    let filled = format!(
        "UPDATE products SET stock = {} WHERE id = 42",
        EACH * WORKERS as i32
    );
    bed.connect().batch_execute(&filled).unwrap();
    let (take, start) = (Arc::new(take), Arc::new(Barrier::new(WORKERS)));
    let workers: Vec<_> = (0..WORKERS)
        .map(|_| {
            let (mut conn, take, start) = (bed.connect(), take.clone(), start.clone());
            std::thread::spawn(move || {
                start.wait();
                for _ in 0..EACH {
                    take(&mut conn).unwrap();
                }
            })
        })
        .collect();
    for worker in workers {
        worker.join().unwrap();
    }
    let product = bed.connect().fetch::<Product>(42).unwrap();
    assert_eq!(product.stock, 0);
    assert_eq!(product.version, 7 + i64::from(EACH) * WORKERS as i64);
}

on_every_server! {
    fn row_o2_eight_threads_modify_one_row_and_nothing_is_lost(bed) {
        exact(bed, |conn| {
            conn.modify(42, Mode::optimistic(), |product: &mut Product| {
                product.stock -= 1
            })?;
            Ok(())
        });
    }

    fn row_r1_eight_threads_transact_on_one_row_and_nothing_is_lost(bed) {
        exact(bed, |conn| {
            conn.transact(&Retry::default(), |tx| {
                let mut product = tx.fetch::<Product>(42)?;
                product.stock -= 1;
                tx.save(&product)?;
                Ok(())
            })
        });
    }

    fn row_o5_eight_threads_take_under_a_guard_and_nothing_is_lost(bed) {
        exact(bed, |conn| {
            conn.transact(&Retry::default(), |tx| {
                tx.guarded_update(
                    Product::key(42),
                    products::stock.ge(1),
                    products::stock.eq(products::stock - 1),
                )?;
                Ok(())
            })
        });
    }

    fn row_o2_two_writers_that_have_read_the_same_row_never_both_succeed(bed) {
        for round in 0..50 {
            let version = 7 + round;
            let start = Arc::new(Barrier::new(2));
            let writers: Vec<_> = (0..2)
                .map(|writer| {
                    let (mut conn, start) = (bed.connect(), start.clone());
                    std::thread::spawn(move || {
                        start.wait();
                        conn.versioned_update(Product::at(42, version), products::stock.eq(writer))
                    })
                })
                .collect();
            let results: Vec<_> = writers
                .into_iter()
                .map(|writer| writer.join().unwrap())
                .collect();
            let won = results.iter().filter(|result| result.is_ok()).count();
            let lost = results
                .iter()
                .filter(|result| matches!(result, Err(Error::Conflict(_))))
                .count();
            assert_eq!((won, lost), (1, 1), "{results:?}");
        }
    }

    // Whatever is interleaved, a version never goes back and no two writes make the same one. Seeded.
    fn row_o1_versions_only_grow_whatever_is_interleaved(bed) {
        let seed = std::env::var("OCC_SEED").map_or_else(|_| a_seed(), |seed| seed.parse().unwrap());
        println!("OCC_SEED={seed}");
        let mut state = seed;
        let mut draw = move |n: u64| {
            // SplitMix64.
            state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mut z = state;
            z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            (z ^ (z >> 31)) % n
        };
        let (mut conns, mut held) = ([bed.connect(), bed.connect(), bed.connect()], Vec::new());
        for conn in &mut conns {
            held.push(conn.fetch::<Product>(42).unwrap());
        }
        let mut stored = 7;
        for step in 0..600 {
            let who = draw(3) as usize;
            let (conn, mine) = (&mut conns[who], &mut held[who]);
            let expected = mine.version;
            let result = match draw(6) {
                0 => {
                    *mine = conn.fetch(42).unwrap();
                    continue;
                }
                1 => conn.save(mine).map(|saved| *mine = saved),
                2 => conn.touch(&*mine).map(|row| mine.version = row.version),
                3 => conn
                    .versioned_update(&*mine, products::stock.eq(step % 7))
                    .map(|row| mine.version = row.version),
                4 => conn.unchecked_touch(Product::key(42)),
                _ => conn
                    .guarded_update(&*mine, products::stock.ge(0), products::stock.eq(3))
                    .map(|row| mine.version = row.version),
            };
            let now = conn.fetch::<Product>(42).unwrap().version;
            match result {
                Ok(()) => assert_eq!(now, stored + 1, "step {step}"),
                Err(Error::Conflict(_)) => assert!(now == stored && expected != stored, "step {step}"),
                Err(error) => panic!("step {step}: {error:?}"),
            }
            stored = now;
        }
    }
}

#[cfg(any(feature = "postgres", feature = "mysql"))]
mod where_isolation_can_be_chosen {
    use super::*;
    use diesel_occ::{IsolationLevel, TxOptions};

    on_every_server! {
        of postgres, of mysql;

        // No version is checked here: the server alone keeps the sum right, and what it refuses is run again.
        fn row_r1_eight_threads_in_serializable_transactions_end_exact(bed) {
            let serializable = TxOptions::default().isolation(IsolationLevel::Serializable);
            exact(bed, move |conn| {
                conn.transact(&serializable, |tx| {
                    let product = tx.fetch::<Product>(42)?;
                    tx.unchecked_update(Product::key(42), products::stock.eq(product.stock - 1))?;
                    Ok(())
                })
            });
        }
    }
}

fn a_seed() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    std::hash::RandomState::new().build_hasher().finish()
}
