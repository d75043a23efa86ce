//! Where the arrays of a partition are.

use std::sync::atomic::{AtomicPtr, Ordering};

use crossbeam_epoch::Guard;

use crate::meters::array::Array;
use crate::meters::cell::Cell;
use crate::meters::home::Home;

/// The array in use and, while that takes the place of another, the one that is being replaced. Each is its first
/// cell, with the length's logarithm in the bits that alignment leaves free.
pub(super) struct Place {
    current: AtomicPtr<Cell<Home>>,
    /// Null, or the same as `current`: none.
    replaced: AtomicPtr<Cell<Home>>,
}

impl Place {
    pub(super) fn of(array: &Array) -> Self {
        Self { current: AtomicPtr::new(tagged(array)), replaced: AtomicPtr::new(std::ptr::null_mut()) }
    }

    /// `new` takes the place of `old`, of which homes are left.
    pub(super) fn begin(&self, old: &Array, new: &Array) {
        // `replaced` is stored before `current` (both Release), and `get` loads `current` before `replaced` (both
        // Acquire). So a thread that loads the new `current` also sees `replaced`. Between the two stores a thread
        // loads the same array from both, and searches it once.
        self.replaced.store(tagged(old), Ordering::Release);
        self.current.store(tagged(new), Ordering::Release);
    }

    /// The array that is replaced has no homes any more.
    pub(super) fn end(&self) {
        self.replaced.store(std::ptr::null_mut(), Ordering::Release);
    }

    /// `new` is the one array.
    pub(super) fn set(&self, new: &Array) {
        self.current.store(tagged(new), Ordering::Release);
    }

    pub(super) fn length_log2(&self) -> u32 {
        // At most 63.
        u32::try_from(self.current.load(Ordering::Acquire).addr() & TAG).unwrap_or(u32::MAX)
    }

    pub(super) fn is_being_replaced(&self) -> bool {
        !self.replaced.load(Ordering::Acquire).is_null()
    }

    /// The array in use, and the one that it replaces. They stay valid for as long as the guard lives.
    #[inline]
    pub(super) fn get<'g>(&self, guard: &'g Guard) -> (&'g [Cell<Home>], Option<&'g [Cell<Home>]>) {
        let current = self.current.load(Ordering::Acquire);
        let replaced = self.replaced.load(Ordering::Acquire);
        if replaced.is_null() || replaced == current {
            return (cells(current, guard), None);
        }
        (cells(current, guard), Some(cells(replaced, guard)))
    }
}

const TAG: usize = align_of::<Cell<Home>>() - 1;

fn tagged(array: &Array) -> *mut Cell<Home> {
    array.first().as_ptr().map_addr(|address| address | array.length_log2() as usize)
}

#[inline]
fn cells(tagged: *mut Cell<Home>, _guard: &Guard) -> &[Cell<Home>] {
    let first = tagged.map_addr(|address| address & !TAG);
    // SAFETY: a place holds only arrays of the length in the tag, and one that was replaced is given back only after
    // every guard that was alive at the time has gone.
    unsafe { std::slice::from_raw_parts(first, 1 << (tagged.addr() & TAG)) }
}
