//! How long to wait, and when to stop asking.

use std::time::Duration;

use crate::redis::link::DEADLINE_DEFAULT;

/// How a node deals with its homes.
#[derive(Clone, Debug)]
pub struct HomesSettings {
    /// How long a request waits for its answer. The deadline of the link should be the same.
    pub deadline: Duration,
    /// The most requests that are settled in one call.
    pub batch_max: usize,
    /// The most requests of one home that wait for the call under way to end.
    pub waiting_max: usize,
    /// When the node stops asking, and when it begins again.
    pub breaker: BreakerSettings,
    /// The most refusals that are remembered; none: every request is asked.
    pub refusals_max: usize,
}

impl Default for HomesSettings {
    fn default() -> Self {
        Self {
            deadline: DEADLINE_DEFAULT,
            // Some milliseconds of the server: nobody else waits longer for one hot home.
            batch_max: 256,
            waiting_max: 16 * 1024,
            breaker: BreakerSettings::default(),
            refusals_max: 64 * 1024,
        }
    }
}

/// When the node stops asking the store, and when it begins again.
#[derive(Clone, Debug)]
pub struct BreakerSettings {
    /// So many failures in a row open it.
    pub failures_in_a_row: u32,
    /// It opens as well when half of the calls within this time fail…
    pub window: Duration,
    /// …and there were at least so many.
    pub calls_min: u32,
    /// About how long between two probes while it is open. Each is up to a fifth earlier or later.
    pub probe_every: Duration,
    /// So many probes in a row that are answered close it.
    pub probes_to_close: u32,
}

impl Default for BreakerSettings {
    fn default() -> Self {
        Self {
            failures_in_a_row: 5,
            window: Duration::from_secs(1),
            calls_min: 20,
            probe_every: Duration::from_millis(200),
            probes_to_close: 2,
        }
    }
}
