//! The names of requests that may be repeated.

use sluicegate_core::time::Timestamp;

/// A caller's own name for a request. Of the requests of a home that have the same name within a day, one is charged.
///
/// What becomes of it is the plan's to say. One that charges keeps the name if it is admitted; where somebody has it
/// already, it is a repeat and charged with what counts repeats alone, or a conflict if the request is another. What is
/// forced has happened already: it takes the name over, for somebody who has it may be about to be undone. A refund
/// forgets the name if it is still that of the decision whose charge is given back.
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
}
