//! The servers that run outside the test process.

/// The URL of a server, or how to get one.
pub fn url(variable: &str) -> String {
    std::env::var(variable).unwrap_or_else(|_| {
        panic!("{variable} is not set. Run `tests/with-servers cargo test --all-features --test adopting`.")
    })
}

/// A name for the database of one test.
pub fn random_name() -> String {
    format!("occ_adopting_{:016x}", fastrand::u64(..))
}
