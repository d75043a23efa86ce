//! The record of what was used: an append-only spool that survives a crash, and usage by the hour made from it.

pub mod hour;
pub mod record;
pub mod spool;
pub mod usage;

pub use hour::Hour;
pub use record::{Flags, Idempotency, Kind, Record};
pub use spool::{
    FlushFailed, Full, Health, OpenError, Position, ReadError, ReadReport, Reservation, SegmentExtent, Spool,
    SpoolSettings,
};
