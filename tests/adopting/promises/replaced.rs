//! What no trigger sees: a row that is deleted and inserted again.

use super::super::REPLACES;
use super::*;

#[test]
fn adopting_a_row_that_is_replaced_starts_again_at_0_and_no_trigger_sees_it() {
    for statements in REPLACES {
        on_every_choice(|shop, conn| {
            let tea = conn.fetch::<Product>(42).unwrap();
            for statement in *statements {
                at_a_prompt(shop, statement).unwrap();
            }
            assert_eq!(version(conn, 42), 0);
            conn.save(&tea).unwrap();
            assert_eq!(stock(conn, 42), 50, "what was put there is lost");
        });
    }
}
