//! Who calls, and in which order: the same for every contestant, and the same in every run of the program.
//!
//! A lap's keys are laid out one after the other in the order in which they are used. So reading a key is a
//! sequential read for everyone, as it is for a server whose request has just arrived, and what is measured is
//! how a limiter finds the caller's state.

use crate::callers::Callers;
use std::fmt::Write;
use std::ops::Range;

/// The length of a key, in bytes and in characters.
pub(crate) const KEY_LENGTH: usize = 30;

const ZIPF_EXPONENT: f64 = 1.0;

/// A prime above every number of callers: multiplying by it modulo that number is a permutation.
const SCATTER: u64 = 2_654_435_761;

/// Appends the key of one caller: an API key as providers issue them, different for each caller.
pub(crate) fn write_key(caller: u32, into: &mut String) {
    // The first 16 digits differ because `mix` is a bijection; the last 6 only fill up.
    let head = mix(u64::from(caller));
    let tail = mix(head) >> 40;
    // Writing to a string cannot fail.
    let _ = write!(into, "sg_live_{head:016x}{tail:06x}");
}

/// How often each caller calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pattern {
    /// Everyone equally often: the worst case for caches.
    Uniform,
    /// The caller of rank r in proportion to 1/r: a few very busy, a long tail.
    Zipf,
}

impl Pattern {
    pub(crate) const ALL: [Self; 2] = [Self::Uniform, Self::Zipf];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Uniform => "uniform",
            Self::Zipf => "zipf",
        }
    }

    /// One list of calls per thread, from different seeds.
    pub(crate) fn calls(self, callers: Callers, threads: u64, length: usize) -> Vec<Calls> {
        match self {
            Self::Uniform => {
                (0..threads).map(|seed| Calls::in_order(&uniform_order(callers, seed, length))).collect()
            }
            Self::Zipf => {
                let ranks = ZipfRanks::new(callers);
                (0..threads).map(|seed| Calls::in_order(&ranks.order(seed, length))).collect()
            }
        }
    }
}

/// The keys of one thread's decisions, in order.
pub(crate) struct Calls {
    text: String,
}

impl Calls {
    fn in_order(order: &[u32]) -> Self {
        let mut text = String::with_capacity(order.len() * KEY_LENGTH);
        for &caller in order {
            write_key(caller, &mut text);
        }
        Self { text }
    }

    pub(crate) fn len(&self) -> usize {
        self.text.len() / KEY_LENGTH
    }

    /// The keys of these decisions, of which there must be as many.
    pub(crate) fn keys(&self, decisions: Range<usize>) -> impl ExactSizeIterator<Item = &str> + Clone {
        decisions.map(|i| &self.text[i * KEY_LENGTH..(i + 1) * KEY_LENGTH])
    }
}

fn uniform_order(callers: Callers, seed: u64, length: usize) -> Vec<u32> {
    let mut random = Random::new(seed);
    (0..length).map(|_| random.below(callers.get())).collect()
}

/// The inverse of the distribution function, as a table over the ranks.
struct ZipfRanks {
    callers: Callers,
    cumulated: Vec<f64>,
}

impl ZipfRanks {
    fn new(callers: Callers) -> Self {
        let mut sum = 0.0;
        let cumulated = (1..=callers.get())
            .map(|rank| {
                sum += f64::from(rank).powf(-ZIPF_EXPONENT);
                sum
            })
            .collect();
        Self { callers, cumulated }
    }

    /// Callers that are neighbours in rank are not neighbours in memory: ranks are scattered over the callers.
    fn order(&self, seed: u64, length: usize) -> Vec<u32> {
        let mut random = Random::new(seed);
        let total = self.cumulated.last().copied().unwrap_or(0.0);
        (0..length)
            .map(|_| {
                let point = random.fraction() * total;
                let rank = self.cumulated.partition_point(|&sum| sum <= point) as u64;
                below_u32(rank * SCATTER % u64::from(self.callers.get()))
            })
            .collect()
    }
}

