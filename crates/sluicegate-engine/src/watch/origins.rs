//! Which address clients came from lately, so that people can be told of the pressure on it: hashes, in a table of
//! fixed size where whoever comes takes the place of whoever was there.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use sluicegate_core::plan::HomeId;

/// 65,536 clients in 1 MiB.
const PLACES_LOG2: u32 = 16;

/// The last address of each client.
#[derive(Default)]
pub(crate) struct Origins {
    /// Made by the first client: a policy without pressure pays nothing.
    places: OnceLock<Box<[Place]>>,
}

/// An address, and whose it is mixed with it: of two who write at once, neither is read as the other.
#[derive(Default)]
struct Place {
    mixed: AtomicU64,
    address: AtomicU64,
}

impl std::fmt::Debug for Origins {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Origins").finish_non_exhaustive()
    }
}

impl Origins {
    /// A client came from the address with this keyed hash.
    pub(crate) fn note(&self, client: HomeId, address: u64) {
        let places = self.places.get_or_init(|| (0..1 << PLACES_LOG2).map(|_| Place::default()).collect());
        let (at, name) = split(client);
        let mixed = name ^ address;
        if places[at].mixed.load(Ordering::Relaxed) != mixed {
            places[at].mixed.store(mixed, Ordering::Relaxed);
            places[at].address.store(address, Ordering::Relaxed);
        }
    }

    /// Where a client came from last, if that is known.
    pub(crate) fn of(&self, client: HomeId) -> Option<u64> {
        let (at, name) = split(client);
        let place = self.places.get()?.get(at)?;
        let address = place.address.load(Ordering::Relaxed);
        (place.mixed.load(Ordering::Relaxed) == name ^ address).then_some(address)
    }
}

/// Where a client is looked for, and what it is known by there.
#[expect(clippy::cast_possible_truncation, reason = "halves of a keyed hash are what is wanted")]
const fn split(client: HomeId) -> (usize, u64) {
    ((client.0 >> (128 - PLACES_LOG2)) as usize, client.0 as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_address_of_a_client_is_known_until_another_takes_its_place() {
        let origins = Origins::default();
        let client = |high: u128, low: u128| HomeId(high << 112 | low);
        assert_eq!(origins.of(client(1, 1)), None);
        origins.note(client(1, 1), 7);
        origins.note(client(2, 1), 8);
        assert_eq!((origins.of(client(1, 1)), origins.of(client(2, 1))), (Some(7), Some(8)));
        origins.note(client(1, 1), 9);
        assert_eq!(origins.of(client(1, 1)), Some(9));
        origins.note(client(1, 2), 9);
        assert_eq!((origins.of(client(1, 1)), origins.of(client(1, 2))), (None, Some(9)));
    }
}
