//! Pages of long lists. A cursor names the last row that was seen, so rows that are added meanwhile move nothing.

use std::fmt;

use super::field::FieldError;

/// How many rows a page has at most.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PageLimit(u16);

impl PageLimit {
    /// The most rows of a page.
    pub const MAX: u16 = 1_000;

    /// A page of `rows` rows.
    pub fn new(rows: u64) -> Result<Self, FieldError> {
        match u16::try_from(rows) {
            Ok(rows @ 1..=Self::MAX) => Ok(Self(rows)),
            _ => Err(FieldError::new("limit", format!("is not a number from 1 to {}", Self::MAX))),
        }
    }

    /// The number.
    pub const fn get(self) -> u16 {
        self.0
    }
}

impl Default for PageLimit {
    fn default() -> Self {
        Self(100)
    }
}

/// Where a page ended. Its text is for the next call, and for nothing else.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cursor(u64);

impl Cursor {
    /// The cursor of this text.
    pub fn parse(text: &str) -> Result<Self, FieldError> {
        let digits = text.strip_prefix('c').filter(|digits| digits.len() <= 16);
        let is_canonical = |cursor: &Self| cursor.to_string() == text;
        digits
            .and_then(|digits| u64::from_str_radix(digits, 16).ok())
            .map(Self)
            .filter(is_canonical)
            .ok_or_else(|| FieldError::new("cursor", "is not one that a list ended with"))
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "c{:x}", self.0)
    }
}

/// Which part of a list.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Page {
    /// How many rows.
    pub limit: PageLimit,
    /// Where the page before ended; nothing for the first.
    pub cursor: Option<Cursor>,
}

impl Page {
    /// The last row that was seen, or `start` for the first page.
    pub(crate) fn after(self, start: u64) -> i64 {
        i64::try_from(self.cursor.map_or(start, |cursor| cursor.0)).unwrap_or(i64::MAX)
    }

    /// How many rows to read: one more than the page has, to see whether there is another.
    pub(crate) fn rows(self) -> u32 {
        u32::from(self.limit.0) + 1
    }

    /// The page of the rows that were read, each named by its serial.
    pub(crate) fn of<T>(self, mut items: Vec<T>, serial: fn(&T) -> u64) -> Paged<T> {
        let limit = usize::from(self.limit.0);
        let is_more = items.len() > limit;
        items.truncate(limit);
        let next = items.last().filter(|_| is_more).map(|last| Cursor(serial(last)));
        Paged { items, next }
    }
}

/// A part of a list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Paged<T> {
    /// The rows.
    pub items: Vec<T>,
    /// Where to go on, if there is more.
    pub next: Option<Cursor>,
}
