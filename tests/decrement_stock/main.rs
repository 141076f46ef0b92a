//! The main job as people run it: the example `decrement_stock` as a process, its JSON, its messages, its exit codes.
#![cfg(feature = "sqlite")]

mod bad_input;
mod database;
mod order_files;
mod output;
mod passwords;
mod process;
mod shop;
mod stock;
