//! The book of limits: every limit that a meter may have been written under, by number.
//!
//! A meter remembers the number instead of the limit, so it stays small, and the numbers of a policy that is gone still
//! tell how to read it. Entries are never changed or removed.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::limit::{Limit, LimitName};
use crate::rule::Rule;

/// The number of a limit in the book.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LimitId(u32);

impl LimitId {
    /// The number.
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
}

/// Every limit seen so far.
#[derive(Clone, Debug, Default)]
pub struct LimitBook {
    entries: Vec<Arc<Entry>>,
    by_name: BTreeMap<LimitName, Vec<LimitId>>,
}

impl LimitBook {
    /// The number of `limit`: the one it has already, or a new one. Limits that differ only in what a refusal
    /// looks like share a number, for they read a meter alike.
    #[expect(clippy::expect_used, reason = "four thousand million different limits do not fit any memory")]
    pub fn enter(&mut self, limit: &Limit) -> LimitId {
        if let Some(id) = self.find(limit) {
            return id;
        }
        let ids = self.by_name.entry(limit.name.clone()).or_default();
        let id = LimitId(u32::try_from(self.entries.len()).expect("fewer than 2^32 limits"));
        ids.push(id);
        self.entries.push(Arc::new(Entry { name: limit.name.clone(), rule: limit.rule.clone() }));
        id
    }

    /// The number of `limit`, if it has one.
    pub fn find(&self, limit: &Limit) -> Option<LimitId> {
        let ids = self.by_name.get(&limit.name)?;
        ids.iter().copied().find(|id| self.rule(*id) == Some(&limit.rule))
    }

    /// The rule under this number.
    pub fn rule(&self, id: LimitId) -> Option<&Rule> {
        self.entries.get(id.0 as usize).map(|entry| &entry.rule)
    }

    /// Whether two numbers are of one limit, before and after its rule changed: they share a meter.
    pub fn same_meter(&self, one: LimitId, other: LimitId) -> bool {
        let name = |id: LimitId| self.entries.get(id.0 as usize).map(|entry| &entry.name);
        one == other || (name(one).is_some() && name(one) == name(other))
    }
}
