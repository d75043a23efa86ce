//! Starts examples as processes, calls them, and stands in for the servers that they call.

pub mod http;
pub mod process;
pub mod stub;

use std::time::Duration;

/// Nothing in these checks takes this long unless it is stuck.
pub const STUCK: Duration = Duration::from_secs(60);

/// Whether the checks that build much are wanted.
pub fn is_slow() -> bool {
    std::env::var("SLUICEGATE_SLOW").is_ok_and(|value| value == "1")
}
