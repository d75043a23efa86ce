//! Conditions that people should hear of while they last: when each begins, and when it ends.
//!
//! The rules are functions of counts and of the time, in files of their own; none of them reads a clock or a store.
//! What an admitted decision pays for them is nothing, and a refusal one entry of a table of fixed size. What callers
//! use of their rates is counted from the records that admitted requests leave anyway, behind them. A thread asks the
//! rules now and then what should be firing, and tells the store what has changed since: what fires is kept there, so
//! that it fires once and is resolved once, whoever restarts meanwhile.
//!
//! Where nodes share a store, each adds what it has counted to sums for all of them, and one at a time, by a lease,
//! asks the rules about these. What a node finds out about itself, that the store is away or its policy file is bad,
//! it keeps and tells on its own: nothing of that waits for the store.

mod address_refusals;
mod caller_rate;
mod conditions;
mod counts;
mod drift;
mod evaluate;
mod keeper;
mod naming;
mod refusals_share;
mod rules;
mod sums;
mod tally;

use std::sync::atomic::AtomicUsize;

use sluicegate_store::alerts::Alerts;
use sluicegate_store::redis::alerts::counts::SharedCounts;
use tokio::sync::Mutex;

pub use conditions::Rejected;
pub use counts::Observed;

use conditions::Conditions;
use counts::RefusedAddresses;
use keeper::Keeper;

/// The seconds of a step: how finely time is looked at.
pub(crate) const STEP_S: u32 = 10;

/// What the engine knows of conditions.
#[derive(Debug)]
pub(crate) struct Alerting {
    pub(crate) refused: RefusedAddresses,
    conditions: Conditions,
    /// Where this node's own alerts are kept. Without other nodes: all of them.
    own: Alerts,
    /// What all nodes count, where there are several.
    shared: Option<SharedCounts>,
    /// How many fire.
    firing: AtomicUsize,
    keeper: Mutex<Keeper>,
}

impl Alerting {
    pub(crate) fn new(own: Alerts, shared: Option<SharedCounts>) -> Self {
        Self {
            refused: RefusedAddresses::default(),
            conditions: Conditions::default(),
            own,
            shared,
            firing: AtomicUsize::new(0),
            keeper: Mutex::default(),
        }
    }
}