/// SplitMix64: small, fast, and seeded, so that every run of the program measures the same calls.
struct Random(u64);

impl Random {
    const fn new(seed: u64) -> Self {
        Self(mix(seed ^ 0x746f_6c6c_6761_7465))
    }

    const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    fn below(&mut self, bound: u32) -> u32 {
        below_u32(((self.next() >> 32) * u64::from(bound)) >> 32)
    }

    /// At least 0 and less than 1.
    fn fraction(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// A bijection on 64 bits that changes about half of them for each bit of the input.
const fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

fn below_u32(index: u64) -> u32 {
    u32::try_from(index).expect("an index of a caller is below a number of callers, which is a u32")
}

#[cfg(test)]
mod tests {
    use super::{Calls, KEY_LENGTH, Pattern, ZipfRanks, uniform_order, write_key};
    use crate::callers::Callers;
    use std::collections::BTreeSet;

    #[test]
    fn keys_are_30_characters_and_distinct() {
        let mut seen = BTreeSet::new();
        for caller in (0..20_000).chain([9_999_999, u32::MAX]) {
            let mut key = String::new();
            write_key(caller, &mut key);
            assert_eq!(key.chars().count(), 30);
            assert_eq!(key.len(), KEY_LENGTH);
            assert!(seen.insert(key));
        }
    }

    #[test]
    fn calls_are_the_keys_of_the_order() {
        let calls = Calls::in_order(&[7, 3, 7]);
        let expected: Vec<String> = [7, 3, 7]
            .map(|caller| {
                let mut key = String::new();
                write_key(caller, &mut key);
                key
            })
            .to_vec();
        assert_eq!(calls.len(), 3);
        assert_eq!(calls.keys(0..3).collect::<Vec<_>>(), expected);
        assert_eq!(calls.keys(1..2).collect::<Vec<_>>(), expected[1..2]);
    }

    /// How often each caller is called, most often first.
    fn counts(order: &[u32]) -> Vec<u32> {
        let mut counts = vec![0; 1_000];
        for &caller in order {
            counts[caller as usize] += 1;
        }
        counts.sort_unstable_by(|a, b| b.cmp(a));
        counts
    }

    #[test]
    fn zipf_is_skewed_as_one_over_the_rank() {
        let counts = counts(&ZipfRanks::new(Callers::THOUSAND).order(1, 100_000));
        // The harmonic sum of 1,000 is 7.485: the first caller's share is 13.4 %, the second's half of it.
        assert!((13_000..=13_700).contains(&counts[0]), "{}", counts[0]);
        assert!((6_400..=7_000).contains(&counts[1]), "{}", counts[1]);
        assert!(counts[999] > 0, "ranks are spread over all callers");
    }

    #[test]
    fn uniform_is_flat() {
        let counts = counts(&uniform_order(Callers::THOUSAND, 1, 100_000));
        assert!(counts[0] < 150 && counts[999] > 60, "{} {}", counts[0], counts[999]);
    }

    #[test]
    fn the_same_seed_gives_the_same_order_and_another_seed_another() {
        let ranks = ZipfRanks::new(Callers::THOUSAND);
        assert_eq!(ranks.order(1, 1_000), ZipfRanks::new(Callers::THOUSAND).order(1, 1_000));
        assert_ne!(ranks.order(1, 1_000), ranks.order(2, 1_000));
        assert_eq!(uniform_order(Callers::MILLION, 1, 1_000), uniform_order(Callers::MILLION, 1, 1_000));
    }

    #[test]
    fn every_thread_has_calls_of_its_own() {
        for pattern in Pattern::ALL {
            let calls = pattern.calls(Callers::THOUSAND, 2, 100);
            assert_eq!(calls.iter().map(Calls::len).collect::<Vec<_>>(), [100, 100]);
            assert!(calls[0].keys(0..100).ne(calls[1].keys(0..100)), "{}", pattern.name());
        }
    }
}
