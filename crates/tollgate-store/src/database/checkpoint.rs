//! Checkpoints: what the meters said at a position of the ledger, so that a start need not read all of it.

use tollgate_core::time::Timestamp;

/// The meters of one home, as bytes. `B` is who has the bytes: owned to save them, lent when they are loaded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MeterRow<B = Vec<u8>> {
    /// Whose they are.
    pub home: u128,
    /// Up to which record of the ledger they count.
    pub position: u64,
    /// From when on they say nothing any more.
    pub expires_at: Timestamp,
    /// What they say.
    pub image: B,
}

/// A request that was charged under an idempotency key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IdempotencyRow {
    /// Whose key it is.
    pub home: u128,
    /// A hash of the key.
    pub key: u64,
    /// A hash of the request.
    pub request: u64,
    /// The decision that a repeat gets.
    pub decision: u128,
    /// When it was charged.
    pub at: Timestamp,
    /// What was charged.
    pub cost: u64,
}

/// What changed since the last checkpoint, saved together or not at all.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Checkpoint {
    /// Limits by their numbers in the book.
    pub limits: Vec<(u32, Vec<u8>)>,
    /// Meters by home.
    pub meters: Vec<MeterRow>,
    /// Charges by idempotency key.
    pub idempotency: Vec<IdempotencyRow>,
    /// Up to which record of the ledger all of it counts.
    pub position: u64,
    /// When. What expired before is forgotten.
    pub now: Timestamp,
}
