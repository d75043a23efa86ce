//! The book of limits: every limit that a meter may have been written under, by number.
//!
//! A meter remembers the number instead of the limit, so it stays small, and the numbers of a policy that is gone still
//! tell how to read it. Entries are never changed or removed. Kept as images in the order of their numbers, they give a
//! later process the same numbers.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::image::{BadImage, EntryImage, decode_entry, encode_entry};
use crate::limit::{Limit, LimitName};
use crate::meter::Terms;
use crate::rule::{Amount, Rule};

/// The number of a limit in the book.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LimitId(u32);

impl LimitId {
    /// The number of a limit that is in no book: no meter was written under it, nor will one be.
    pub const UNKNOWN: Self = Self(u32::MAX);

    /// The number.
    #[inline]
    pub const fn get(self) -> u32 {
        self.0
    }

    /// The id with this number, as [`LimitId::get`] gave it.
    pub const fn from_number(number: u32) -> Self {
        Self(number)
    }
}

#[derive(Clone, Debug)]
struct Entry {
    name: LimitName,
    rule: Rule,
    included: Option<Amount>,
    keeps_past: bool,
    image: Image,
}

/// The image of a limit: what it is looked up by, for rules have no order of their own.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Image(Arc<[u8]>);

impl Ord for Image {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        #[cfg(test)]
        tests::count_comparison();
        self.0.cmp(&other.0)
    }
}

impl PartialOrd for Image {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// Every limit seen so far.
#[derive(Clone, Debug, Default)]
pub struct LimitBook {
    entries: Vec<Entry>,
    by_image: BTreeMap<Image, LimitId>,
}

impl LimitBook {
    /// The book whose entries have these images, in the order of their numbers.
    pub fn from_images(images: impl IntoIterator<Item = impl AsRef<[u8]>>) -> Result<Self, BadImage> {
        let mut book = Self::default();
        for image in images {
            let EntryImage { name, rule, included, keeps_past } = decode_entry(image.as_ref())?;
            book.add(Entry { name, rule, included, keeps_past, image: Image(image.as_ref().into()) });
        }
        Ok(book)
    }

    /// The numbers from this one on, with the images of their limits.
    pub fn entries_from(&self, number: u32) -> impl Iterator<Item = (LimitId, &[u8])> {
        (number..)
            .zip(self.entries.iter().skip(number as usize))
            .map(|(number, entry)| (LimitId(number), &*entry.image.0))
    }

    /// The number of `limit`: the one it has already, or a new one. Limits that differ only in what a refusal
    /// looks like share a number, for they read a meter alike; what is billed from another amount on does not.
    pub fn enter(&mut self, limit: &Limit) -> LimitId {
        let image = Image::of(limit);
        match self.by_image.get(&image) {
            Some(id) => *id,
            None => {
                let (name, rule) = (limit.name.clone(), limit.rule.clone());
                let (included, keeps_past) = (limit.included(), limit.keeps_past());
                self.add(Entry { name, rule, included, keeps_past, image })
            }
        }
    }

    #[expect(clippy::expect_used, reason = "four thousand million different limits do not fit any memory")]
    fn add(&mut self, entry: Entry) -> LimitId {
        let id = LimitId(u32::try_from(self.entries.len()).expect("fewer than 2^32 limits"));
        self.by_image.entry(entry.image.clone()).or_insert(id);
        self.entries.push(entry);
        id
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// As [`LimitBook::enter`], while the book has fewer than so many entries. Beyond that a limit that is new shares
    /// the number of its [`Rule::family`].
    pub fn enter_below(&mut self, limit: &Limit, entries_max: usize) -> LimitId {
        if self.entries.len() < entries_max || self.find(limit).is_some() {
            return self.enter(limit);
        }
        self.enter(&Limit { rule: limit.rule.family(), ..limit.clone() })
    }

    /// The number of `limit`, if it has one.
    pub fn find(&self, limit: &Limit) -> Option<LimitId> {
        self.by_image.get(&Image::of(limit)).copied()
    }

    /// The rule under this number.
    pub fn rule(&self, id: LimitId) -> Option<&Rule> {
        self.entries.get(id.0 as usize).map(|entry| &entry.rule)
    }

    /// What meters that were written under this number depend on.
    pub fn terms(&self, id: LimitId) -> Option<Terms<'_>> {
        let entry = self.entries.get(id.0 as usize)?;
        Some(Terms { rule: &entry.rule, included: entry.included, keeps_past: entry.keeps_past })
    }

