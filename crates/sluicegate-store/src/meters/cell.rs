//! A cell: one home, in one cache line, behind a lock of its own.
//!
//! A cell is empty until somebody claims it for a home, belongs to that home from then on, and is moved out
//! exactly once when its array is replaced; one that is empty then is closed. Looking whose it is takes no lock;
//! everything else does. Two threads therefore meet only where they decide for the same home, and then on one
//! cache line.

use super::sync::{AtomicU32, AtomicU64, Guarded, Ordering, spin_loop, yield_now};

/// Set while somebody has the cell to themselves.
const LOCKED: u32 = 1;
/// Nobody's yet. Zero, so that zeroed memory is an array of empty cells.
const EMPTY: u32 = 0;
/// Some home's.
const LIVE: u32 = 2;
const LIVE_LOCKED: u32 = LIVE | LOCKED;
/// Its home was moved to another array. It still says whose it was.
const MOVED: u32 = 4;
/// It was empty when its array was replaced, and stays empty.
const CLOSED: u32 = 8;

/// How often a locked cell is looked at before the thread lets others run. A decision takes some fifty
/// nanoseconds, so a lock that is held longer belongs to a thread that was interrupted.
const SPINS_MAX: u32 = 100;

/// One home's place in an array. `B` is what is kept there.
#[repr(C)]
#[cfg_attr(not(loom), repr(align(64)))]
#[derive(Debug, Default)]
pub(crate) struct Cell<B> {
    state: AtomicU32,
    body: Guarded<B>,
    id: [AtomicU64; 2],
}

// SAFETY: the body is reached only through a `Held`, of which the lock lets one exist at a time.
unsafe impl<B: Send> Sync for Cell<B> {}

/// What a cell is to somebody who looks for a home.
#[derive(Debug)]
pub(crate) enum Probe<'c, B> {
    /// The home's cell, locked.
    Held(Held<'c, B>),
    /// Nobody's: the home is not in this array.
    Empty,
    /// Another home's, or one that was another's.
    Other,
    /// The home's, which was moved to another array.
    Moved,
    /// Nobody's, and never will be: the home is not in this array.
    Closed,
}

/// What to do with an empty cell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum IfEmpty {
    Claim,
    Leave,
    /// Nobody may claim it any more: the home will be looked for, and claimed, in another array.
    Close,
}

/// A locked cell. Dropping it unlocks.
#[derive(Debug)]
pub(crate) struct Held<'c, B> {
    cell: &'c Cell<B>,
    /// What the state becomes when the lock is given back.
    then: u32,
}

