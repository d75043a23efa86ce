//! Homes to bytes and back, so that the meters survive the process.

use crossbeam_epoch::pin;
use sluicegate_core::image::BadImage;
use sluicegate_core::plan::HomeId;
use sluicegate_core::time::Timestamp;

use super::resize::fitting;
use super::{MeterTable, partition_of};
use crate::meters::cell::IfEmpty;
use crate::meters::image;
use crate::meters::shared_book::SharedBook;

/// What there is to know about the image of a home.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Imaged<R> {
    /// What was read while the home was held.
    pub held: R,
    /// When the home will have nothing to say any more, if nobody calls. A stored image can be dropped once
    /// everything that would still be replayed on top of it is later than this, and not before: what is
    /// replayed earlier counts from what the image says.
    pub until: Timestamp,
}

impl MeterTable {
    /// A table without homes whose limits have the numbers they had: the images are those of
    /// [`MeterTable::book_images_from`], from the first number on.
    pub fn with_book(images: impl IntoIterator<Item = impl AsRef<[u8]>>) -> Result<Self, BadImage> {
        let book = SharedBook::from_images(images)?;
        Ok(Self { book, ..Self::new() })
    }

    /// The limits that were entered from this number on, as images. A meter's image is read with them.
    pub fn book_images_from(&self, number: u32) -> Vec<(u32, Vec<u8>)> {
        let book = self.book.read();
        book.entries_from(number).map(|(id, image)| (id.get(), image.to_vec())).collect()
    }

    /// Appends the image of a home's meters, concurrency slots left out, and calls `held` while no plan can be
    /// settled against the home: what it reads is of the same moment. It must not ask this table for anything.
    ///
    /// Nothing, and `held` is not called, if there is no such home or it has no meters but slots.
    pub fn image_of<R>(
        &self,
        home: HomeId,
        now: Timestamp,
        into: &mut Vec<u8>,
        held: impl FnOnce() -> R,
    ) -> Option<Imaged<R>> {
        let guard = pin();
        let mut cell = self.find_cell(partition_of(home), home, IfEmpty::Leave, &guard)?;
        let reset = cell.with(|home| home.write_image(&self.book, now, into))?;
        Some(Imaged { held: held(), until: now.plus(reset) })
    }

    /// Puts the meters of an image in place of whatever the home has.
    pub fn restore(&self, home: HomeId, image: &[u8]) -> Result<(), BadImage> {
        // Before the home is held: what is refused makes nobody a home.
        let (class, meters) = image::decode(image, &self.book.read())?;
        let partition = partition_of(home);
        let guard = pin();
        if let Some(mut cell) = self.find_cell(partition, home, IfEmpty::Claim, &guard) {
            cell.with(|home| {
                home.replace(meters);
                self.reclass(partition, home, class);
                self.set_counted(partition, home, true);
            });
            drop(cell);
            self.make_room(partition);
        }
        Ok(())
    }

    /// Makes room for so many homes in all, so that the table need not grow step by step while they come.
    pub fn reserve(&self, homes: usize) {
        // Hashes do not fall evenly; a partition that gets more than its share grows as always.
        let share = homes.div_ceil(self.upkeep.len());
        let length_log2 = fitting(share + share / 16);
        for partition in 0..self.upkeep.len() {
            let arrays = self.lock(partition);
            if arrays.length_log2() < length_log2 {
                self.replace(partition, arrays, length_log2);
            }
        }
    }
}
