//! Forgetting homes whose meters have nothing to say any more, a few at a time.
//!
//! First the idle meters of each home are forgotten where they are, with one cell locked at a time. Where homes are
//! left without meters, the array of their partition is then replaced by one without them, step by step.

use std::collections::BTreeSet;

use crossbeam_epoch::pin;
use sluicegate_core::plan::HomeId;
use sluicegate_core::time::Timestamp;

use super::MeterTable;
use super::resize::{Moving, STEP, fitting};
use crate::meters::cell::Cell;
use crate::meters::home::{Home, Left};

/// How many meters of one home are looked at before its cell is released.
const METERS_AT_ONCE: usize = 1_024;

/// What a sweep did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Swept {
    /// Homes that were forgotten because all their meters had nothing to say any more.
    pub forgotten: usize,
    /// Homes that are left.
    pub kept: usize,
}

impl MeterTable {
    /// Forgets every home whose meters have nothing to say at `now`. Nobody waits for it longer than a small array, a
    /// step of a large one or a part of a home takes.
    pub fn sweep(&self, now: Timestamp) -> Swept {
        let mut swept = Swept::default();
        for partition in 0..self.upkeep.len() {
            swept.forgotten += self.empty_homes(partition, |cell| self.forget_idle_in(partition, cell, now));
            swept.kept += self.homes_in(partition);
        }
        swept
    }

    /// Forgets every home with a meter that counts in a period that begins after `at`, and says which these were.
    pub fn forget_ahead_of(&self, at: Timestamp) -> Vec<HomeId> {
        let mut forgotten = BTreeSet::new();
        for partition in 0..self.upkeep.len() {
            self.empty_homes(partition, |cell| {
                let mut held = cell.hold()?;
                let id = held.id();
                held.with(|home| {
                    if !home.is_ahead_of(&self.book, at) {
                        return Some(home.left());
                    }
                    forgotten.insert(HomeId(id));
                    home.clear();
                    self.set_counted(partition, home, false);
                    Some(Left::Nothing)
                })
            });
        }
        forgotten.into_iter().collect()
    }

    /// Calls `forget` with each cell of a partition, and removes the homes that have no meters then. Says how many
    /// these are.
    fn empty_homes(&self, partition: usize, forget: impl FnMut(&Cell<Home>) -> Option<Left>) -> usize {
        self.finish_moving(partition);
        let empty = self.for_each_cell(partition, forget);
        let arrays = self.lock(partition);
        // With room for those that come meanwhile.
        let homes = self.homes_in(partition);
        let length_log2 = fitting(homes + homes / 8);
        if empty > 0 || length_log2 < arrays.length_log2() {
            self.replace(partition, arrays, length_log2);
            self.finish_moving(partition);
        }
        empty
    }

    /// Moves what is moving, and lets others have the lock between steps.
    fn finish_moving(&self, partition: usize) {
        while self.step(partition, &mut self.lock(partition), STEP) == Moving::Homes {}
    }

    /// Calls `forget` with one cell after another, and says how many homes are without meters.
    fn for_each_cell(&self, partition: usize, mut forget: impl FnMut(&Cell<Home>) -> Option<Left>) -> usize {
        let (mut empty, mut next) = (0, 0);
        let mut of: *const [Cell<Home>] = &[];
        loop {
            // Anew for each step, so that arrays that were replaced meanwhile can be given back.
            let guard = pin();
            let (cells, replaced) = self.places[partition].get(&guard);
            if replaced.is_some() {
                // The partition grows: what is still in the old array is met in the new one.
                self.finish_moving(partition);
                continue;
            }
            if !std::ptr::eq(cells, of) {
                // Another array: from the beginning.
                (empty, next, of) = (0, 0, cells);
            }
            let Some(left) = cells.get(next..).filter(|left| !left.is_empty()) else { return empty };
            for cell in left.iter().take(STEP) {
                empty += usize::from(forget(cell) == Some(Left::Nothing));
            }
            next += STEP;
        }
    }

    /// Forgets the idle meters of a cell's home, if there is one.
    fn forget_idle_in(&self, partition: usize, cell: &Cell<Home>, now: Timestamp) -> Option<Left> {
        let mut from = usize::MAX;
        loop {
            let (left, next) = cell.hold()?.with(|home| {
                let (left, next) = home.forget_idle(&self.book, now, from, METERS_AT_ONCE);
                if left == Left::Nothing {
                    self.set_counted(partition, home, false);
                }
                (left, next)
            });
            match next {
                Some(next) => from = next,
                None => return Some(left),
            }
        }
    }
}

#[cfg(test)]
pub(in crate::meters) mod tests;
