//! The record of what was used: an append-only spool that survives a crash.

pub mod record;
pub mod spool;

pub use record::{Flags, Idempotency, Kind, Record};
pub use spool::{
    FlushFailed, Full, Health, OpenError, Position, ReadError, ReadReport, Reservation, Spool, SpoolSettings,
};
