//! Meters in memory: a table of homes, each behind its own lock.

mod array;
mod cell;
mod home;
mod shared_book;
mod sync;
mod table;

pub use table::{MeterTable, Swept};
