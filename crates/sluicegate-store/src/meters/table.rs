//! The table: partitions of homes, each an array that is replaced by a larger one when it fills.
//!
//! A thread finds its way with two loads and takes one lock, that of the cell. While an array is being
//! replaced, whoever needs one of its homes waits; all other partitions go on. Arrays that were replaced are
//! given back once no thread can still be looking at them.

use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crossbeam_epoch::{Guard, pin};
use sluicegate_core::book::LimitId;
use sluicegate_core::limit::Limit;
use sluicegate_core::plan::{ChargePlan, HomeId, Mode};
use sluicegate_core::settle::{Outcome, Readings};
use sluicegate_core::time::Timestamp;

use super::array::{Array, Found, find};
use super::cell::{Cell, IfEmpty};
use super::home::{Home, Left};
use super::list::settle_fresh;
use super::shared_book::SharedBook;
use super::unwind::AbortOnUnwind;

mod images;
mod recorded;

pub use images::Imaged;
pub use recorded::Limits;

/// How many bits of a home's hash choose its partition. 64 partitions: few enough that a million homes lie on
/// huge pages, many enough that replacing one at ten million takes milliseconds.
const PARTITION_BITS: u32 = 6;

/// The smallest array.
const LENGTH_LOG2_MIN: u32 = 3;

/// Where the array of a partition is: its first cell, with the length's logarithm in the bits that alignment
/// leaves free.
struct Place(AtomicPtr<Cell<Home>>);

/// What is rarely needed of a partition, away from what every decision reads.
#[repr(align(128))]
struct Upkeep {
    array: Mutex<Array>,
    homes: AtomicUsize,
}

/// The meters of many homes.
pub struct MeterTable {
    places: Box<[Place]>,
    upkeep: Box<[Upkeep]>,
    book: SharedBook,
}

/// What a sweep did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Swept {
    /// Homes that were forgotten because all their meters had nothing to say any more.
    pub forgotten: usize,
    /// Homes that are left.
    pub kept: usize,
}

impl Default for MeterTable {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for MeterTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MeterTable")
            .field("homes", &self.homes())
            .field("bytes", &self.bytes())
            .finish_non_exhaustive()
    }
}

impl MeterTable {
    /// A table without homes.
    pub fn new() -> Self {
        let arrays: Vec<Array> = (0..1 << PARTITION_BITS).map(|_| Array::new(LENGTH_LOG2_MIN)).collect();
        let places = arrays.iter().map(Place::of).collect();
        let upkeep = arrays
            .into_iter()
            .map(|array| Upkeep { array: Mutex::new(array), homes: AtomicUsize::new(0) })
            .collect();
        Self { places, upkeep, book: SharedBook::default() }
    }

    /// The number under which meters of `limit` are kept. Plans name limits by it.
    pub fn enter(&self, limit: &Limit) -> LimitId {
        self.book.enter(limit)
    }

    /// The number under which meters of `limit` are kept, if there is one; else [`LimitId::UNKNOWN`], with which a plan
    /// can only be peeked at.
    pub fn find(&self, limit: &Limit) -> LimitId {
        self.book.read().find(limit).unwrap_or(LimitId::UNKNOWN)
    }

    /// Settles a plan: charges every meter it names, or none. What they say then goes into `readings`.
    pub fn settle(&self, plan: &ChargePlan<'_>, readings: &mut Readings) -> Outcome {
        self.settle_then(plan, readings, |_| ())
    }

    /// Settles a plan as [`MeterTable::settle`] does and, if the settlement stands, calls `then` once: before
    /// anybody else can settle against the home, so that the order of these calls is that of the settlements.
    /// A plan stands if it is admitted and more than a peek, also where there is no meter to charge or to give
    /// back to; then no home is held either.
    ///
    /// `then` must not ask this table for anything. Should it panic, the plan stays settled and the table whole.
    pub fn settle_then(
        &self,
        plan: &ChargePlan<'_>,
        readings: &mut Readings,
        then: impl FnOnce(Outcome),
    ) -> Outcome {
        if plan.charges().is_empty() {
            return settle_nowhere(plan, readings, then);
        }
        let partition = partition_of(plan.home);
        let if_empty = match plan.mode {
            Mode::Charge | Mode::Force | Mode::Correct { .. } => IfEmpty::Claim,
            // Looking at a stranger, or giving back to one, makes nobody a home.
            Mode::Peek | Mode::Refund { .. } => IfEmpty::Leave,
        };
        let guard = pin();
        loop {
            match find(self.cells(partition, &guard), plan.home.0, if_empty) {
                Found::Held { mut cell, fresh } => {
                    let outcome = cell.with(|home| home.settle(plan, &self.book, readings));
                    if fresh {
                        // Counted before the cell can be moved: whoever replaces the array counts what it moved.
                        self.upkeep[partition].homes.fetch_add(1, Ordering::Relaxed);
                    }
                    if outcome.changes_meters(plan.mode) {
                        then(outcome);
                    }
                    if fresh {
                        drop(cell);
                        self.grow_if_full(partition);
                    }
                    return outcome;
                }
                Found::Absent => return settle_nowhere(plan, readings, then),
                Found::Full => self.grow(partition),
                Found::Moved => drop(self.lock(partition)),
            }
        }
    }

    /// Forgets every home whose meters have nothing to say at `now`.
    pub fn sweep(&self, now: Timestamp) -> Swept {
        let mut swept = Swept::default();
        for partition in 0..self.upkeep.len() {
            let array = self.lock(partition);
            let sweep = |homes: &mut Vec<(u128, Home)>| {
                let before = homes.len();
                homes.retain_mut(|(_, home)| home.forget_idle(&self.book, now) == Left::Meters);
                swept.kept += homes.len();
                swept.forgotten += before - homes.len();
                fitting(homes.len())
            };
            self.replace(partition, array, sweep);
        }
        swept
    }