impl<B> Cell<B> {
    /// Locks the cell if it is the home's, or claims it if it is empty and that is wanted.
    #[inline]
    pub(crate) fn probe(&self, id: u128, if_empty: IfEmpty) -> Probe<'_, B> {
        let mut spins = 0;
        loop {
            let state = self.state.load(Ordering::Acquire);
            match state {
                LIVE | LIVE_LOCKED | MOVED if !self.is_of(id) => return Probe::Other,
                LIVE if self.lock_from(LIVE) => {
                    return Probe::Held(Held { cell: self, then: LIVE });
                }
                MOVED => return Probe::Moved,
                CLOSED => return Probe::Closed,
                EMPTY if if_empty == IfEmpty::Leave => return Probe::Empty,
                EMPTY if if_empty == IfEmpty::Close => {
                    if self.close() {
                        return Probe::Closed;
                    }
                    pause(&mut spins);
                }
                EMPTY if self.lock_from(EMPTY) => {
                    self.claim(id);
                    return Probe::Held(Held { cell: self, then: LIVE });
                }
                // Somebody has it: perhaps for this home, perhaps claiming it right now.
                _ => pause(&mut spins),
            }
        }
    }

    /// Hands the home of the cell out, if it is one's, and closes the cell if it is empty: the first half of moving it.
    pub(crate) fn seal(&self) -> Option<(u128, Held<'_, B>)> {
        let mut spins = 0;
        loop {
            match self.state.load(Ordering::Acquire) {
                LIVE if self.lock_from(LIVE) => return Some((self.id(), Held { cell: self, then: MOVED })),
                EMPTY if self.close() => return None,
                MOVED | CLOSED => return None,
                _ => pause(&mut spins),
            }
        }
    }

    /// Locks the cell if it is some home's, whosever.
    pub(crate) fn hold(&self) -> Option<Held<'_, B>> {
        let mut spins = 0;
        loop {
            match self.state.load(Ordering::Acquire) {
                LIVE if self.lock_from(LIVE) => return Some(Held { cell: self, then: LIVE }),
                EMPTY | MOVED | CLOSED => return None,
                _ => pause(&mut spins),
            }
        }
    }

    /// Closes an empty cell. Both this and a claim are a compare-and-swap from `EMPTY`: one of them succeeds.
    fn close(&self) -> bool {
        self.state.compare_exchange(EMPTY, CLOSED, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    #[inline]
    fn lock_from(&self, state: u32) -> bool {
        self.state.compare_exchange(state, state | LOCKED, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    fn claim(&self, id: u128) {
        let [low, high] = halves(id);
        self.id[0].store(low, Ordering::Relaxed);
        self.id[1].store(high, Ordering::Relaxed);
        // Published before the lock is given back: others can pass by without waiting for the first decision.
        self.state.store(LIVE_LOCKED, Ordering::Release);
    }

    #[inline]
    fn is_of(&self, id: u128) -> bool {
        let [low, high] = halves(id);
        self.id[0].load(Ordering::Relaxed) == low && self.id[1].load(Ordering::Relaxed) == high
    }

    fn id(&self) -> u128 {
        u128::from(self.id[1].load(Ordering::Relaxed)) << 64 | u128::from(self.id[0].load(Ordering::Relaxed))
    }
}

impl<B> Held<'_, B> {
    /// Whose cell it is.
    pub(crate) fn id(&self) -> u128 {
        self.cell.id()
    }

    /// The home, for as long as the lock is held.
    #[inline]
    pub(crate) fn with<R>(&mut self, f: impl FnOnce(&mut B) -> R) -> R {
        // SAFETY: this is the only `Held` of the cell, and it is borrowed exclusively.
        self.cell.body.with_mut(|body| f(unsafe { &mut *body }))
    }
}

impl<B> Drop for Held<'_, B> {
    #[inline]
    fn drop(&mut self) {
        self.cell.state.store(self.then, Ordering::Release);
    }
}

#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the two halves")]
fn halves(id: u128) -> [u64; 2] {
    [id as u64, (id >> 64) as u64]
}

#[cold]
fn pause(spins: &mut u32) {
    *spins += 1;
    if cfg!(loom) || *spins > SPINS_MAX {
        yield_now();
    } else {
        spin_loop();
    }
}

/// Every interleaving of a few threads, tried by loom: `RUSTFLAGS="--cfg loom" cargo test --release -p
/// sluicegate-store --lib loom`.
#[cfg(all(test, loom))]
mod loom_tests {
    use loom::sync::Arc;
    use loom::thread;

    use super::*;

    fn add_one(cell: &Cell<u64>, id: u128) -> &'static str {
        match cell.probe(id, IfEmpty::Claim) {
            Probe::Held(mut cell) => {
                cell.with(|count| *count += 1);
                "held"
            }
            Probe::Other => "other",
            Probe::Empty => "empty",
            Probe::Moved => "moved",
            Probe::Closed => "closed",
        }
    }

    #[test]
    fn loom_two_threads_that_claim_one_home_share_its_cell() {
        loom::model(|| {
            let cell = Arc::new(Cell::<u64>::default());
            let other = {
                let cell = Arc::clone(&cell);
                thread::spawn(move || add_one(&cell, 7))
            };
            let outcomes = [add_one(&cell, 7), other.join().unwrap()];
            assert_eq!(outcomes, ["held", "held"]);
            assert_eq!(cell.seal().unwrap().1.with(|count| *count), 2);
        });
    }

    #[test]
    fn loom_a_cell_is_one_homes_only() {
        loom::model(|| {
            let cell = Arc::new(Cell::<u64>::default());
            let other = {
                let cell = Arc::clone(&cell);
                thread::spawn(move || add_one(&cell, 8))
            };
            let mut outcomes = [add_one(&cell, 7), other.join().unwrap()];
            outcomes.sort_unstable();
            assert_eq!(outcomes, ["held", "other"]);
        });
    }

    #[test]
    fn loom_what_is_counted_before_a_move_moves_and_what_comes_after_is_told() {
        loom::model(|| {
            let cell = Arc::new(Cell::<u64>::default());
            let other = {
                let cell = Arc::clone(&cell);
                thread::spawn(move || add_one(&cell, 7))
            };
            let moved = cell.seal().map_or(0, |(id, mut held)| {
                assert_eq!(id, 7);
                held.with(std::mem::take)
            });
            match other.join().unwrap() {
                "held" => {
                    assert_eq!(moved, 1);
                    assert!(matches!(cell.probe(7, IfEmpty::Claim), Probe::Moved));
                }
                "moved" | "closed" => {
                    assert_eq!(moved, 0);
                    assert!(matches!(cell.probe(7, IfEmpty::Claim), Probe::Closed));
                }
                outcome => panic!("{outcome}"),
            }
        });
    }

    /// One array of one cell is replaced by another. A thread that knows both searches the old one first, and closes
    /// its cell if it is empty.
    fn add_one_in_either(old: &Cell<u64>, new: &Cell<u64>) -> &'static str {
        match old.probe(7, IfEmpty::Close) {
            Probe::Held(mut cell) => {
                cell.with(|count| *count += 1);
                "old"
            }
            _ => add_one(new, 7),
        }
    }

    fn count_in(cell: &Cell<u64>) -> u64 {
        match cell.probe(7, IfEmpty::Leave) {
            Probe::Held(mut cell) => cell.with(|count| *count),
            _ => 0,
        }
    }

    #[test]
    fn loom_a_home_is_claimed_in_one_array_by_who_has_heard_of_the_new_one_and_who_has_not() {
        loom::model(|| {
            let arrays = Arc::new([Cell::<u64>::default(), Cell::<u64>::default()]);
            let stale = {
                let arrays = Arc::clone(&arrays);
                thread::spawn(move || add_one(&arrays[0], 7))
            };
            let aware = add_one_in_either(&arrays[0], &arrays[1]);
            // A thread that finds the cell closed starts again, and has counted nothing.
            match (stale.join().unwrap(), aware) {
                ("held", "old") => assert_eq!((count_in(&arrays[0]), count_in(&arrays[1])), (2, 0)),
                ("closed", "held") => assert_eq!((count_in(&arrays[0]), count_in(&arrays[1])), (0, 1)),
                outcomes => panic!("{outcomes:?}"),
            }
        });
    }

    #[test]
    fn loom_a_home_that_moves_is_found_in_one_array_or_the_other() {
        for was_there in [false, true] {
            loom::model(move || {
                let arrays = Arc::new([Cell::<u64>::default(), Cell::<u64>::default()]);
                if was_there {
                    add_one(&arrays[0], 7);
                }
                let aware = {
                    let arrays = Arc::clone(&arrays);
                    thread::spawn(move || add_one_in_either(&arrays[0], &arrays[1]))
                };
                if let Some((id, mut held)) = arrays[0].seal() {
                    let home = held.with(std::mem::take);
                    match arrays[1].probe(id, IfEmpty::Claim) {
                        Probe::Held(mut cell) => cell.with(|count| {
                            assert_eq!(*count, 0, "a thread that looks for it waits until it was moved");
                            *count = home;
                        }),
                        probe => panic!("{probe:?}"),
                    }
                }
                assert!(["old", "held"].contains(&aware.join().unwrap()));
                assert_eq!(count_in(&arrays[1]), 1 + u64::from(was_there));
            });
        }
    }
}
