//! Who sent wrong tokens: a table of fixed size.

use std::collections::BTreeMap;
use std::time::Duration;

use sluicegate_core::time::{Nanos, Timestamp};

use super::{SignInPort, delay};

/// The most peers that are told apart; more share one entry.
const PEERS_MAX: usize = 4_096;
/// The most refusals of one peer that wait at a time.
const WAITING_MAX: u32 = 4;
/// The most refusals that wait at a time.
const WAITING_ALL_MAX: u32 = 256;
/// After so long without a wrong token a peer is forgotten.
const FORGET: Nanos = Nanos::from_secs(600);

/// What is known of one peer.
#[derive(Clone, Copy, Debug)]
struct Peer {
    /// Wrong tokens in a row.
    streak: u32,
    last: Timestamp,
    waiting: u32,
    /// The minute of the counts below.
    minute: u32,
    /// By port.
    counts: [u32; SignInPort::ALL.len()],
}

/// The peers, by the keyed hash of their addresses, and the refusals of this minute and the last.
#[derive(Debug, Default)]
pub(super) struct Table {
    peers: BTreeMap<u64, Peer>,
    waiting: u32,
    minute: u32,
    this_minute: u32,
    last_minute: u32,
    /// Minutes that ended when a peer went on in the next.
    ended: Vec<EndedMinute>,
}

/// What becomes of a refusal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Counted {
    /// It is answered after this time.
    Wait(Duration),
    /// Too many wait already: it is answered at once.
    TooMany,
}

/// The wrong tokens of one peer in one minute.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct EndedMinute {
    pub(super) peer: u64,
    pub(super) minute: u32,
    pub(super) counts: [u32; SignInPort::ALL.len()],
}

impl Table {
    /// The entry of peers that are not known, or beyond the size of the table.
    pub(super) const UNKNOWN: u64 = 0;

    /// Counts a wrong token, and says under which entry: a refusal that waits is taken off it later.
    pub(super) fn count(&mut self, peer: u64, port: SignInPort, now: Timestamp) -> (u64, Counted) {
        self.roll(now);
        self.this_minute = self.this_minute.saturating_add(1);
        let is_full = self.peers.len() >= PEERS_MAX && !self.peers.contains_key(&peer);
        let id = if is_full { Self::UNKNOWN } else { peer };
        let minute = now.as_secs() / 60;
        let fresh = Peer { streak: 0, last: now, waiting: 0, minute, counts: [0; SignInPort::ALL.len()] };
        let peer = self.peers.entry(id).or_insert(fresh);
        if now.since(peer.last) >= FORGET {
            peer.streak = 0;
        }
        if peer.minute != minute {
            let ended = EndedMinute { peer: id, minute: peer.minute, counts: peer.counts };
            if self.ended.len() < PEERS_MAX && ended.counts.iter().any(|count| *count > 0) {
                self.ended.push(ended);
            }
            (peer.minute, peer.counts) = (minute, [0; SignInPort::ALL.len()]);
        }
        let count = &mut peer.counts[port as usize];
        *count = count.saturating_add(1);
        (peer.streak, peer.last) = (peer.streak.saturating_add(1), now);
        let wait = delay(peer.streak);
        if wait.is_zero() {
            return (id, Counted::Wait(wait));
        }
        if peer.waiting >= WAITING_MAX || self.waiting >= WAITING_ALL_MAX {
            return (id, Counted::TooMany);
        }
        peer.waiting += 1;
        self.waiting += 1;
        (id, Counted::Wait(wait))
    }

    /// A refusal under this entry has waited.
    pub(super) fn waited(&mut self, id: u64) {
        if let Some(peer) = self.peers.get_mut(&id) {
            peer.waiting = peer.waiting.saturating_sub(1);
        }
        self.waiting = self.waiting.saturating_sub(1);
    }

    /// How many wrong tokens came in this minute and the last.
    pub(super) fn recent(&mut self, now: Timestamp) -> u32 {
        self.roll(now);
        self.this_minute.saturating_add(self.last_minute)
    }

