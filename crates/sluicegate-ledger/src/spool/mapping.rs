//! The memory of a segment: its file, mapped, seen as slots of atomic words.
//!
//! All unsafe code is here. Everybody reaches the memory through shared references to atomics, so threads that write
//! and read at the same time see old words or new ones, and never break a rule of the language. Nobody but us may
//! shorten the file while it is mapped: the spool is locked, and segments are only ever removed whole.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use memmap2::{MmapOptions, MmapRaw};

use crate::record::layout::{SLOT_BYTES, SlotBytes};

const WORDS: usize = SLOT_BYTES / size_of::<u64>();

/// The room for one record.
#[repr(C, align(128))]
pub(crate) struct Slot([AtomicU64; WORDS]);

impl Slot {
    /// Writes a record. Its first word comes last: until then nobody takes the slot for written, not even after
    /// this process was killed half way.
    #[inline]
    pub(crate) fn write(&self, bytes: &SlotBytes) {
        let (words, _) = bytes.as_chunks::<8>();
        for (place, word) in self.0.iter().zip(words).skip(1) {
            place.store(u64::from_ne_bytes(*word), Ordering::Relaxed);
        }
        self.0[0].store(u64::from_ne_bytes(words[0]), Ordering::Release);
    }

    /// Whether a record was written here, all of it.
    #[inline]
    pub(crate) fn is_written(&self) -> bool {
        self.0[0].load(Ordering::Acquire) != 0
    }

    /// The bytes, whatever they are.
    #[inline]
    pub(crate) fn read(&self) -> SlotBytes {
        let mut bytes = [0; SLOT_BYTES];
        let (words, _) = bytes.as_chunks_mut::<8>();
        words[0] = self.0[0].load(Ordering::Acquire).to_ne_bytes();
        for (place, word) in self.0.iter().zip(words).skip(1) {
            *word = place.load(Ordering::Relaxed).to_ne_bytes();
        }
        bytes
    }

    /// Has the page of a slot made writable that somebody may be writing just now. The last word is zero in this layout
    /// and stays what it is.
    pub(crate) fn warm(&self) {
        let _ = self.0[WORDS - 1].compare_exchange(0, 0, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Writes a word of a written slot again as it is, so that its page is dirty and the next flush takes it.
    pub(crate) fn touch(&self) {
        let last = &self.0[WORDS - 1];
        last.swap(last.load(Ordering::Relaxed), Ordering::Relaxed);
    }
}

/// A segment in memory.
pub(crate) struct Mapping {
    pages: MmapRaw,
    slots: usize,
}

impl Mapping {
    /// Maps a segment with room for so many records. The file must have its full length.
    pub(crate) fn new(file: &File, records: u32) -> io::Result<Self> {
        let slots = records as usize + 1;
        let length = slots * SLOT_BYTES;
        if file.metadata()?.len() < length as u64 {
            return Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "the segment is shorter than its records",
            ));
        }
        let pages = MmapOptions::new().len(length).populate().map_raw(file)?;
        Ok(Self { pages, slots })
    }

    /// The slots of its records.
    #[inline]
    pub(crate) fn records(&self) -> &[Slot] {
        // SAFETY: so many slots were mapped, on pages that begin where a slot may. They are mapped as long as `self`
        // lives, any bytes are words, and all access is atomic.
        let slots = unsafe { std::slice::from_raw_parts(self.pages.as_ptr().cast::<Slot>(), self.slots) };
        // The header is as long as a slot.
        &slots[1..]
    }

    /// Sends these records to disk, and returns when they are there.
    pub(crate) fn flush(&self, records: Range<usize>) -> io::Result<()> {
        self.pages.flush_range((records.start + 1) * SLOT_BYTES, records.len() * SLOT_BYTES)
    }
}

/// How many segments may be mapped for writing at once. What is not yet on disk lies in these, so this also bounds
/// how far a slow disk may lag behind.
pub(crate) const LIVE_MAX: usize = 8;

/// The segments that are written to, by their number modulo [`LIVE_MAX`], to be found without a lock.
pub(crate) struct Ring([AtomicPtr<Mapping>; LIVE_MAX]);

impl Ring {
    pub(crate) fn new() -> Self {
        Self([const { AtomicPtr::new(ptr::null_mut()) }; LIVE_MAX])
    }

    /// Puts a segment where those who write will look for it. Whoever does keeps it alive.
    pub(crate) fn put(&self, number: u64, mapping: &Arc<Mapping>) {
        self.place(number).store(Arc::as_ptr(mapping).cast_mut(), Ordering::Release);
    }

    /// The segment of this number.
    ///
    /// # Safety
    ///
    /// It was put here, the caller's thread knows of that, and it stays alive for as long as the reference is used.
    #[inline]
    pub(crate) unsafe fn get(&self, number: u64) -> &Mapping {
        // SAFETY: as the caller promised.
        unsafe { &*self.place(number).load(Ordering::Acquire) }
    }

    fn place(&self, number: u64) -> &AtomicPtr<Mapping> {
        #[expect(clippy::cast_possible_truncation, reason = "below LIVE_MAX, which fits")]
        &self.0[(number % LIVE_MAX as u64) as usize]
    }
}
