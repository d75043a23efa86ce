//! Replacing the array of a partition by a larger or a smaller one.
//!
//! A small array is replaced at once: a thread that needs one of its homes waits. A large one is replaced cell by
//! cell. The new array is published first, together with the old one. From then on a thread searches the old array,
//! and then the new one if the home is not in the old. Before a thread claims a cell in the new array, it closes the
//! empty cell at which its search of the old array ended. So a thread that has not seen the new array yet cannot
//! claim that cell: a home is never in both.

use std::sync::MutexGuard;

use crossbeam_epoch::pin;

use super::{LENGTH_LOG2_MIN, MeterTable};
use crate::meters::array::Array;
use crate::meters::cell::Cell;
use crate::meters::home::Home;
use crate::meters::unwind::AbortOnUnwind;

/// Arrays of up to so many cells are replaced at once, in less than a tenth of a millisecond.
pub(super) const AT_ONCE_LOG2_MAX: u32 = 10;

/// How many cells of a large array are moved before the lock of the partition is released.
pub(super) const STEP: usize = 256;

/// How many cells a thread moves that has just claimed one. The new array is twice as large: it is far from full when
/// the last has moved.
const HELP: usize = 64;

/// The arrays of a partition.
pub(super) struct Arrays {
    current: Array,
    replaced: Option<Replaced>,
}

/// An array whose homes are moving out.
struct Replaced {
    array: Array,
    /// Every cell before this one is moved or closed.
    next: usize,
}

impl Arrays {
    pub(super) fn new(current: Array) -> Self {
        Self { current, replaced: None }
    }

    pub(super) fn length_log2(&self) -> u32 {
        self.current.length_log2()
    }

    pub(super) fn bytes(&self) -> usize {
        self.each().map(Array::bytes).sum()
    }

    pub(super) fn mapped_bytes(&self) -> usize {
        self.each().map(Array::mapped_bytes).sum()
    }

    fn each(&self) -> impl Iterator<Item = &Array> {
        std::iter::once(&self.current).chain(self.replaced.as_ref().map(|replaced| &replaced.array))
    }
}

impl MeterTable {
    /// Makes room after a home was added: helps to move what is moving, or begins to.
    #[cold]
    pub(super) fn make_room(&self, partition: usize) {
        let place = &self.places[partition];
        if self.is_crowded(partition, place.length_log2()) {
            self.grow(partition, Why::Crowded);
        } else if place.is_being_replaced()
            && let Ok(mut arrays) = self.upkeep[partition].arrays.try_lock()
        {
            self.step(partition, &mut arrays, HELP);
        }
    }

    fn is_crowded(&self, partition: usize, length_log2: u32) -> bool {
        self.homes_in(partition) > Array::homes_max(length_log2)
    }

    /// Doubles the array of a partition.
    #[cold]
    pub(super) fn grow(&self, partition: usize, why: Why) {
        let seen = self.places[partition].length_log2();
        let mut arrays = self.lock(partition);
        // It is full before all of the last one have moved in: rather one waits than that all do.
        while self.step(partition, &mut arrays, STEP) == Moving::Homes {}
        // Another thread may have been faster.
        if arrays.length_log2() == seen && (why == Why::NoCell || self.is_crowded(partition, seen)) {
            self.replace(partition, arrays, seen + 1);
        }
    }

    /// Begins to replace the array of a partition by one of another length, which has room for all homes; a small one
    /// is replaced at once.
    pub(super) fn replace(&self, partition: usize, mut arrays: MutexGuard<'_, Arrays>, length_log2: u32) {
        while self.step(partition, &mut arrays, STEP) == Moving::Homes {}
        if arrays.length_log2() <= AT_ONCE_LOG2_MAX {
            return self.replace_at_once(partition, arrays, length_log2);
        }
        // Others claim cells of the new array while homes are on their way to it. There is room for more of them at
        // once than a machine has threads.
        let length_log2 = length_log2.max(AT_ONCE_LOG2_MAX + 1);
        let new = Array::new(length_log2);
        self.places[partition].begin(&arrays.current, &new);
        let array = std::mem::replace(&mut arrays.current, new);
        arrays.replaced = Some(Replaced { array, next: 0 });
    }

    /// Moves the homes of up to so many cells. Homes without meters are forgotten.
    pub(super) fn step(&self, partition: usize, arrays: &mut Arrays, cells: usize) -> Moving {
        let Arrays { current, replaced: moving } = arrays;
        let Some(replaced) = moving else { return Moving::Nothing };
        // Half of a move would lose a home.
        let whole = AbortOnUnwind;
        let left = replaced.array.cells().get(replaced.next..).unwrap_or_default();
        for cell in left.iter().take(cells) {
            self.move_out(partition, cell, current);
        }
        replaced.next += cells;
        std::mem::forget(whole);
        if left.len() > cells {
            return Moving::Homes;
        }
        replaced.array.is_vacated();
        self.places[partition].end();
        if let Some(replaced) = moving.take() {
            give_back(replaced.array);
        }
        Moving::Nothing
    }

    /// Moves the home of a cell. The cell is locked until it is in the new array.
    fn move_out(&self, partition: usize, cell: &Cell<Home>, to: &Array) {
        #[cfg(test)]
        super::sweep::tests::cell_moved();
        let Some((id, mut held)) = cell.seal() else { return };
        let mut home = held.with(std::mem::take);
        if home.is_empty() {
            self.set_counted(partition, &mut home, false);
        } else {
            to.insert(id, home);
        }
    }

    fn replace_at_once(&self, partition: usize, mut arrays: MutexGuard<'_, Arrays>, length_log2: u32) {
        // Half of a move would strand the homes that were taken out, and send a thread that looks for one in circles.
        let whole = AbortOnUnwind;
        #[cfg(test)]
        arrays.current.cells().iter().for_each(|_| super::sweep::tests::cell_moved());
        let mut homes = arrays.current.vacate();
        homes.retain_mut(|(_, home)| {
            if home.is_empty() {
                self.set_counted(partition, home, false);
            }
            !home.is_empty()
        });
        let new = Array::new(length_log2.max(fitting(homes.len())));
        for (id, home) in homes {
            new.insert(id, home);
        }
        self.places[partition].set(&new);
        let old = std::mem::replace(&mut arrays.current, new);
        drop(arrays);
        std::mem::forget(whole);
        give_back(old);
    }

    /// Waits until an array that is being replaced at once has been. One that is replaced step by step is not waited
    /// for: the new one is there already.
    #[cold]
    pub(super) fn await_replacement(&self, partition: usize, seen: &[Cell<Home>]) {
        let guard = pin();
        let (current, _) = self.places[partition].get(&guard);
        if std::ptr::eq(current, seen) {
            drop(self.lock(partition));
        }
    }
}

/// Why an array is to be replaced by a larger one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Why {
    /// More of its cells are taken than should be.
    Crowded,
    /// All of them are.
    NoCell,
}

/// Whether homes are moving from one array to another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Moving {
    Homes,
    Nothing,
}

/// The length of the smallest array that takes so many homes.
pub(super) fn fitting(homes: usize) -> u32 {
    (LENGTH_LOG2_MIN..usize::BITS).find(|log2| Array::homes_max(*log2) > homes).unwrap_or(LENGTH_LOG2_MIN)
}

/// Gives an array back once nobody can look at it any more.
fn give_back(array: Array) {
    let guard = pin();
    guard.defer(move || drop(array));
    // Soon, not after some hundred more of these.
    guard.flush();
}
