//! Internal to Sluicegate: no semver promise. Use `sluicegate-tower`.
//!
//! The record of what was used: an append-only spool that survives a crash, usage by the quarter of an hour made from
//! it, the proof that it is still what was recorded, and its way to object storage and to bills.

pub mod chain;
pub mod export;
pub mod hour;
pub mod ledger;
pub mod quarter;
pub mod reconcile;
pub mod record;
pub mod seal;
pub mod spool;
pub mod usage;

pub use hour::Hour;
pub use ledger::{Ledger, LedgerSettings};
pub use quarter::Quarter;
pub use record::{BilledPrint, Flags, Idempotency, Kind, LostCall, RECORD_BYTES, Record, Settlement, Unit};
pub use spool::{
    FlushFailed, Full, Health, OpenError, Position, ReadError, ReadReport, Reservation, SegmentExtent, Spool,
    SpoolSettings,
};
