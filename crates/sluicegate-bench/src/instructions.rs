//! The hidden suites `instructions` and `engine-instructions`: nothing but decisions, for a tool that counts
//! instructions. The first settles rate and quota in the table of meters, the second makes whole decisions.
//!
//! Two runs that differ only in their number of decisions differ by the instructions of those decisions: what
//! comes before the loop is the same in both. So no clock is read, and nothing is random or printed.

pub(crate) mod engine;

use crate::callers::Callers;
use crate::contestant::Contestant;
use crate::ours::Ours;
use crate::workload::{KEY_LENGTH, write_key};
use anyhow::{Result, ensure};

const CALLERS: Callers = Callers::THOUSAND;

/// How many accounts are decided on, each with one key.
const ACCOUNTS: u32 = 1_000;

/// The time between two decisions: a thousand callers, each a thousand times per second.
const STEP_NS: u64 = 1_000;

/// Settles this many decisions of rate and quota, each caller in turn.
pub(crate) fn run(decisions: u32) -> Result<()> {
    let ours = Ours::build(CALLERS)?;
    let mut lane = ours.lane();
    let keys = keys();
    let turns = (0..CALLERS.as_usize()).map(|caller| &keys[caller * KEY_LENGTH..(caller + 1) * KEY_LENGTH]);
    let mut now_ns = 0;
    let mut admitted = 0;
    for (key, _) in turns.cycle().zip(0..decisions) {
        now_ns += STEP_NS;
        admitted += u32::from(ours.admit(&mut lane, key, now_ns));
    }
    ensure!(admitted == decisions, "{} of {decisions} decisions were refused", decisions - admitted);
    Ok(())
}

fn keys() -> String {
    let mut keys = String::with_capacity(CALLERS.as_usize() * KEY_LENGTH);
    (0..CALLERS.get()).for_each(|caller| write_key(caller, &mut keys));
    keys
}
