//! The table: partitions of homes, each an array that is replaced by another when it fills, or when many of its homes
//! were forgotten.
//!
//! A thread finds its way with three loads and takes one lock, that of the cell. While a large array is being
//! replaced, its homes move one by one, and a thread waits at most for the move of the home that it needs. Replaced
//! arrays are freed once no thread can still read them.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crossbeam_epoch::{Guard, pin};
use sluicegate_core::book::LimitId;
use sluicegate_core::limit::{Axis, Limit};
use sluicegate_core::plan::{ChargePlan, HomeId, Mode, SubjectClass};
use sluicegate_core::settle::{Outcome, Readings};

use super::array::{Array, Found, find};
use super::cell::{Cell, Held, IfEmpty};
use super::home::Home;
use super::list::settle_fresh;
use super::shared_book::SharedBook;

mod images;
mod place;
mod recorded;
mod resize;
mod slots;
mod sweep;

pub use images::Imaged;
pub use recorded::Limits;
pub use sweep::Swept;

use place::Place;
use resize::{Arrays, Why};

/// How many bits of a home's hash choose its partition. 64 partitions: few enough that a million homes lie on
/// huge pages, many enough that threads seldom meet where one grows.
const PARTITION_BITS: u32 = 6;

/// The smallest array.
const LENGTH_LOG2_MIN: u32 = 3;

/// What is rarely needed of a partition, away from what every decision reads.
#[repr(align(128))]
struct Upkeep {
    arrays: Mutex<Arrays>,
    /// How many homes there are of each class.
    homes: [AtomicUsize; SubjectClass::ALL.len()],
}

/// The meters of many homes.
pub struct MeterTable {
    places: Box<[Place]>,
    upkeep: Box<[Upkeep]>,
    book: SharedBook,
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
            .map(|array| Upkeep { arrays: Mutex::new(Arrays::new(array)), homes: Default::default() })
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

    /// The number under which meters of a limit are kept that comes with the question. Those who ask make up numbers
    /// at will, and every limit in the book is kept for good: beyond [`MeterTable::ASKED_BELOW`] entries limits whose
    /// meters read alike share a number.
    pub fn enter_asked(&self, limit: &Limit) -> LimitId {
        self.book.enter_below(limit, Self::ASKED_BELOW)
    }

    /// Up to so many entries of the book, limits that come with the question have numbers of their own.
    pub const ASKED_BELOW: usize = 65_536;

    /// How many limits have numbers of their own.
    pub fn limits(&self) -> usize {
        self.book.read().len()
    }

    /// Whether there are so many homes of a class that a home which is new should be shared. Each partition has its
    /// part of the bound, so that asking takes one load.
    pub fn is_full_for(&self, home: HomeId, class: SubjectClass, homes_max: usize) -> bool {
        let homes = self.upkeep[partition_of(home)].homes[class as usize].load(Ordering::Relaxed);
        homes >= homes_max.div_ceil(self.upkeep.len())
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
        let Some(mut cell) = self.find_cell(partition, plan.home, if_empty, &guard) else {
            return settle_nowhere(plan, readings, then);
        };
        let is_other_class = cell.with(|home| home.class() != plan.class);
        if is_other_class && self.is_anothers(partition, plan, &mut cell) || refills_overflow(plan) {
            drop(cell);
            return settle_nowhere(plan, readings, then);
        }
        let outcome = cell.with(|home| home.settle(plan, &self.book, readings));
        let is_new = cell.with(|home| !home.is_counted());
        if is_new {
            cell.with(|home| self.set_counted(partition, home, true));
        }
        if outcome.changes_meters(plan.mode) {
            then(outcome);
        }
        if is_new {
            drop(cell);
            self.make_room(partition);
        }
        outcome
    }

    /// The home of a subject whose class is another than the plan's: whether the plan is not for it. A home that has no
    /// class yet gets the plan's.
    #[cold]
    fn is_anothers(&self, partition: usize, plan: &ChargePlan<'_>, cell: &mut Held<'_, Home>) -> bool {
        let class = cell.with(|home| home.class());
        if class == SubjectClass::Account && matches!(plan.mode, Mode::Charge | Mode::Force) {
            cell.with(|home| self.reclass(partition, home, plan.class));
        }
        // The limits there are those of many; a plan for one would read them wrong.
        class == SubjectClass::Overflow
    }