    /// The minutes that are over, each once; with `all`, also the one that goes on. Forgets peers that are quiet.
    pub(super) fn take_ended(&mut self, now: Timestamp, all: bool) -> Vec<EndedMinute> {
        let minute = now.as_secs() / 60;
        let mut ended = std::mem::take(&mut self.ended);
        for (id, peer) in &mut self.peers {
            if (all || peer.minute != minute) && peer.counts.iter().any(|count| *count > 0) {
                ended.push(EndedMinute { peer: *id, minute: peer.minute, counts: peer.counts });
                peer.counts = [0; SignInPort::ALL.len()];
            }
        }
        self.peers.retain(|_, peer| peer.waiting > 0 || now.since(peer.last) < FORGET);
        ended
    }

    fn roll(&mut self, now: Timestamp) {
        let minute = now.as_secs() / 60;
        if minute != self.minute {
            self.last_minute = if minute == self.minute + 1 { self.this_minute } else { 0 };
            (self.minute, self.this_minute) = (minute, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADMIN: SignInPort = SignInPort::Admin;

    fn at(secs: u32) -> Timestamp {
        Timestamp::from_secs(1_200_000 + secs)
    }

    #[test]
    fn a_peer_waits_longer_each_time_and_another_does_not() {
        let mut table = Table::default();
        for _ in 0..3 {
            assert_eq!(table.count(7, ADMIN, at(0)).1, Counted::Wait(Duration::ZERO));
        }
        assert_eq!(table.count(7, ADMIN, at(1)).1, Counted::Wait(Duration::from_millis(50)));
        table.waited(7);
        assert_eq!(table.count(7, ADMIN, at(2)).1, Counted::Wait(Duration::from_millis(100)));
        table.waited(7);
        assert_eq!(table.count(8, ADMIN, at(2)).1, Counted::Wait(Duration::ZERO));
        assert_eq!(
            table.count(7, ADMIN, at(700)).1,
            Counted::Wait(Duration::ZERO),
            "forgotten after ten minutes"
        );
    }

    #[test]
    fn few_refusals_wait_at_a_time() {
        let mut table = Table::default();
        let waits = (0..20)
            .filter(|_| matches!(table.count(7, ADMIN, at(0)).1, Counted::Wait(wait) if !wait.is_zero()));
        assert_eq!(waits.count(), WAITING_MAX as usize);
        assert_eq!(table.count(7, ADMIN, at(0)).1, Counted::TooMany);
    }

    #[test]
    fn each_minute_of_a_peer_is_taken_once_with_its_count() {
        let mut table = Table::default();
        let count = |table: &mut Table, port, secs| table.count(7, port, at(secs));
        count(&mut table, ADMIN, 0);
        count(&mut table, SignInPort::Resp, 59);
        assert_eq!(table.take_ended(at(59), false), []);
        let first = EndedMinute { peer: 7, minute: 20_000, counts: [1, 0, 1] };
        count(&mut table, ADMIN, 61);
        assert_eq!(table.take_ended(at(62), false), [first]);
        assert_eq!(table.take_ended(at(63), false), []);
        let second = EndedMinute { peer: 7, minute: 20_001, counts: [1, 0, 0] };
        assert_eq!(table.take_ended(at(64), true), [second]);
        assert_eq!((table.recent(at(64)), table.recent(at(130)), table.recent(at(200))), (3, 1, 0));
    }

    #[test]
    fn a_flood_of_addresses_takes_a_bounded_table() {
        let mut table = Table::default();
        for peer in 1..20_000 {
            let (id, counted) = table.count(peer, ADMIN, at(0));
            if matches!(counted, Counted::Wait(wait) if !wait.is_zero()) {
                table.waited(id);
            }
        }
        assert!(table.peers.len() <= PEERS_MAX + 1);
        let counted: u32 = table.take_ended(at(0), true).iter().map(|ended| ended.counts[0]).sum();
        assert_eq!(counted, 19_999);
        table.take_ended(at(601), false);
        assert!(table.peers.is_empty());
    }
}
