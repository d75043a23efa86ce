//! Names to homes: a keyed hash over length-prefixed parts.

use std::hash::Hasher as _;

use siphasher::sip128::{Hasher128 as _, SipHasher13};
use sluicegate_core::plan::HomeId;

/// Turns what identifies an account or a client into its home.
///
/// The key is secret and the hash has 128 bits, so nobody can choose a name that collides with another's, and
/// the table need not keep the names.
#[derive(Clone)]
pub struct HomeHasher {
    names: SipHasher13,
    /// Under a key of its own: no list of parts hashes like a name.
    parts: SipHasher13,
}

/// Without the secret.
impl std::fmt::Debug for HomeHasher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HomeHasher").finish_non_exhaustive()
    }
}

impl HomeHasher {
    /// A hasher with this secret.
    pub fn new(secret: [u8; 16]) -> Self {
        let names = SipHasher13::new_with_key(&secret);
        let parts = SipHasher13::new_with_key(&names.hash(b"parts").as_bytes());
        Self { names, parts }
    }

    /// The home of whoever has this name.
    #[inline]
    pub fn of_name(&self, name: &[u8]) -> HomeId {
        HomeId(self.names.hash(name).as_u128())
    }

    /// The home of whoever is identified by several parts together. Each part is hashed behind its length:
    /// `["ab", "c"]` and `["a", "bc"]` are different callers.
    pub fn of_parts(&self, parts: &[&[u8]]) -> HomeId {
        let mut hasher = self.parts;
        for part in parts {
            hasher.write_u64(part.len() as u64);
            hasher.write(part);
        }
        HomeId(hasher.finish128().as_u128())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_not_joined() {
        let hasher = HomeHasher::new([7; 16]);
        assert_ne!(hasher.of_parts(&[b"ab", b"c"]), hasher.of_parts(&[b"a", b"bc"]));
        assert_ne!(hasher.of_parts(&[b"ab"]), hasher.of_parts(&[b"ab", b""]));
        assert_ne!(hasher.of_parts(&[b"ab"]), hasher.of_name(b"ab"));
        assert_eq!(hasher.of_parts(&[b"ab", b"c"]), hasher.of_parts(&[b"ab", b"c"]));
    }

    #[test]
    fn another_secret_gives_other_homes() {
        assert_ne!(HomeHasher::new([7; 16]).of_name(b"a"), HomeHasher::new([8; 16]).of_name(b"a"));
    }
}
