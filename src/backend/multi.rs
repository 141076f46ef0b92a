//! A `#[derive(MultiConnection)]` enum is the connection in it.

/// Makes a `#[derive(diesel::MultiConnection)]` enum a connection of this crate: the two impls that Diesel's derive cannot
/// write. Call it in the module of the derive, with the enum's name and all its variants, each with the `#[cfg]` that it has
/// in the enum.
///
/// ```
/// use diesel_occ::prelude::*;
///
/// #[derive(diesel::MultiConnection)]
/// enum Any {
///     Sqlite(diesel::SqliteConnection),
/// }
/// diesel_occ::impl_multi_connection!(Any { Sqlite });
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use diesel::Connection;
/// let mut conn = Any::establish(":memory:")?;
/// assert_eq!(conn.server().name(), "SQLite");
/// # Ok(())
/// # }
/// ```
#[macro_export]
macro_rules! impl_multi_connection {
    ($any:ident { $($(#[$attribute:meta])* $variant:ident),+ $(,)? }) => {
        impl $crate::Dialect for MultiBackend {
            type Fetch = $crate::Reread;

            fn server(backend: &Self) -> &'static $crate::Server {
                match backend { $($(#[$attribute])* MultiBackend::$variant(backend) => $crate::Dialect::server(backend)),+ }
            }

            fn query_builder(backend: &Self) -> <Self as $crate::diesel::backend::Backend>::QueryBuilder {
                type Builder = <MultiBackend as $crate::diesel::backend::Backend>::QueryBuilder;
                match backend {
                    $($(#[$attribute])* MultiBackend::$variant(backend) => Builder::$variant($crate::Dialect::query_builder(backend))),+
                }
            }
        }

        impl $crate::Driver for $any {
            fn backend(&mut self) -> MultiBackend {
                match self { $($(#[$attribute])* $any::$variant(conn) => MultiBackend::$variant($crate::Driver::backend(conn))),+ }
            }

            fn begin(
                &mut self,
                sql: &str,
                again: &mut dyn FnMut(&$crate::diesel::result::Error) -> bool,
            ) -> $crate::diesel::result::QueryResult<$crate::Bundle> {
                match self { $($(#[$attribute])* $any::$variant(conn) => $crate::Driver::begin(conn, sql, again)),+ }
            }

            fn end(&mut self, sql: &str, bundle: $crate::Bundle) -> $crate::diesel::result::QueryResult<()> {
                match self { $($(#[$attribute])* $any::$variant(conn) => $crate::Driver::end(conn, sql, bundle)),+ }
            }

            fn examine(&mut self) -> $crate::diesel::result::QueryResult<$crate::Checkup> {
                match self { $($(#[$attribute])* $any::$variant(conn) => $crate::Driver::examine(conn)),+ }
            }

            fn limit(&mut self, limit: ::std::time::Duration) -> $crate::diesel::result::QueryResult<Option<$crate::Limit>> {
                match self { $($(#[$attribute])* $any::$variant(conn) => $crate::Driver::limit(conn, limit)),+ }
            }

            fn load_failed(&mut self) {
                match self { $($(#[$attribute])* $any::$variant(conn) => $crate::Driver::load_failed(conn)),+ }
            }

            fn number_of(&mut self, message: &str) -> $crate::diesel::result::QueryResult<Option<u32>> {
                match self { $($(#[$attribute])* $any::$variant(conn) => $crate::Driver::number_of(conn, message)),+ }
            }
        }
    };
}
