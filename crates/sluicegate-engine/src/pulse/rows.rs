//! Which counter is whose: names of tiers, routes and limits as small numbers, and a bounded number of counters.
//!
//! A name has a row, which it keeps for as long as the process lives, whatever is reloaded. A row has a counter for
//! each outcome that was seen. When there are no more rows or counters, newcomers share those of `other`: nothing is
//! lost, it is only not told apart.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use sluicegate_core::policy::TierName;

use super::outcome::Outcome;

/// The most counters there are. Each is a line of what Prometheus reads.
pub(crate) const SERIES_MAX: usize = 1_536;

/// The most names of a kind that have rows of their own.
const ROWS_MAX: usize = 1_024;

/// Outcomes of one row take up this much room.
const ROW: usize = Outcome::COUNT.next_power_of_two();

/// What is counted by.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// Requests, by the tiers of their callers.
    Tier,
    /// Requests, by their routes.
    Route,
    /// Refusals, by the limits that refuse.
    Limit,
}

impl Kind {
    const ALL: [Self; 3] = [Self::Tier, Self::Route, Self::Limit];
}

/// Names that stand for others. Whoever is called so as well is counted with them.
const RESERVED: [&str; 3] = ["other", "none", "custom"];

/// The row of what has none of its own.
const OTHER: u16 = 0;
/// The row of requests without a tier or route.
pub(crate) const NONE: u16 = 1;
/// The row of all negotiated tiers: there is one for each account, and accounts are not told apart.
const CUSTOM: u16 = 2;

type Names = BTreeMap<Arc<str>, u16>;

/// Rows, and which counters they have.
#[derive(Debug)]
pub(crate) struct Rows {
    names: [ArcSwap<Names>; Kind::ALL.len()],
    /// The number of the counter for each row and outcome; 0: none yet.
    cells: [Box<[AtomicU16]>; Kind::ALL.len()],
    given: Mutex<Given>,
}

/// What has been given out. Locked whenever a name or a counter is new.
#[derive(Debug, Default)]
struct Given {
    /// The names by their rows.
    rows: [Vec<Arc<str>>; Kind::ALL.len()],
    /// What the counters count, by their numbers, from 1 on.
    series: Vec<Series>,
}

/// What a counter counts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Series {
    pub(crate) kind: Kind,
    pub(crate) row: u16,
    pub(crate) outcome: Outcome,
}

impl Default for Rows {
    fn default() -> Self {
        let rows = Self {
            names: std::array::from_fn(|_| ArcSwap::default()),
            cells: std::array::from_fn(|_| (0..ROWS_MAX * ROW).map(|_| AtomicU16::new(0)).collect()),
            given: Mutex::default(),
        };
        for kind in Kind::ALL {
            for name in RESERVED {
                rows.row(kind, name);
            }
            // These have to be there when there is room for no other.
            for outcome in Outcome::all() {
                rows.give(kind, OTHER, outcome);
            }
        }
        rows
    }
}

impl Rows {
    /// The row of a tier.
    pub(crate) fn tier(&self, name: &TierName) -> u16 {
        if name.is_custom() { CUSTOM } else { self.row(Kind::Tier, name.as_str()) }
    }

    /// The row of a name, which is given one if it is new.
    pub(crate) fn row(&self, kind: Kind, name: &str) -> u16 {
        let names = &self.names[kind as usize];
        if let Some(row) = names.load().get(name) {
            return *row;
        }
        let mut given = self.given.lock();
        // Somebody else may have been faster.
        if let Some(row) = names.load().get(name) {
            return *row;
        }
        let rows = &mut given.rows[kind as usize];
        if rows.len() >= ROWS_MAX {
            return OTHER;
        }
        let row = u16::try_from(rows.len()).unwrap_or(OTHER);
        let name: Arc<str> = name.into();
        rows.push(Arc::clone(&name));
        let mut more = Names::clone(&names.load());
        more.insert(name, row);
        names.store(Arc::new(more));
        row
    }

