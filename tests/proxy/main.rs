//! The proxy of `tests/support` before real servers: what it counts, and that each of its faults is what it says.
#![cfg(any(feature = "postgres", feature = "mysql"))]

#[path = "../support/mod.rs"]
mod support;

#[macro_use]
mod place;
mod counting;
mod faults;
mod mysql_answers;
mod mysql_bytes;
mod postgres_bytes;
mod scripted;
mod urls;
mod waiting;
