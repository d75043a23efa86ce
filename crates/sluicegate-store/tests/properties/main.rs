//! The promises of `docs/algorithms.md`, held against random policies, requests, clocks and edits.
//!
//! Every test asks the table as a front end would. `SLUICEGATE_SLOW=1` runs ten times as many cases.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up should fail")]

mod bounds;
mod driver;
mod model;
mod periods;
mod promises;
mod replay;
mod strategies;
mod words;

use proptest::test_runner::Config;

/// How many random cases a property is tried on.
fn cases(normally: u32) -> Config {
    #[expect(clippy::disallowed_methods, reason = "the switch of the slow run")]
    let slow = std::env::var_os("SLUICEGATE_SLOW").is_some();
    let cases = if slow { normally.saturating_mul(10) } else { normally };
    Config { cases, max_shrink_iters: 50_000, ..Config::default() }
}
