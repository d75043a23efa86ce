//! Settling plans in Redis.

use std::fmt;

use tollgate_core::plan::{ChargePlan, HomeId};
use tollgate_core::settle::{Outcome, Readings};
use tollgate_core::time::Timestamp;

use super::link::{Link, QueryError, ServerAnswer};

/// A node among those that share a store: a random number, kept for as long as the node exists.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NodeId(pub u64);

/// The number of a call. On one node they only ever grow, also over restarts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Seq(u64);

impl Seq {
    /// The largest number.
    pub const MAX: u64 = (1 << 53) - 1;

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
}

/// Plans of one home that are settled together, one after the other.
#[derive(Clone, Copy, Debug)]
pub struct HomeCall<'a> {
    /// Whose meters they are.
    pub home: HomeId,
    /// The number of the call.
    pub seq: Seq,
    /// The plans. All are of this home, and agree about the rule of every limit they share.
    pub asks: &'a [Ask<'a>],
}

/// What became of a plan.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Settled {
    /// How it came out.
    pub outcome: Outcome,
    /// What its meters say.
    pub readings: Readings,
    /// When, by the clock of the server.
    pub now: Timestamp,
}

/// What became of a call whose answer was lost. It can never happen again.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Resolved {
    /// It was done: for each of its plans, how that came out as far as it changed a meter.
    Applied(Vec<Applied>),
    /// It was not done, or changed nothing, and never will.
    Never,
}

/// What one plan of a call did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Applied {
    /// It was charged, or given back.
    Admitted {
        /// How much of the cost lay above a limit whose overage is billed.
        overage: u64,
    },
    /// It changed nothing.
    Refused,
}

/// Why a call has no answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CallError {
    /// It was not sent, and so not done.
    NotSent,
    /// It may have been done, and may still be: nothing more may be asked of this home until [`Meters::resolve`] says.
    Unknown,
    /// The number is not above one that this node used for the home before, the last of which is given. Nothing was
    /// done.
    Late(u64),
    /// The plans do not agree about the rule of a limit: ask them in two calls. Nothing was done.
    Mixed,
    /// The server answered with an error. Nothing was done.
    Refused(ServerAnswer),
    /// The server answered with something that makes no sense.
    Garbled(String),
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotSent => f.write_str("the store is not connected"),
            Self::Unknown => f.write_str("the store did not answer in time"),
            Self::Late(last) => write!(f, "the number of the call is not above {last}"),
            Self::Mixed => f.write_str("the plans of the call do not agree about a limit"),
            Self::Refused(answer) => write!(f, "the store answered: {answer}"),
            Self::Garbled(why) => write!(f, "the store gave an answer that makes no sense: {why}"),
        }
    }
}

impl std::error::Error for CallError {}

impl From<QueryError> for CallError {
    fn from(error: QueryError) -> Self {
        match error {
            QueryError::NotSent => Self::NotSent,
            QueryError::Unknown(_) => Self::Unknown,
            QueryError::Refused(answer) => Self::Refused(answer),
            QueryError::Garbled(why) => Self::Garbled(why),
        }
    }
}

/// The meters of all homes, in a Redis.
#[derive(Clone, Debug)]
pub struct Meters {
    link: Link,
    node: NodeId,
}

impl Meters {
    /// The meters behind a link, as this node sees them.
    pub fn new(link: Link, node: NodeId) -> Self {
        Self { link, node }
    }

    /// Settles the plans of a call, in order: each charges all of its meters, or none.
    pub async fn call(&self, call: &HomeCall<'_>) -> Result<Vec<Settled>, CallError> {
        let _ = (&self.link, self.node, call);
        Err(CallError::NotSent)
    }

    /// Finds out what became of a call, and makes sure that it stays so. `fence` is a number above that of the call.
    pub async fn resolve(&self, home: HomeId, in_doubt: Seq, fence: Seq) -> Result<Resolved, CallError> {
        let _ = (&self.link, home, in_doubt, fence);
        Err(CallError::NotSent)
    }
}
