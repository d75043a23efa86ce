//! An array of cells, probed one after the other from where a home's hash points.

use std::ptr::NonNull;

use memmap2::{Advice, MmapMut, MmapRaw};

use super::cell::{Cell, Held, IfEmpty, Probe};
use super::home::Home;

/// Arrays from this size on are mapped on huge pages: at a million homes every decision would otherwise miss the TLB.
const HUGE_PAGE: usize = 2 << 20;

/// Where the memory of an array comes from, and how it goes back.
enum Memory {
    /// A boxed slice.
    Heap,
    /// Zeroed pages, given back when this is dropped.
    Map { _pages: MmapRaw },
}

/// An array of a power of two of cells.
///
/// The cells are reached through a pointer of their own and never through the memory's owner, which may move
/// while other threads are looking at them.
pub(crate) struct Array {
    first: NonNull<Cell<Home>>,
    length_log2: u32,
    memory: Memory,
    /// Whether every home has been moved out.
    vacated: bool,
}

// SAFETY: an array owns its cells, and cells can be sent and shared.
unsafe impl Send for Array {}

/// What probing an array for a home came to.
pub(crate) enum Found<'a> {
    /// Its cell, locked.
    Held(Held<'a, Home>),
    /// It is not here.
    Absent,
    /// It is not here, and there is no cell to claim.
    Full,
    /// It is not here, or not any more, and the array is being replaced.
    Moved,
}

impl Array {
    /// The largest share of cells that may be taken, in sixteenths. More makes probes long, less makes homes
    /// dear: just after it has doubled, an array has 158 bytes for each home.
    const LOAD_MAX_16THS: usize = 13;

    /// An array with `1 << length_log2` cells, all empty.
    pub(crate) fn new(length_log2: u32) -> Self {
        let length = 1usize << length_log2;
        let (first, memory) = Self::map(length * size_of::<Cell<Home>>()).unwrap_or_else(|| {
            let cells: Box<[Cell<Home>]> = std::iter::repeat_with(Cell::default).take(length).collect();
            (NonNull::from(Box::leak(cells)).cast(), Memory::Heap)
        });
        Self { first, length_log2, memory, vacated: false }
    }

    /// Pages for a large array. Without them the heap serves as well, only slower.
    fn map(bytes: usize) -> Option<(NonNull<Cell<Home>>, Memory)> {
        if bytes < HUGE_PAGE {
            return None;
        }
        // Room to begin where a huge page begins; what is left over is never touched.
        let pages = MmapRaw::from(MmapMut::map_anon(bytes + HUGE_PAGE).ok()?);
        let offset = pages.as_ptr().align_offset(HUGE_PAGE);
        // A kernel without huge pages still has the memory.
        let _ = pages.advise_range(Advice::HugePage, offset, bytes);
        // SAFETY: the offset is below HUGE_PAGE, and so many bytes more were mapped.
        let first = NonNull::new(unsafe { pages.as_mut_ptr().add(offset) })?;
        Some((first.cast(), Memory::Map { _pages: pages }))
    }

    /// The first cell, for others to find their way.
    pub(crate) fn first(&self) -> NonNull<Cell<Home>> {
        self.first
    }

    pub(crate) fn length_log2(&self) -> u32 {
        self.length_log2
    }

    pub(crate) fn bytes(&self) -> usize {
        size_of::<Cell<Home>>() << self.length_log2
    }

    pub(crate) fn mapped_bytes(&self) -> usize {
        match self.memory {
            Memory::Heap => 0,
            Memory::Map { .. } => self.bytes(),
        }
    }

    /// How many homes it may hold before it should be replaced by a larger one.
    pub(crate) fn homes_max(length_log2: u32) -> usize {
        (Self::LOAD_MAX_16THS << length_log2) / 16
    }

    pub(crate) fn cells(&self) -> &[Cell<Home>] {
        // SAFETY: the memory holds this many cells, which are only ever reached through shared references.
        // Zeroed pages are empty cells.
        unsafe { std::slice::from_raw_parts(self.first.as_ptr(), 1 << self.length_log2) }
    }

    /// Moves every home out, for good: whoever looks for one is told to start again elsewhere.
    pub(crate) fn vacate(&mut self) -> Vec<(u128, Home)> {
        let homes = self.cells().iter().filter_map(Cell::seal);
        let homes = homes.map(|(id, mut held)| (id, held.with(std::mem::take))).collect();
        self.vacated = true;
        homes
    }

    /// Every home has been moved out, one by one.
    pub(crate) fn is_vacated(&mut self) {
        self.vacated = true;
    }

    /// Puts a home into an array that has room for it.
    pub(crate) fn insert(&self, id: u128, home: Home) {
        match find(self.cells(), id, IfEmpty::Claim) {
            Found::Held(mut cell) => cell.with(|place| *place = home),
            Found::Absent | Found::Full | Found::Moved => {
                unreachable!("the array was made to hold every home")
            }
        }
    }
}

impl Drop for Array {
    fn drop(&mut self) {
        match self.memory {
            // SAFETY: `new` leaked a boxed slice of this length, and this is the one who gives it back.
            Memory::Heap => drop(unsafe {
                Box::from_raw(std::ptr::slice_from_raw_parts_mut(self.first.as_ptr(), 1 << self.length_log2))
            }),
            // Pages do not know what lies on them.
            Memory::Map { .. } if !self.vacated => drop(self.vacate()),
            Memory::Map { .. } => {}
        }
    }
}

/// Looks for a home from where its hash points, cell by cell.
#[inline]
pub(crate) fn find(cells: &[Cell<Home>], id: u128, if_empty: IfEmpty) -> Found<'_> {
    let mask = cells.len() - 1;
    let start = (id & mask as u128) as usize;
    for step in 0..cells.len() {
        match cells[(start + step) & mask].probe(id, if_empty) {
            Probe::Other => {}
            Probe::Held(cell) => return Found::Held(cell),
            Probe::Empty => return Found::Absent,
            Probe::Moved | Probe::Closed => return Found::Moved,
        }
    }
    match if_empty {
        IfEmpty::Claim => Found::Full,
        IfEmpty::Leave | IfEmpty::Close => Found::Absent,
    }
}
