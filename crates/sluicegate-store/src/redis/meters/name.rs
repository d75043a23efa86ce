//! The names of requests that may be repeated.

use sluicegate_core::time::Timestamp;

/// A caller's own name for a request.
///
/// What becomes of it is the plan's to say. One that charges keeps the name if it is admitted; where the name was charged
/// already, it is a free repeat if [`NameUse`] says so, is charged once more otherwise, or is a conflict if the request is
/// another. What is forced has happened already: it takes the name over, and how its attempt has ended is not known. A
/// refund tells how an attempt has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RequestName {
    /// A hash of the name.
    pub key: u64,
    /// A hash of the request that it came with.
    pub request: u64,
    /// The decision under which it is charged.
    pub decision: u128,
    /// When it was charged, if that is past.
    pub since: Option<Timestamp>,
    /// What is done with it.
    pub used: NameUse,
}

/// What is done with a name: the number is what the script reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NameUse {
    /// An attempt, free if the name was charged within a day.
    Vouched = 0,
    /// The same, up to 20 times.
    Free = 1,
    /// An attempt, free if every earlier one has ended in a failure of the upstream, up to 5 times.
    AfterFailure = 2,
    /// The charge of an attempt was given back: the name is forgotten if it is still that attempt's.
    Refunded = 16,
    /// An attempt has failed at the upstream.
    Failed = 17,
    /// An attempt was answered, or how it has ended is not known.
    Delivered = 18,
}
