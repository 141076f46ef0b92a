//! The test frame: one real database a test, opened as often as the test likes, on every kind of connection.
#![allow(
    dead_code,
    unused_macros,
    unused_imports,
    reason = "each test file uses its share"
)]

pub mod bed;
pub mod fake_timer;
pub mod log;
#[cfg(any(feature = "postgres", feature = "mysql"))]
pub mod proxy;
pub mod schema;
pub mod state;

pub use bed::*;
pub use fake_timer::FakeTimer;
pub use log::{Log, alike};
pub use schema::*;
pub use state::*;

/// Writes each test once for every kind of connection to every server: a bare one, a pooled one and a `MultiConnection`.
/// A test whose subject is one server alone names it: `on_every_connection! { of sqlite; fn .. }`.
#[macro_export]
macro_rules! on_every_connection {
    (of $server:ident $(, of $other:ident)*; $($tests:tt)+) => {
        $crate::on_every_connection!(@ $server { $($tests)+ });
        $crate::on_every_connection!($(of $other),*; $($tests)+);
    };
    (; $($tests:tt)+) => {};
    (@ sqlite { $($tests:tt)+ }) => {
        $crate::on_every_connection!(@@ sqlite_bare { $($tests)+ });
        $crate::on_every_connection!(@@ sqlite_pooled { $($tests)+ });
        $crate::on_every_connection!(@@ sqlite_multi { $($tests)+ });
    };
    (@ postgres { $($tests:tt)+ }) => {
        #[cfg(feature = "postgres")]
        $crate::on_every_connection!(@@ postgres_bare { $($tests)+ });
        #[cfg(feature = "postgres")]
        $crate::on_every_connection!(@@ postgres_pooled { $($tests)+ });
        #[cfg(feature = "postgres")]
        $crate::on_every_connection!(@@ postgres_multi { $($tests)+ });
    };
    (@ mysql { $($tests:tt)+ }) => {
        #[cfg(feature = "mysql")]
        $crate::on_every_connection!(@@ mysql_bare { $($tests)+ });
        #[cfg(feature = "mysql")]
        $crate::on_every_connection!(@@ mysql_pooled { $($tests)+ });
        #[cfg(feature = "mysql")]
        $crate::on_every_connection!(@@ mysql_multi { $($tests)+ });
    };
    (@@ $kind:ident { $(fn $name:ident($bed:ident) $body:block)+ }) => {
        mod $kind {
            #[allow(unused_imports)]
            use super::*;
            $(
                #[test]
                fn $name() {
                    let $bed = &$crate::support::$kind();
                    $body
                }
            )+
        }
    };
    ($($tests:tt)+) => {
        $crate::on_every_connection!(of sqlite, of postgres, of mysql; $($tests)+);
    };
}

/// Writes each test once for every server, on a bare connection: for what threads, processes and pools do.
#[macro_export]
macro_rules! on_every_server {
    (of $server:ident $(, of $other:ident)*; $($tests:tt)+) => {
        $crate::on_every_server!(@ $server { $($tests)+ });
        $crate::on_every_server!($(of $other),*; $($tests)+);
    };
    (; $($tests:tt)+) => {};
    (@ sqlite { $($tests:tt)+ }) => {
        $crate::on_every_server!(@@ sqlite sqlite_bare { $($tests)+ });
    };
    (@ postgres { $($tests:tt)+ }) => {
        #[cfg(feature = "postgres")]
        $crate::on_every_server!(@@ postgres postgres_bare { $($tests)+ });
    };
    (@ mysql { $($tests:tt)+ }) => {
        #[cfg(feature = "mysql")]
        $crate::on_every_server!(@@ mysql mysql_bare { $($tests)+ });
    };
    (@@ $server:ident $kind:ident { $(fn $name:ident($bed:ident) $body:block)+ }) => {
        mod $server {
            #[allow(unused_imports)]
            use super::*;
            $(
                #[test]
                fn $name() {
                    let $bed = &$crate::support::$kind();
                    $body
                }
            )+
        }
    };
    ($($tests:tt)+) => {
        $crate::on_every_server!(of sqlite, of postgres, of mysql; $($tests)+);
    };
}
