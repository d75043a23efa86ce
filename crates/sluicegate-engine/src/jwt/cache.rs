//! Tokens that were verified, by a keyed hash of their text.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use sluicegate_core::time::Timestamp;

use super::claims::VerifiedToken;

const SHARDS: usize = 16;
/// The most tokens of one shard. A full shard forgets those that have ended, or else all of its tokens.
const SHARD_MAX: usize = 8_192;

/// The version of the policy and the generation of the keys that a token was verified under.
pub(super) type VerifiedUnder = (u64, u64);

type Shard = HashMap<u128, (VerifiedUnder, Arc<VerifiedToken>)>;

/// Tokens that were verified.
#[derive(Debug, Default)]
pub(super) struct TokenCache([Mutex<Shard>; SHARDS]);

impl TokenCache {
    fn shard(&self, hash: u128) -> &Mutex<Shard> {
        &self.0[usize::try_from(hash % SHARDS as u128).unwrap_or(0)]
    }

    pub(super) fn get(&self, hash: u128, under: VerifiedUnder) -> Option<Arc<VerifiedToken>> {
        let shard = self.shard(hash).lock();
        shard.get(&hash).filter(|(known, _)| *known == under).map(|(_, token)| Arc::clone(token))
    }

    pub(super) fn put(&self, hash: u128, under: VerifiedUnder, token: &Arc<VerifiedToken>, now: Timestamp) {
        let mut shard = self.shard(hash).lock();
        if shard.len() >= SHARD_MAX {
            shard.retain(|_, (known, token)| *known == under && !token.has_ended_at(now));
        }
        if shard.len() >= SHARD_MAX {
            shard.clear();
        }
        shard.insert(hash, (under, Arc::clone(token)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_cache_forgets_and_never_grows() {
        let cache = TokenCache::default();
        let token = Arc::new(VerifiedToken::for_tests("acme", Timestamp::MAX));
        for hash in 0..(2 * SHARDS * SHARD_MAX) as u128 {
            cache.put(hash, (1, 1), &token, Timestamp::EPOCH);
        }
        let held: usize = cache.0.iter().map(|shard| shard.lock().len()).sum();
        assert!(held <= SHARDS * SHARD_MAX, "{held}");
        let last = (2 * SHARDS * SHARD_MAX - 1) as u128;
        assert!(cache.get(last, (1, 1)).is_some());
        // Neither under another policy nor under other keys.
        assert!(cache.get(last, (2, 1)).is_none());
        assert!(cache.get(last, (1, 2)).is_none());
    }
}
