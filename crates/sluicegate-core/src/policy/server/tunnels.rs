//! How long upgraded connections may last, and what they cost.

use std::time::Duration;

use crate::rule::Amount;

/// WebSockets and other upgraded connections.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TunnelSettings {
    /// How long neither side may send anything.
    pub idle: Duration,
    /// How long a tunnel may last; nothing: no maximum.
    pub max_age: Option<Duration>,
    /// What every minute that begins costs; nothing: it is free.
    pub cost_per_minute: Option<Amount>,
    /// What every MiB that begins costs, both directions together; nothing: it is free.
    pub cost_per_mib: Option<Amount>,
}

impl TunnelSettings {
    /// WebSocket libraries send a ping every 20 to 60 seconds; NATs forget a silent connection after about 5 minutes.
    pub const IDLE_DEFAULT: Duration = Duration::from_secs(10 * 60);
    /// The highest cost of a minute or a MiB.
    pub const COST_MAX: u64 = 1_000_000;
}

impl Default for TunnelSettings {
    fn default() -> Self {
        Self { idle: Self::IDLE_DEFAULT, max_age: None, cost_per_minute: None, cost_per_mib: None }
    }
}