    /// Forgets every home with a meter that counts in a period that begins after `at`, and says which these were.
    pub fn forget_ahead_of(&self, at: Timestamp) -> Vec<HomeId> {
        let mut forgotten = Vec::new();
        for partition in 0..self.upkeep.len() {
            let array = self.lock(partition);
            let forget = |homes: &mut Vec<(u128, Home)>| {
                homes.retain_mut(|(id, home)| {
                    let is_ahead = home.is_ahead_of(&self.book, at);
                    if is_ahead {
                        forgotten.push(HomeId(*id));
                    }
                    !is_ahead
                });
                fitting(homes.len())
            };
            self.replace(partition, array, forget);
        }
        forgotten
    }

    /// Whether a home has meters.
    pub fn has(&self, home: HomeId) -> bool {
        let partition = partition_of(home);
        let guard = pin();
        loop {
            match find(self.cells(partition, &guard), home.0, IfEmpty::Leave) {
                Found::Held { .. } => return true,
                Found::Absent | Found::Full => return false,
                Found::Moved => drop(self.lock(partition)),
            }
        }
    }

    /// How many homes there are.
    pub fn homes(&self) -> usize {
        self.upkeep.iter().map(|upkeep| upkeep.homes.load(Ordering::Relaxed)).sum()
    }

    /// The memory of all cells. The lists of homes with more than two meters come on top.
    pub fn bytes(&self) -> usize {
        (0..self.upkeep.len()).map(|partition| self.lock(partition).bytes()).sum()
    }

    /// The part of [`MeterTable::bytes`] that was mapped and did not come from the allocator.
    pub fn mapped_bytes(&self) -> usize {
        (0..self.upkeep.len()).map(|partition| self.lock(partition).mapped_bytes()).sum()
    }

    /// The cells of a partition. They stay valid for as long as the guard lives.
    #[inline]
    fn cells<'g>(&self, partition: usize, _guard: &'g Guard) -> &'g [Cell<Home>] {
        let (first, length) = self.places[partition].get();
        // SAFETY: a place always holds an array of that length, and a replaced array is given back only after
        // every guard that was alive at the time has gone.
        unsafe { std::slice::from_raw_parts(first, length) }
    }

    #[cold]
    fn grow_if_full(&self, partition: usize) {
        let homes = self.upkeep[partition].homes.load(Ordering::Relaxed);
        let (_, length) = self.places[partition].get();
        if homes > Array::homes_max(length.trailing_zeros()) {
            self.grow(partition);
        }
    }

    #[cold]
    fn grow(&self, partition: usize) {
        let (seen, _) = self.places[partition].get();
        let array = self.lock(partition);
        // Another thread may have been faster.
        if std::ptr::eq(array.first().as_ptr(), seen) {
            let length_log2 = array.length_log2() + 1;
            self.replace(partition, array, |_| length_log2);
        }
    }

    /// Moves the homes of a partition into a new array. `choose` says which length it has, and may drop homes.
    fn replace(
        &self,
        partition: usize,
        mut array: MutexGuard<'_, Array>,
        choose: impl FnOnce(&mut Vec<(u128, Home)>) -> u32,
    ) {
        // Half of a move would strand the homes that were taken out, and send whoever looks for one in circles.
        let whole = AbortOnUnwind;
        let mut homes = array.vacate();
        let new = Array::new(choose(&mut homes));
        self.upkeep[partition].homes.store(homes.len(), Ordering::Relaxed);
        for (id, home) in homes {
            new.insert(id, home);
        }
        self.places[partition].set(&new);
        let old = std::mem::replace(&mut *array, new);
        drop(array);
        std::mem::forget(whole);
        let guard = pin();
        guard.defer(move || drop(old));
        // Give memory back soon, not after some hundred more of these.
        guard.flush();
    }

    fn lock(&self, partition: usize) -> MutexGuard<'_, Array> {
        self.upkeep[partition].array.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Settles a plan that meets no meter.
fn settle_nowhere(plan: &ChargePlan<'_>, readings: &mut Readings, then: impl FnOnce(Outcome)) -> Outcome {
    let outcome = settle_fresh(plan, readings);
    if outcome.changes_meters(plan.mode) {
        then(outcome);
    }
    outcome
}

impl Place {
    fn of(array: &Array) -> Self {
        Self(AtomicPtr::new(Self::tagged(array)))
    }

    fn tagged(array: &Array) -> *mut Cell<Home> {
        array.first().as_ptr().map_addr(|address| address | array.length_log2() as usize)
    }

    fn set(&self, array: &Array) {
        self.0.store(Self::tagged(array), Ordering::Release);
    }

    #[inline]
    fn get(&self) -> (*const Cell<Home>, usize) {
        const TAG: usize = align_of::<Cell<Home>>() - 1;
        let tagged = self.0.load(Ordering::Acquire);
        (tagged.map_addr(|address| address & !TAG), 1 << (tagged.addr() & TAG))
    }
}

/// The highest bits of the lower half choose the partition, the lowest ones the cell within it. The lower
/// half is known first, so the cell is on its way from memory while the hash of the other is finished.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the lower half")]
fn partition_of(home: HomeId) -> usize {
    (home.0 as u64 >> (u64::BITS - PARTITION_BITS)) as usize
}

/// The length of the smallest array that takes so many homes.
fn fitting(homes: usize) -> u32 {
    (LENGTH_LOG2_MIN..usize::BITS).find(|log2| Array::homes_max(*log2) > homes).unwrap_or(LENGTH_LOG2_MIN)
}
