//! Forgetting homes whose meters have nothing to say any more, a few at a time.
//!
//! First the idle meters of each home are forgotten where they are, with one cell locked at a time. Where homes are left
//! without meters, the array of their partition is then replaced by one without them, step by step.

use crossbeam_epoch::pin;
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
            self.finish_moving(partition);
            let idle = self.forget_idle(partition, now);
            let arrays = self.lock(partition);
            // With room for those that come meanwhile.
            let homes = self.homes_in(partition);
            let length_log2 = fitting(homes + homes / 8);
            if idle > 0 || length_log2 < arrays.length_log2() {
                self.replace(partition, arrays, length_log2);
                self.finish_moving(partition);
            }
            swept.forgotten += idle;
            swept.kept += self.homes_in(partition);
        }
        swept
    }

    /// Moves what is moving, and lets others have the lock between steps.
    fn finish_moving(&self, partition: usize) {
        while self.step(partition, &mut self.lock(partition), STEP) == Moving::Homes {}
    }

    /// Forgets idle meters, one cell at a time, and says how many homes are without any.
    fn forget_idle(&self, partition: usize, now: Timestamp) -> usize {
        let (mut idle, mut next, mut of) = (0, 0, 0);
        loop {
            // Anew for each step, so that arrays that were replaced meanwhile can be given back.
            let guard = pin();
            let (cells, _) = self.places[partition].get(&guard);
            if cells.as_ptr().addr() != of {
                // Another array: from the beginning.
                (idle, next, of) = (0, 0, cells.as_ptr().addr());
            }
            let Some(left) = cells.get(next..).filter(|left| !left.is_empty()) else { return idle };
            for cell in left.iter().take(STEP) {
                idle += usize::from(self.forget_idle_in(partition, cell, now) == Some(Left::Nothing));
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
