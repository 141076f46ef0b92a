use diesel_occ::prelude::*;

fn helper(_: &mut impl VersionedConnection) {}

fn main() {
    helper(&mut String::from(":memory:"));
}
