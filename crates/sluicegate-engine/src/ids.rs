//! Ids of decisions: sortable by time, unique across restarts without asking anybody.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use sluicegate_core::time::Timestamp;

/// The id of a decision: 48 bits of milliseconds, 40 bits of this process, 40 bits of a count.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct DecisionId(pub u128);

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
pub(crate) fn value(text: &str) -> Option<u128> {
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

impl DecisionIds {
    /// With something of this process's own, chosen at random.
    pub(crate) fn new(random: u64) -> Self {
        Self { process: random & PART_MASK, count: AtomicU64::new(1) }
    }

    /// The next id, with its count: a number that no other decision of this process has.
    #[inline]
    pub(crate) fn next(&self, now: Timestamp) -> (DecisionId, u64) {
        let count = self.count.fetch_add(1, Ordering::Relaxed);
        let millis = u128::from(now.as_nanos() / 1_000_000);
        let parts = u128::from(self.process) << PART_BITS | u128::from(count & PART_MASK);
        (DecisionId(millis << (2 * PART_BITS) | parts), count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_unique_sortable_and_read_back() {
        let ids = DecisionIds::new(u64::MAX);
        let (first, _) = ids.next(Timestamp::from_secs(1_791_201_600));
        let (second, _) = ids.next(Timestamp::from_secs(1_791_201_600));
        let (later, _) = ids.next(Timestamp::from_secs(1_791_201_601));
        assert!(first < second && second < later);
        assert!(first.to_string() < second.to_string() && second.to_string() < later.to_string());
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
