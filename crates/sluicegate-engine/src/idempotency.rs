//! Idempotency keys, the callers' own names for requests: which were charged within a day, and whether a repeat is
//! free.
//!
//! A repeat is free only while nothing was delivered under its name, or where whoever asks answers for it: see
//! [`ReplayRule`]. Names are bounded as a whole and per account, and an account at its bound loses its own oldest name,
//! never another's.

mod table;

use sluicegate_core::policy::Repeats;
use sluicegate_core::time::{Nanos, Timestamp};

use crate::ids::DecisionId;
use crate::request::Front;

pub(crate) use table::{IdempotencyTable, Shard};

/// How long a name is remembered.
pub(crate) const REMEMBERED: Nanos = Nanos::from_secs(24 * 3_600);

/// When a repeat of a name is free.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ReplayRule {
    /// Always: the service that asks vouches for its names.
    Vouched,
    /// Up to [`ReplayRule::FREE_MAX`] times: the upstream recognises the names itself.
    Free,
    /// If every earlier attempt has ended without an answer of the upstream, up to [`ReplayRule::AFTER_FAILURE_MAX`]
    /// times.
    AfterFailure,
}

impl ReplayRule {
    /// How often one name is free where the route says `repeats: free`.
    pub(crate) const FREE_MAX: u8 = 20;
    /// How often one name is free after failures.
    pub(crate) const AFTER_FAILURE_MAX: u8 = 5;

    /// The rule of a route, for requests that come through a front end. Nothing: names mean nothing there.
    pub(crate) fn of(repeats: Repeats, front: Front) -> Option<Self> {
        match (repeats, front) {
            (Repeats::Charged, _) => None,
            (_, Front::Decision | Front::Resp | Front::RateLimit) => Some(Self::Vouched),
            (Repeats::Free, _) => Some(Self::Free),
            (Repeats::AfterFailure, Front::Gateway | Front::Middleware) => Some(Self::AfterFailure),
            // Nobody reports how these requests end.
            (Repeats::AfterFailure, Front::ForwardAuth | Front::ExtAuthz) => None,
        }
    }

    /// Whether another attempt under a name is free.
    pub(crate) fn is_free(self, known: &KnownName) -> bool {
        match self {
            Self::Vouched => true,
            Self::Free => known.replays < Self::FREE_MAX,
            Self::AfterFailure => {
                known.open == 0 && !known.delivered && known.replays < Self::AFTER_FAILURE_MAX
            }
        }
    }
}

/// What is known of a name that was charged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct KnownName {
    /// The decision that charged it, and that a free repeat gets.
    pub(crate) decision: DecisionId,
    /// A hash of the request.
    pub(crate) request: u64,
    /// When it was charged.
    pub(crate) at: Timestamp,
    /// Attempts that have not ended.
    pub(crate) open: u16,
    /// Attempts that were free.
    pub(crate) replays: u8,
    /// Whether an attempt was answered, or ended in a way that is not known.
    pub(crate) delivered: bool,
    /// Whether the shared store has not been told of it.
    pub(crate) only_local: bool,
}

impl KnownName {
    /// A name that was charged by an earlier process: how its attempts have ended is not known, nor how many were free.
    /// One more may be: the answer of the last may have been lost with that process.
    pub(crate) fn recovered(decision: DecisionId, request: u64, at: Timestamp) -> Self {
        let replays = ReplayRule::FREE_MAX - 1;
        Self { decision, request, at, open: 0, replays, delivered: true, only_local: false }
    }

    /// A name that is charged for the first time.
    fn first(decision: DecisionId, request: u64, at: Timestamp) -> Self {
        Self { open: 1, replays: 0, delivered: false, ..Self::recovered(decision, request, at) }
    }
}

/// How an attempt under a name has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AttemptEnd {
    /// Its whole charge was given back: the name is forgotten.
    Refunded,
    /// The upstream failed, or gave no answer while the caller waited.
    Failed,
    /// The caller was answered, or went away, or nobody knows.
    Delivered,
}
