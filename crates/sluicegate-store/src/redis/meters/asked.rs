//! What is asked of a home.

use sluicegate_core::plan::{ChargePlan, HomeId};
use sluicegate_core::time::Nanos;

use super::RequestName;

/// A node among those that share a store: a random number, kept for as long as the node exists.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NodeId(pub u64);

/// The number of a call. On one node they only ever grow, also over restarts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Seq(u64);

impl Seq {
    /// The largest number.
    pub const MAX: u64 = (1 << 53) - 1;
    /// The smallest.
    pub const FIRST: Self = Self(1);

    /// The number, or nothing if it is zero or too large.
    pub const fn new(number: u64) -> Option<Self> {
        if number >= 1 && number <= Self::MAX { Some(Self(number)) } else { None }
    }

    /// The number.
    pub const fn get(self) -> u64 {
        self.0
    }
}

/// One plan of a call.
#[derive(Clone, Copy, Debug)]
pub struct Ask<'a> {
    /// What is owed. Its `now` only says which calendar periods are near: the server's clock decides.
    pub plan: &'a ChargePlan<'a>,
    /// The node that takes the slots, or took those that are released: ids of slots are a node's own.
    pub holder: NodeId,
    /// What its caller calls it, if it may be repeated.
    pub name: Option<RequestName>,
    /// For how long its slots are held when nobody releases them. Nothing: for the lease of their limit.
    pub hold: Option<Nanos>,
}

/// Plans of one home that are settled together, one after the other.
#[derive(Clone, Copy, Debug)]
pub struct HomeCall<'a> {
    /// Whose meters they are.
    pub home: HomeId,
    /// The number of the call.
    pub seq: Seq,
    /// The plans. All are of this home, and agree about the rule of every limit they share. A peek changes nothing,
    /// except that next to other plans what an edit made of its meters is kept.
    pub asks: &'a [Ask<'a>],
}

impl HomeCall<'_> {
    /// The most plans that one call may have.
    pub const ASKS_MAX: usize = 256;
}
