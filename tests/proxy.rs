#![cfg(any(feature = "postgres", feature = "mysql"))]
mod support;
