//! A map with a most: when it is full, an entry goes that was not looked at lately.

use std::collections::HashMap;
use std::hash::RandomState;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::key_text::KeyId;

/// Entries by the id of a key. The hand of a clock goes round: what was looked at since it last came by stays.
#[derive(Debug)]
pub(super) struct Ring<V> {
    /// Whoever calls chooses ids: a keyed hash.
    places: HashMap<KeyId, usize, RandomState>,
    slots: Vec<Slot<V>>,
    hand: usize,
    entries_max: usize,
}

#[derive(Debug)]
struct Slot<V> {
    id: KeyId,
    value: V,
    looked_at: AtomicBool,
}

impl<V> Ring<V> {
    pub(super) fn new(entries_max: usize) -> Self {
        Self { places: HashMap::default(), slots: Vec::new(), hand: 0, entries_max: entries_max.max(1) }
    }

    pub(super) fn get(&self, id: KeyId) -> Option<&V> {
        let slot = &self.slots[*self.places.get(&id)?];
        // Written once in a round: a line of the cache that nobody writes is shared by all.
        if !slot.looked_at.load(Ordering::Relaxed) {
            slot.looked_at.store(true, Ordering::Relaxed);
        }
        Some(&slot.value)
    }

    pub(super) fn has(&self, id: KeyId) -> bool {
        self.places.contains_key(&id)
    }

    /// Enters it, in the place of one with the same id. Gives back what it took the place of.
    pub(super) fn insert(&mut self, id: KeyId, value: V) -> Option<V> {
        let slot = Slot { id, value, looked_at: AtomicBool::new(false) };
        let place = match self.places.get(&id) {
            Some(place) => *place,
            None if self.slots.len() < self.entries_max => {
                self.places.insert(id, self.slots.len());
                self.slots.push(slot);
                return None;
            }
            None => {
                let place = self.turn();
                self.places.remove(&self.slots[place].id);
                self.places.insert(id, place);
                place
            }
        };
        Some(std::mem::replace(&mut self.slots[place], slot).value)
    }

    /// The place of an entry that was not looked at since the hand last came by.
    fn turn(&mut self) -> usize {
        loop {
            let place = self.hand % self.slots.len();
            self.hand = place + 1;
            // In the second round none is left that was looked at: this ends.
            if !std::mem::replace(self.slots[place].looked_at.get_mut(), false) {
                return place;
            }
        }
    }

    pub(super) fn remove(&mut self, id: KeyId) -> Option<V> {
        let place = self.places.remove(&id)?;
        let slot = self.slots.swap_remove(place);
        if let Some(moved) = self.slots.get(place) {
            self.places.insert(moved.id, place);
        }
        Some(slot.value)
    }

    /// Removes all entries of which this is not true.
    pub(super) fn retain(&mut self, is_kept: impl Fn(&V) -> bool) {
        let mut place = 0;
        while let Some(slot) = self.slots.get(place) {
            if is_kept(&slot.value) {
                place += 1;
            } else {
                self.remove(slot.id);
            }
        }
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: usize) -> KeyId {
        KeyId::parse(&format!("{number:012}")).unwrap()
    }

    /// Everything that is in it, by what the map says.
    fn all(ring: &Ring<usize>) -> Vec<usize> {
        assert_eq!(ring.places.len(), ring.slots.len());
        let mut all: Vec<usize> = ring.places.values().map(|place| ring.slots[*place].value).collect();
        all.sort_unstable();
        assert!(all.iter().all(|value| ring.slots[ring.places[&id(*value)]].id == id(*value)));
        all
    }

    #[test]
    fn it_never_holds_more_than_its_most() {
        let mut ring = Ring::new(10);
        for number in 0..1_000 {
            ring.insert(id(number), number);
            assert!(ring.len() <= 10);
        }
        assert_eq!(all(&ring).len(), 10);
    }

    #[test]
    fn what_is_looked_at_stays() {
        let mut ring = Ring::new(10);
        ring.insert(id(7), 7);
        for number in 100..1_000 {
            assert_eq!(ring.get(id(7)), Some(&7));
            ring.insert(id(number), number);
        }
        // Once nobody looks any more, it goes as well.
        for number in 1_000..1_100 {
            ring.insert(id(number), number);
        }
        assert_eq!(ring.get(id(7)), None);
    }

    #[test]
    fn an_entry_is_replaced_and_removed() {
        let mut ring = Ring::new(10);
        for number in 0..10 {
            ring.insert(id(number), number);
        }
        assert_eq!(ring.insert(id(3), 3), Some(3));
        for number in [0, 9, 4] {
            assert_eq!(ring.remove(id(number)), Some(number));
            assert_eq!(ring.remove(id(number)), None);
        }
        assert_eq!(all(&ring), [1, 2, 3, 5, 6, 7, 8]);
        ring.retain(|value| value % 2 == 1);
        assert_eq!(all(&ring), [1, 3, 5, 7]);
    }
}
