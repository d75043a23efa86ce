//! Serials: the unique ids under which records, meters and permits know accounts and keys.
//!
//! A serial is never handed out twice: not by one store, and not by the next one after a store was emptied. Its upper
//! bits are the millisecond in which it was made, its lower bits are random. So a store that has lost its last writes, or
//! all of them, goes on behind the serials that it has forgotten. Within a store each serial is larger than all before
//! it: lists in the order of serials are in the order of creation.

use sluicegate_core::time::Timestamp;

use crate::key_text::NoRandomness;

/// How many bits are random: two stores that make an account in the same millisecond differ in these.
const RANDOM_BITS: u32 = 11;

const NANOS_PER_MILLI: u64 = 1_000_000;

/// The first serial that is unique in this sense. Smaller ones were counted from 1 in each store by earlier versions.
pub(crate) const FIRST_UNIQUE: u64 = 1 << 32;

/// All serials are smaller, because scripts in Redis, scores of sorted sets and programs that read JSON have numbers
/// with 53 exact bits.
const END: u64 = 1 << 53;

/// The least serial for something that is made now. The store gives it, or the one after its last if that is larger.
pub(crate) fn least(now: Timestamp) -> Result<u64, NoRandomness> {
    let mut random = [0; 4];
    getrandom::fill(&mut random).map_err(|_| NoRandomness)?;
    Ok(compose(now, u32::from_le_bytes(random)))
}

fn compose(now: Timestamp, random: u32) -> u64 {
    // A clock that is far off leaves room for the serials that follow.
    let millis = now.as_nanos() / NANOS_PER_MILLI;
    let millis = millis.clamp(FIRST_UNIQUE >> RANDOM_BITS, (END >> RANDOM_BITS) - (1 << 20));
    (millis << RANDOM_BITS) | (u64::from(random) & ((1 << RANDOM_BITS) - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn serials_grow_with_time_and_stay_exact_in_every_number() {
        let early = compose(Timestamp::from_nanos(1_790_000_000_123_999_999), u32::MAX);
        let late = compose(Timestamp::from_nanos(1_790_000_000_124_000_000), 0);
        assert_eq!(late, early + 1);
        for now in [Timestamp::EPOCH, Timestamp::from_secs(1), Timestamp::from_secs(u32::MAX), Timestamp::MAX]
        {
            for random in [0, u32::MAX] {
                let serial = compose(now, random);
                // With room for a billion that follow.
                assert!((FIRST_UNIQUE..END - (1 << 30)).contains(&serial), "{now:?} {serial}");
            }
        }
    }

    #[test]
    fn two_stores_that_make_something_at_the_same_time_differ() {
        let now = Timestamp::from_secs(1_790_000_000);
        let mut made: Vec<u64> = (0..20).map(|_| least(now).unwrap()).collect();
        made.sort_unstable();
        made.dedup();
        // 20 of 2,048: a pair of equal ones is expected in one of eleven runs, six pairs never.
        assert!(made.len() >= 14, "{}", made.len());
    }
}
