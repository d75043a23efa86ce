//! An array of cells, probed one after the other from where a home's hash points.

use memmap2::{Advice, MmapMut};

use super::cell::{Cell, Held, IfEmpty, Probe};
use super::home::Home;

/// Arrays from this size on are mapped on huge pages: at a million homes every decision would otherwise miss the TLB.
const HUGE_PAGE: usize = 2 << 20;

/// The memory of an array, and who gives it back.
enum Memory {
    Heap(Box<[Cell<Home>]>),
    /// Zeroed pages; the cells start at this offset, where a huge page begins.
    Map(MmapMut, usize),
}

/// An array of a power of two of cells.
pub(crate) struct Array {
    memory: Memory,
    length_log2: u32,
    /// Whether every home has been moved out.
    vacated: bool,
}

/// What probing an array for a home came to.
pub(crate) enum Found<'a> {
    /// Its cell, locked; claimed just now if `fresh`.
    Held { cell: Held<'a, Home>, fresh: bool },
    /// It is not here.
    Absent,
    /// It is not here, and there is no cell to claim.
    Full,
    /// The array is being replaced.
    Moved,
}

impl Array {
    /// The largest share of cells that may be taken, in sixteenths. More makes probes long, less makes homes
    /// dear: just after it has doubled, an array has 158 bytes for each home.
    const LOAD_MAX_16THS: usize = 13;

    /// An array with at least `1 << length_log2` cells, all empty.
    pub(crate) fn new(length_log2: u32) -> Self {
        let length = 1usize << length_log2;
        let bytes = length * size_of::<Cell<Home>>();
        let memory = Self::map(bytes)
            .unwrap_or_else(|| Memory::Heap(std::iter::repeat_with(Cell::default).take(length).collect()));
        Self { memory, length_log2, vacated: false }
    }

    /// Pages for a large array. Without them the heap serves as well, only slower.
    fn map(bytes: usize) -> Option<Memory> {
        if bytes < HUGE_PAGE {
            return None;
        }
        // Room to begin where a huge page begins; what is left over is never touched.
        let map = MmapMut::map_anon(bytes + HUGE_PAGE).ok()?;
        let offset = map.as_ptr().align_offset(HUGE_PAGE);
        // A kernel without huge pages still has the memory.
        let _ = map.advise_range(Advice::HugePage, offset, bytes);
        Some(Memory::Map(map, offset))
    }

    pub(crate) fn length_log2(&self) -> u32 {
        self.length_log2
    }

    pub(crate) fn bytes(&self) -> usize {
        size_of::<Cell<Home>>() << self.length_log2
    }

    pub(crate) fn mapped_bytes(&self) -> usize {
        match self.memory {
            Memory::Heap(_) => 0,
            Memory::Map(..) => self.bytes(),
        }
    }

    /// How many homes it may hold before it should be replaced by a larger one.
    pub(crate) fn homes_max(length_log2: u32) -> usize {
        (Self::LOAD_MAX_16THS << length_log2) / 16
    }

    pub(crate) fn cells(&self) -> &[Cell<Home>] {
        match &self.memory {
            Memory::Heap(cells) => cells,
            // SAFETY: the mapping has this many bytes from the offset on, aligned to a huge page; zeroed
            // memory is empty cells; cells are only ever reached through shared references.
            Memory::Map(map, offset) => unsafe {
                std::slice::from_raw_parts(map.as_ptr().add(*offset).cast(), 1 << self.length_log2)
            },
        }
    }

    /// Moves every home out, for good: each is handed to `f`, and whoever looks for one is told to start
    /// again elsewhere.
    pub(crate) fn vacate(&mut self, mut f: impl FnMut(u128, Home)) {
        for cell in self.cells() {
            if let Some((id, mut held)) = cell.seal() {
                f(id, held.with(std::mem::take));
            }
        }
        self.vacated = true;
    }

    /// Puts a home into an array that nobody else sees yet.
    pub(crate) fn insert(&self, id: u128, home: Home) {
        if let Found::Held { mut cell, .. } = find(self.cells(), id, IfEmpty::Claim) {
            cell.with(|place| *place = home);
        }
    }
}

impl Drop for Array {
    fn drop(&mut self) {
        if let (Memory::Map(..), false) = (&self.memory, self.vacated) {
            // The heap drops its cells by itself; pages do not know what lies on them.
            self.vacate(|_, home| drop(home));
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
            Probe::Held { cell, fresh } => return Found::Held { cell, fresh },
            Probe::Empty => return Found::Absent,
            Probe::Moved => return Found::Moved,
        }
    }
    match if_empty {
        IfEmpty::Claim => Found::Full,
        IfEmpty::Leave => Found::Absent,
    }
}
