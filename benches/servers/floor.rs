//! The floor: what a program that calls a client library by hand would do. What cannot fail in a benchmark panics.

use crate::product::Product;

/// A connection through a C library. Statements are prepared once; each is one round trip.
pub trait Floor {
    fn connect(url: &str) -> Self;

    /// Runs statements that answer nothing.
    fn batch(&mut self, sql: &str);

    fn load(&mut self, id: i64) -> Product;

    /// With the lock that an UPDATE takes.
    fn load_locked(&mut self, id: i64) -> Product;

    /// `SET stock .. WHERE id AND version`; how many rows it hit, or `None` for a serialization failure or a deadlock.
    fn update(&mut self, stock: i64, id: i64, version: i64) -> Option<u64>;

    /// The same as this crate says it outside a transaction: the row is also to be the only one.
    fn update_alone(&mut self, stock: i64, id: i64, version: i64) -> Option<u64>;

    /// Every field, as [`update`](Floor::update).
    fn save(&mut self, row: &Product) -> Option<u64>;
}

/// The texts, with the binds of a server.
pub struct Texts {
    pub load: String,
    pub load_locked: String,
    pub update: String,
    pub update_alone: String,
    pub save: String,
}

impl Texts {
    pub fn new(bind: impl Fn(usize) -> String, lock: &str) -> Self {
        let [one, two, three, four, five] = [1, 2, 3, 4, 5].map(bind);
        let update = format!(
            "UPDATE products SET stock = {one}, version = version + 1 WHERE id = {two} AND version = {three}"
        );
        let load = format!("SELECT id, name, stock, version FROM products WHERE id = {one}");
        Texts {
            load_locked: format!("{load} {lock}"),
            load,
            update_alone: format!(
                "{update} AND (SELECT COUNT(*) FROM products WHERE id = {four} AND version = {five}) = 1"
            ),
            update,
            save: format!(
                "UPDATE products SET name = {one}, stock = {two}, version = version + 1 WHERE id = {three} AND version = {four}"
            ),
        }
    }
}
