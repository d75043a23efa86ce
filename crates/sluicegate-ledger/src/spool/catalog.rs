//! Which segments there are. Those that are still written to are mapped, and are the last ones.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use super::mapping::Mapping;
use super::segment::Extent;

/// One segment.
#[derive(Clone)]
pub(crate) struct Segment {
    pub(crate) extent: Extent,
    /// Its memory, until all of it is on disk.
    pub(crate) mapping: Option<Arc<Mapping>>,
}

impl Segment {
    /// The position behind its last. Only extents whose end is a position get into the catalog.
    pub(crate) fn end(&self) -> u64 {
        self.extent.first + u64::from(self.extent.records)
    }

    /// Which of its records have one of these positions, by their index in it.
    pub(crate) fn overlap(&self, positions: &Range<u64>) -> Range<usize> {
        let index = |position: u64| position.clamp(self.extent.first, self.end()) - self.extent.first;
        #[expect(clippy::cast_possible_truncation, reason = "at most the number of records, which fits")]
        let range = index(positions.start) as usize..index(positions.end) as usize;
        range
    }
}

/// All segments by their first position, without gaps.
pub(crate) struct Catalog {
    segments: BTreeMap<u64, Segment>,
    /// Where the first segment will begin if there is none.
    start: u64,
}

impl Catalog {
    pub(crate) fn new(start: u64) -> Self {
        Self { segments: BTreeMap::new(), start }
    }

    pub(crate) fn insert(&mut self, segment: Segment) {
        self.segments.insert(segment.extent.first, segment);
    }

    /// The first position that is not forgotten.
    pub(crate) fn first(&self) -> u64 {
        self.segments.keys().next().copied().unwrap_or(self.start)
    }

    /// The position behind the last segment.
    pub(crate) fn end(&self) -> u64 {
        self.segments.values().next_back().map_or(self.start, Segment::end)
    }

    /// How many are mapped.
    pub(crate) fn live(&self) -> usize {
        self.segments.values().rev().take_while(|segment| segment.mapping.is_some()).count()
    }

    /// The segments that have any of these positions.
    pub(crate) fn overlapping(&self, positions: Range<u64>) -> Vec<Segment> {
        let before = self.segments.range(..=positions.start).next_back().map(|(first, _)| *first);
        let range = before.unwrap_or(positions.start)..positions.end.max(before.unwrap_or(positions.start));
        let segments = self.segments.range(range).map(|(_, segment)| segment);
        segments.filter(|segment| !segment.overlap(&positions).is_empty()).cloned().collect()
    }

    /// Gives up the memory of segments that lie wholly before `durable`.
    pub(crate) fn retire_before(&mut self, durable: u64) {
        let live = self.segments.values_mut().rev().take_while(|segment| segment.mapping.is_some());
        for segment in live.filter(|segment| segment.end() <= durable) {
            segment.mapping = None;
        }
    }

    /// Takes out the first segment if it lies wholly before `position`, is on disk, and is not the last: that one
    /// keeps the count of positions.
    pub(crate) fn forget_first_before(&mut self, position: u64) -> Option<Segment> {
        let first = self.segments.first_entry()?;
        let gone = first.get().mapping.is_none() && first.get().end() <= position;
        let gone = gone.then(|| first.remove())?;
        if self.segments.is_empty() {
            self.insert(gone);
            return None;
        }
        Some(gone)
    }
}
