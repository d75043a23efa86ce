//! Meters in memory: a table of homes, each behind its own lock.

mod array;
mod beside;
mod cell;
mod entries;
mod form;
mod home;
mod image;
mod list;
mod shared_book;
mod sync;
mod table;
mod unwind;

pub use table::{Imaged, Limits, MeterTable, Swept};