    /// Whether a home has meters.
    pub fn has(&self, home: HomeId) -> bool {
        let guard = pin();
        self.find_cell(partition_of(home), home, IfEmpty::Leave, &guard).is_some()
    }

    /// How many homes there are.
    pub fn homes(&self) -> usize {
        (0..self.upkeep.len()).map(|partition| self.homes_in(partition)).sum()
    }

    /// How many homes there are of one class.
    pub fn homes_of(&self, class: SubjectClass) -> usize {
        self.upkeep.iter().map(|upkeep| upkeep.homes[class as usize].load(Ordering::Relaxed)).sum()
    }

    /// The memory of all cells. The lists of homes with more than two meters come on top.
    pub fn bytes(&self) -> usize {
        (0..self.upkeep.len()).map(|partition| self.lock(partition).bytes()).sum()
    }

    /// The part of [`MeterTable::bytes`] that was mapped and did not come from the allocator.
    pub fn mapped_bytes(&self) -> usize {
        (0..self.upkeep.len()).map(|partition| self.lock(partition).mapped_bytes()).sum()
    }

    /// The cell of a home, locked. One that was claimed just now is not counted yet.
    #[inline]
    fn find_cell<'g>(
        &self,
        partition: usize,
        home: HomeId,
        if_empty: IfEmpty,
        guard: &'g Guard,
    ) -> Option<Held<'g, Home>> {
        loop {
            let (current, replaced) = self.places[partition].get(guard);
            if let Some(replaced) = replaced
                && let Some(cell) = find_replaced(replaced, home, if_empty)
            {
                return Some(cell);
            }
            match find(current, home.0, if_empty) {
                Found::Held(cell) => return Some(cell),
                Found::Absent => return None,
                Found::Full => self.grow(partition, Why::NoCell),
                Found::Moved => self.await_replacement(partition, current),
            }
        }
    }

    fn homes_in(&self, partition: usize) -> usize {
        self.upkeep[partition].homes.iter().map(|homes| homes.load(Ordering::Relaxed)).sum()
    }

    /// Adds a home to the count of its class, or removes it, while its cell is locked: the thread that moves the cell
    /// may remove it again.
    #[cold]
    fn set_counted(&self, partition: usize, home: &mut Home, is_counted: bool) {
        let count = &self.upkeep[partition].homes[home.class() as usize];
        if is_counted && !home.is_counted() {
            count.fetch_add(1, Ordering::Relaxed);
        } else if home.is_counted() && !is_counted {
            count.fetch_sub(1, Ordering::Relaxed);
        }
        home.set_counted(is_counted);
    }

    fn reclass(&self, partition: usize, home: &mut Home, class: SubjectClass) {
        let is_counted = home.is_counted();
        self.set_counted(partition, home, false);
        home.set_class(class);
        self.set_counted(partition, home, is_counted);
    }

    fn lock(&self, partition: usize) -> MutexGuard<'_, Arrays> {
        #[cfg(test)]
        sweep::tests::lock_taken();
        self.upkeep[partition].arrays.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a plan would give back to many what one of them was charged. A slot is one's own: it has an id.
#[inline]
fn refills_overflow(plan: &ChargePlan<'_>) -> bool {
    plan.class == SubjectClass::Overflow
        && matches!(plan.mode, Mode::Refund { .. })
        && plan.charges().iter().any(|charge| charge.limit.axis != Axis::Concurrency)
}

/// The cell of a home in an array that is being replaced. Where it is not, and a cell is to be claimed for it, nobody
/// can claim one there any more.
#[cold]
fn find_replaced<'g>(replaced: &'g [Cell<Home>], home: HomeId, if_empty: IfEmpty) -> Option<Held<'g, Home>> {
    let if_empty = if if_empty == IfEmpty::Claim { IfEmpty::Close } else { if_empty };
    match find(replaced, home.0, if_empty) {
        Found::Held(cell) => Some(cell),
        Found::Absent | Found::Full | Found::Moved => None,
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

/// The highest bits of the lower half choose the partition, the lowest ones the cell within it. The lower
/// half is known first, so the cell is on its way from memory while the hash of the other is finished.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the lower half")]
fn partition_of(home: HomeId) -> usize {
    (home.0 as u64 >> (u64::BITS - PARTITION_BITS)) as usize
}
