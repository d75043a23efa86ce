//! Addresses as analytics and logs know them: under a key of the day, so that nobody is followed from one to the next.

use std::net::IpAddr;
use std::sync::Arc;

use arc_swap::ArcSwapOption;
use sluicegate_core::time::{Timestamp, Window};
use sluicegate_store::hash::HomeHasher;

use super::prefix::{own, prefix_of};

/// What the keys are made for. Changing it changes all hashes once, in the middle of a day.
const DAILY: &str = "sluicegate 2026-11-16 addresses in analytics, by day";

/// Hashes addresses under a key of the day (UTC). All nodes with the same secret have the same key.
pub struct DailyHash {
    secret: [u8; 32],
    today: ArcSwapOption<(u32, HomeHasher)>,
}

/// Without the secret.
impl std::fmt::Debug for DailyHash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DailyHash").finish_non_exhaustive()
    }
}

impl DailyHash {
    /// With keys made from this secret.
    pub fn new(secret: &[u8]) -> Self {
        Self { secret: blake3::derive_key(DAILY, secret), today: ArcSwapOption::empty() }
    }

    /// What stands for an address on the day of `now`: of all IPv4 addresses, and of all /64 of IPv6, a number each.
    pub fn of(&self, address: IpAddr, now: Timestamp) -> u64 {
        let day = now.as_secs() / Window::DAY.as_secs();
        let today = self.today.load();
        let prefix = prefix_of(address);
        match today.as_deref() {
            Some((of, hasher)) if *of == day => own(hasher, &prefix),
            _ => {
                let hasher = self.hasher(day);
                let hash = own(&hasher, &prefix);
                self.today.store(Some(Arc::new((day, hasher))));
                hash
            }
        }
    }

    fn hasher(&self, day: u32) -> HomeHasher {
        let mut key = [0; 16];
        key.copy_from_slice(&blake3::keyed_hash(&self.secret, &day.to_le_bytes()).as_bytes()[..16]);
        HomeHasher::new(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_another_number_every_day() {
        let hash = DailyHash::new(b"secret");
        let address: IpAddr = "192.0.2.1".parse().unwrap();
        let of = |secs| hash.of(address, Timestamp::from_secs(secs));
        let day = Window::DAY.as_secs();
        assert_eq!(of(day), of(2 * day - 1));
        assert_ne!(of(2 * day - 1), of(2 * day));
        // Back and forth, as requests on the border of two days come.
        assert_eq!(of(day), DailyHash::new(b"secret").of(address, Timestamp::from_secs(day)));
        assert_ne!(of(day), DailyHash::new(b"other").of(address, Timestamp::from_secs(day)));
    }

    #[test]
    fn it_counts_what_meters_count() {
        let hash = DailyHash::new(b"secret");
        let of = |text: &str| hash.of(text.parse().unwrap(), Timestamp::EPOCH);
        assert_eq!(of("::ffff:192.0.2.1"), of("192.0.2.1"));
        assert_eq!(of("2001:db8::1"), of("2001:db8::2"));
        assert_ne!(of("2001:db8::1"), of("2001:db8:1::1"));
    }
}
