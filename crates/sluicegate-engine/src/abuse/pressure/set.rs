//! A few addresses that compete for room.

use sluicegate_core::policy::Pressure;
use sluicegate_core::time::Timestamp;

use super::address::Address;
use super::{Squeeze, Squeezed, UnknownFingerprints};

const WAYS: usize = 8;

/// The addresses lie apart from what is known of them: one cache line is searched.
#[derive(Debug, Default)]
pub(super) struct Set {
    names: [u64; WAYS],
    known: [Address; WAYS],
}

impl Set {
    pub(super) fn note(&mut self, address: u64, by: u64, pressure: &Pressure, now: Timestamp) -> Squeeze {
        let at = self.find(address).unwrap_or_else(|| self.make_room(address, now));
        let known = &mut self.known[at];
        known.note(by, pressure, now);
        if known.until > now { Squeeze::Until(known.until) } else { Squeeze::No }
    }

    /// As [`Set::note`]: which fingerprints other nodes should know of. In one step, so that of requests at once each
    /// but the first is told of.
    pub(super) fn note_unknown(
        &mut self,
        address: u64,
        by: u64,
        pressure: &Pressure,
        now: Timestamp,
    ) -> UnknownFingerprints {
        let known = self.find(address).map(|at| &self.known[at]).filter(|known| known.until <= now);
        let unknown = known.map_or_else(UnknownFingerprints::new, |known| known.unknown(by, pressure, now));
        self.note(address, by, pressure, now);
        unknown
    }

    pub(super) fn squeeze(&mut self, address: u64, until: Timestamp) {
        if let Some(at) = self.find(address) {
            let known = &mut self.known[at];
            known.until = known.until.max(until);
        }
    }

    pub(super) fn look(&self, address: u64, now: Timestamp) -> Option<Squeezed> {
        let known = &self.known[self.find(address)?];
        (known.until > now).then(|| squeezed(address, known))
    }

    pub(super) fn squeezed(&self, now: Timestamp) -> impl Iterator<Item = Squeezed> {
        let all = self.names.iter().zip(&self.known);
        all.filter(move |(_, known)| known.until > now).map(|(address, known)| squeezed(*address, known))
    }

    pub(super) fn forget(&mut self, address: u64) {
        if let Some(at) = self.find(address) {
            (self.names[at], self.known[at]) = (0, Address::default());
        }
    }

    fn find(&self, address: u64) -> Option<usize> {
        self.names
            .iter()
            .position(|name| *name == address)
            .filter(|at| self.known[*at].heard > Timestamp::EPOCH)
    }

    /// Takes the place of whoever is not squeezed and was quiet for longest; of the one whose squeeze ends first, if
    /// all are squeezed.
    fn make_room(&mut self, address: u64, now: Timestamp) -> usize {
        let worth = |known: &Address| {
            let until = if known.until > now { known.until } else { Timestamp::EPOCH };
            (until, known.heard)
        };
        let least = (0..WAYS).min_by_key(|at| worth(&self.known[*at])).unwrap_or(0);
        (self.names[least], self.known[least]) = (address, Address::default());
        least
    }
}

fn squeezed(address: u64, known: &Address) -> Squeezed {
    Squeezed { address, until: known.until, fingerprints: known.fingerprints }
}
