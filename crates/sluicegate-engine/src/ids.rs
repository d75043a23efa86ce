//! Ids of decisions: sortable by time, unique across restarts without asking anybody.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use sluicegate_core::rule::concurrency::SlotId;
use sluicegate_core::time::Timestamp;

/// The id of a decision: 48 bits of milliseconds, 40 bits of this process, 40 bits of a count. The first bit of the
/// count says who finishes the request: see `Finisher`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct DecisionId(pub u128);

/// Who finishes what a decision admits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Finisher {
    /// This process.
    Process,
    /// A service that is given a permit.
    Service,
}

/// As in ULIDs: no letter that looks like a digit.
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
const DIGITS: usize = 26;
const PREFIX: &str = "dec_";

/// The id of a decision as text.
pub type DecisionText = arrayvec::ArrayString<{ DecisionId::TEXT_LENGTH }>;

impl DecisionId {
    /// The length of an id as text.
    pub const TEXT_LENGTH: usize = PREFIX.len() + DIGITS;

    /// The id as text, without allocating.
    pub fn text(self) -> DecisionText {
        let mut text = DecisionText::new();
        text.push_str(PREFIX);
        // Every letter of the alphabet is ASCII.
        text.push_str(str::from_utf8(&digits(self.0)).unwrap_or_default());
        text
    }

    /// The millisecond in which it was made.
    pub(crate) fn millis(self) -> u64 {
        u64::try_from(self.0 >> (2 * PART_BITS)).unwrap_or(u64::MAX)
    }

    /// Its number among the decisions of its process.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "the low bits are what is wanted")]
    pub(crate) fn count(self) -> u64 {
        self.0 as u64 & (OF_PROCESS - 1)
    }

    /// Who finishes what it admits.
    #[inline]
    pub(crate) fn finisher(self) -> Finisher {
        if self.0 & u128::from(OF_PROCESS) == 0 { Finisher::Service } else { Finisher::Process }
    }

    /// The slot of a request that a service finishes: who holds it, and its id. No other decision has it.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "both halves")]
    pub(crate) fn slot(self) -> (u64, SlotId) {
        ((self.0 >> 64) as u64, SlotId(self.0 as u64))
    }

    /// Reads an id as [`DecisionId::text`] wrote it.
    pub fn parse(text: &str) -> Option<Self> {
        value(text.strip_prefix(PREFIX)?).map(Self)
    }
}

impl fmt::Display for DecisionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

/// Twenty-six digits, the most significant first.
pub(crate) fn digits(id: u128) -> [u8; DIGITS] {
    let mut digits = [0; DIGITS];
    // Twelve at a time are as many as a word holds, and shifting a word is one instruction.
    #[expect(clippy::cast_possible_truncation, reason = "the low bits are what is wanted")]
    for (part, place) in digits.rchunks_mut(12).zip([0, 60, 120]) {
        let mut word = (id >> place) as u64;
        for digit in part.iter_mut().rev() {
            *digit = ALPHABET[(word & 31) as usize];
            word >>= 5;
        }
    }
    digits
}

/// The number that [`digits`] wrote.
fn value(text: &str) -> Option<u128> {
    if text.len() != DIGITS || !text.starts_with(|first: char| ('0'..='7').contains(&first)) {
        return None;
    }
    text.bytes().try_fold(0u128, |id, digit| {
        let digit = ALPHABET.iter().position(|known| *known == digit)?;
        Some(id << 5 | digit as u128)
    })
}

/// Gives out ids.
#[derive(Debug)]
pub(crate) struct DecisionIds {
    process: u64,
    count: AtomicU64,
}

const PART_BITS: u32 = 40;
const PART_MASK: u64 = (1 << PART_BITS) - 1;
/// The bit of the count that says that the process finishes it.
const OF_PROCESS: u64 = 1 << (PART_BITS - 1);

impl DecisionIds {
    /// With something of this process's own, chosen at random.
    pub(crate) fn new(random: u64) -> Self {
        Self { process: random & PART_MASK, count: AtomicU64::new(1) }
    }

    /// The next id. The lower half of it no other decision of this process has, nor, most likely, one of the process
    /// before.
    #[inline]
    pub(crate) fn next(&self, now: Timestamp, finisher: Finisher) -> DecisionId {
        let count = self.count.fetch_add(1, Ordering::Relaxed) & (OF_PROCESS - 1);
        let count = if finisher == Finisher::Process { count | OF_PROCESS } else { count };
        let millis = u128::from(now.as_nanos() / 1_000_000);
        DecisionId(millis << (2 * PART_BITS) | u128::from(self.process) << PART_BITS | u128::from(count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_unique_sortable_and_read_back() {
        let ids = DecisionIds::new(u64::MAX);
        let first = ids.next(Timestamp::from_secs(1_791_201_600), Finisher::Process);
        let second = ids.next(Timestamp::from_secs(1_791_201_600), Finisher::Service);
        let later = ids.next(Timestamp::from_secs(1_791_201_601), Finisher::Process);
        assert_eq!((first.finisher(), second.finisher()), (Finisher::Process, Finisher::Service));
        assert_eq!((later.millis(), first.slot().1), (1_791_201_601_000, first.slot().1));
        assert_ne!(first.slot(), second.slot());
        assert!(first < later && second < later);
        assert!(first.to_string() < later.to_string() && second.to_string() < later.to_string());
        for id in [first, second, later, DecisionId(0), DecisionId(u128::MAX)] {
            assert_eq!(DecisionId::parse(&id.to_string()), Some(id));
        }
    }

    #[test]
    fn what_is_no_id_is_not_read_as_one() {
        for text in
            ["", "dec_", "dec_01", "abc", "dec_zzzzzzzzzzzzzzzzzzzzzzzzzz", "dec_0000000000000000000000000U"]
        {
            assert_eq!(DecisionId::parse(text), None, "{text}");
        }
    }
}
