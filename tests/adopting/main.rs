//! Adopting the crate on a table that has data: the migrations of `migrations/adopting`, copied and run as an application
//! runs its own, and what other writers of the table do to the version.
//!
//! What holds on every server is in `promises`, which each server's module compiles for its connection. What is special to a
//! server is in its own module.
#![allow(
    clippy::duplicate_mod,
    reason = "a promise is written once and compiled for each server"
)]

mod expect;
mod folder;
mod guide;
mod models;
#[cfg(feature = "mysql")]
mod mysql;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(any(feature = "postgres", feature = "mysql"))]
mod server;
#[cfg(feature = "sqlite")]
mod sqlite;