    /// Whether the limit under this number has that name: limits of one name share a meter, whatever their rules.
    pub fn is_named(&self, id: LimitId, name: &LimitName) -> bool {
        self.entries.get(id.0 as usize).is_some_and(|entry| entry.name == *name)
    }
}

impl Image {
    fn of(limit: &Limit) -> Self {
        let mut image = Vec::new();
        encode_entry(&limit.name, limit.terms(), &mut image);
        Self(image.into())
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::limit::{Axis, Excess, Per, RefusalStatus};
    use crate::rule::Windowed;
    use crate::time::Window;

    thread_local! {
        static COMPARISONS: Cell<u64> = const { Cell::new(0) };
    }

    pub(super) fn count_comparison() {
        COMPARISONS.set(COMPARISONS.get() + 1);
    }

    fn limit(name: &str, amount: u64) -> Limit {
        let (limit, window) = (Amount::new(amount).unwrap(), Window::DAY);
        Limit {
            name: LimitName::new(name).unwrap(),
            axis: Axis::Rate,
            per: Per::Account,
            rule: Rule::FixedWindow(Windowed { limit, window }),
            excess: Excess::Refuse(RefusalStatus::TooManyRequests),
            sold: None,
        }
    }

    #[test]
    fn twenty_thousand_limits_of_one_name_are_each_found_in_a_few_comparisons() {
        const LIMITS: u64 = 20_000;
        let mut book = LimitBook::default();
        let entered: Vec<LimitId> = (1..=LIMITS).map(|amount| book.enter(&limit("quota", amount))).collect();
        let found: Vec<LimitId> =
            (1..=LIMITS).filter_map(|amount| book.find(&limit("quota", amount))).collect();
        assert_eq!(entered, found);
        assert_eq!(entered.last().map(|id| u64::from(id.get())), Some(LIMITS - 1));
        // A search, an insertion and a search again, in a tree of 15 levels at the most if it were binary.
        assert!(COMPARISONS.get() < LIMITS * 3 * 50, "{} comparisons", COMPARISONS.get());
    }

    #[test]
    fn a_book_from_images_gives_the_same_limits_the_same_numbers() {
        let mut book = LimitBook::default();
        let limits: Vec<Limit> =
            (1..10).flat_map(|amount| [limit("rate", amount), limit("quota", amount)]).collect();
        let ids: Vec<LimitId> = limits.iter().map(|limit| book.enter(limit)).collect();
        let images: Vec<&[u8]> = book.entries_from(0).map(|(_, image)| image).collect();
        let mut restored = LimitBook::from_images(&images).unwrap();
        assert_eq!(limits.iter().map(|limit| restored.enter(limit)).collect::<Vec<_>>(), ids);
        assert!(ids.iter().all(|id| restored.rule(*id) == book.rule(*id)));
        assert!(restored.is_named(ids[2], &limits[0].name) && !restored.is_named(ids[1], &limits[0].name));
        assert!(!restored.is_named(LimitId::UNKNOWN, &limits[0].name));
        assert_eq!(restored.enter(&limit("rate", 10)).get(), 18);
        let later: Vec<u32> = restored.entries_from(17).map(|(id, _)| id.get()).collect();
        assert_eq!(
            (later, restored.entries_from(19).count(), restored.entries_from(u32::MAX).count()),
            (vec![17, 18], 0, 0)
        );
    }

    #[test]
    fn a_book_with_a_broken_image_is_refused() {
        let good = Image::of(&limit("rate", 1));
        let images: [&[u8]; 2] = [&good.0, &good.0[1..]];
        assert!(LimitBook::from_images(images).is_err());
    }
}
