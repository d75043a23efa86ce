//! Wrong tokens, at every port that takes tokens: delayed for each peer, counted, logged, alerted and audited.
//!
//! A right token is never delayed: a refusal is counted after the comparison. The table has a fixed size; peers beyond
//! it share one entry. Peers are keyed hashes of addresses.

mod give_backs;
mod notes;
mod table;

use std::net::IpAddr;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use sluicegate_core::time::Timestamp;

pub(crate) use give_backs::GiveBacks;
use table::{Counted, Table};

use crate::engine::Engine;

/// So many wrong tokens within two minutes are an alert.
const ALERT_FROM: u32 = 20;

/// A port that takes tokens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SignInPort {
    /// The admin API and the dashboard.
    Admin,
    /// The decision API, over HTTP and gRPC.
    Decision,
    /// Commands as Redis has them.
    Resp,
}

impl SignInPort {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Admin, Self::Decision, Self::Resp];

    /// Its word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Admin => "admin",
            Self::Decision => "decision",
            Self::Resp => "resp",
        }
    }
}

/// How a wrong token is answered, after its delay.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RefusedSignIn {
    /// As wrong.
    Wrong,
    /// As one of too many: this peer has others that wait for their answers.
    TooMany,
}

/// Wrong tokens since the start.
#[derive(Debug, Default)]
pub(crate) struct SignIns {
    table: Mutex<Table>,
    refused: [AtomicU64; SignInPort::ALL.len()],
    /// The second in which a line was last logged.
    logged: AtomicU32,
    /// How many were refused since then.
    unlogged: AtomicU64,
    pub(crate) give_backs: GiveBacks,
}

impl Engine {
    /// Counts a wrong token and waits for as long as this peer has to wait. A peer that is not known shares its entry
    /// with others that are not.
    pub async fn refuse_sign_in(
        &self,
        peer: Option<IpAddr>,
        port: SignInPort,
        now: Timestamp,
    ) -> RefusedSignIn {
        let peer = peer.map_or(Table::UNKNOWN, |address| self.prefixes_of(address).own);
        self.sign_ins.refused[port as usize].fetch_add(1, Ordering::Relaxed);
        self.log_refused_sign_in(peer, port, now);
        let (entry, counted) = self.sign_ins.table.lock().count(peer, port, now);
        let wait = match counted {
            Counted::Wait(wait) => wait,
            Counted::TooMany => return RefusedSignIn::TooMany,
        };
        if !wait.is_zero() {
            let _waiting = Waiting { sign_ins: &self.sign_ins, entry };
            tokio::time::sleep(wait).await;
        }
        RefusedSignIn::Wrong
    }

    /// How many wrong tokens each port has refused.
    pub fn refused_sign_ins(&self) -> [(SignInPort, u64); SignInPort::ALL.len()] {
        SignInPort::ALL.map(|port| (port, self.sign_ins.refused[port as usize].load(Ordering::Relaxed)))
    }

    /// How many wrong tokens came within the last two minutes, if they are enough for an alert.
    pub(crate) fn sign_in_alert(&self, now: Timestamp) -> Option<u32> {
        Some(self.sign_ins.table.lock().recent(now)).filter(|refused| *refused >= ALERT_FROM)
    }

    /// One line per second at most.
    fn log_refused_sign_in(&self, peer: u64, port: SignInPort, now: Timestamp) {
        let sign_ins = &self.sign_ins;
        let (second, last) = (now.as_secs(), sign_ins.logged.load(Ordering::Relaxed));
        let refused = sign_ins.unlogged.fetch_add(1, Ordering::Relaxed) + 1;
        let is_first = second != last
            && sign_ins.logged.compare_exchange(last, second, Ordering::Relaxed, Ordering::Relaxed).is_ok();
        if is_first {
            sign_ins.unlogged.fetch_sub(refused, Ordering::Relaxed);
            tracing::warn!(refused, port = port.as_str(), peer = format!("{peer:016x}"), "wrong tokens");
        }
    }
}

/// A refusal that waits, also if its peer goes away meanwhile.
struct Waiting<'s> {
    sign_ins: &'s SignIns,
    entry: u64,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.sign_ins.table.lock().waited(self.entry);
    }
}

/// The wait after so many wrong tokens in a row.
fn delay(streak: u32) -> Duration {
    /// Wrong tokens without a delay: typing mistakes.
    const FREE: u32 = 3;
    const FIRST: Duration = Duration::from_millis(50);
    const MAX: Duration = Duration::from_secs(2);
    match streak.checked_sub(FREE + 1) {
        None => Duration::ZERO,
        Some(doublings) => FIRST.saturating_mul(1 << doublings.min(16)).min(MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_grow_and_are_bounded() {
        let waits: Vec<u128> = (1..=11).map(|streak| delay(streak).as_millis()).collect();
        assert_eq!(waits, [0, 0, 0, 50, 100, 200, 400, 800, 1_600, 2_000, 2_000]);
        assert_eq!(delay(u32::MAX), Duration::from_secs(2));
    }
}