    /// The number of a counter.
    #[inline]
    pub(crate) fn series(&self, kind: Kind, row: u16, outcome: Outcome) -> u16 {
        let cell = &self.cells[kind as usize][usize::from(row) * ROW + outcome.index()];
        match cell.load(Ordering::Relaxed) {
            0 => self.give(kind, row, outcome),
            series => series,
        }
    }

    #[cold]
    fn give(&self, kind: Kind, row: u16, outcome: Outcome) -> u16 {
        let cells = &self.cells[kind as usize];
        let cell = &cells[usize::from(row) * ROW + outcome.index()];
        let mut given = self.given.lock();
        let known = cell.load(Ordering::Relaxed);
        if known != 0 {
            return known;
        }
        let number = if given.series.len() + 1 < SERIES_MAX {
            given.series.push(Series { kind, row, outcome });
            u16::try_from(given.series.len()).unwrap_or(0)
        } else {
            cells[usize::from(OTHER) * ROW + outcome.index()].load(Ordering::Relaxed)
        };
        cell.store(number, Ordering::Relaxed);
        number
    }

    /// All counters: their numbers, what they count, and the names for it.
    pub(crate) fn all(&self) -> Vec<(u16, Series, Arc<str>)> {
        let given = self.given.lock();
        let numbered = given.series.iter().zip(1_u16..);
        let named = |series: &Series| given.rows[series.kind as usize].get(usize::from(series.row)).cloned();
        numbered.filter_map(|(series, number)| Some((number, *series, named(series)?))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorCode;

    #[test]
    fn a_name_keeps_its_row_and_kinds_do_not_mix() {
        let rows = Rows::default();
        let free = rows.row(Kind::Tier, "free");
        assert_eq!(rows.row(Kind::Tier, "free"), free);
        assert_ne!(rows.row(Kind::Tier, "pro"), free);
        let tier = rows.series(Kind::Tier, free, Outcome::Admitted);
        let route = rows.series(Kind::Route, rows.row(Kind::Route, "free"), Outcome::Admitted);
        assert_ne!(tier, route);
        assert_eq!(rows.series(Kind::Tier, free, Outcome::Admitted), tier);
    }

    #[test]
    fn negotiated_tiers_are_counted_as_one() {
        let rows = Rows::default();
        let tier = |name| rows.tier(&TierName::new(name).unwrap());
        assert_eq!(tier("custom:acme"), tier("custom:globex"));
        assert_ne!(tier("custom:acme"), tier("pro"));
        assert_eq!(rows.all().len(), Kind::ALL.len() * Outcome::COUNT);
    }

    #[test]
    fn names_beyond_the_most_share_the_row_of_others() {
        let rows = Rows::default();
        for number in 0..3 * ROWS_MAX {
            rows.row(Kind::Route, &format!("route-{number}"));
        }
        assert_eq!(rows.row(Kind::Route, "one-more"), OTHER);
        assert_ne!(rows.row(Kind::Route, "route-0"), OTHER);
        assert_ne!(rows.row(Kind::Tier, "free"), OTHER);
    }

    #[test]
    fn counters_beyond_the_most_are_those_of_others() {
        let rows = Rows::default();
        let refused = Outcome::Refused(ErrorCode::RateLimited);
        for number in 0..800 {
            let tier = rows.row(Kind::Tier, &format!("tier-{number}"));
            rows.series(Kind::Tier, tier, Outcome::Admitted);
            rows.series(Kind::Tier, tier, refused);
        }
        assert!(rows.all().len() < SERIES_MAX);
        let late = rows.row(Kind::Tier, "late");
        assert_eq!(rows.series(Kind::Tier, late, refused), rows.series(Kind::Tier, OTHER, refused));
        assert_ne!(rows.series(Kind::Tier, OTHER, refused), rows.series(Kind::Route, OTHER, refused));
    }
}
