//! One limit of a call: what its meter is called, and its numbers as the script wants them.

use std::hash::Hasher as _;

use siphasher::sip::SipHasher13;
use sluicegate_core::calendar::{Calendar, Period};
use sluicegate_core::image::encode_entry;
use sluicegate_core::limit::{Excess, Limit};
use sluicegate_core::meter::Terms;
use sluicegate_core::plan::{Charge, Sharer};
use sluicegate_core::rule::timeline::Grain;
use sluicegate_core::rule::{Amount, Rule, TokenBucket, Windowed};
use sluicegate_core::time::{Nanos, Timestamp};

use super::bucket::Grid;
use super::number::{MICRO, micros, put};

/// How near the end of a period must be for the neighbouring one to be sent along: by how much clocks may differ.
const NEAR: Nanos = Nanos::from_secs(5);

/// What a meter is called in its home: a hash of the limit's name and who shares it.
pub(crate) type MeterId = [u8; 8];

/// What the script does with a limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Kind {
    FineBucket = 1,
    CoarseBucket = 2,
    FixedWindow = 3,
    Calendar = 4,
    TwoCounts = 5,
    Entries = 6,
    Slots = 7,
}

impl Kind {
    /// Whether its meters have a key of their own for what does not fit the home.
    pub(crate) fn is_large(self) -> bool {
        matches!(self, Self::Entries | Self::Slots)
    }

    /// What the script does with meters of this rule, which has this grid if it is a bucket.
    fn of(rule: &Rule, grid: Option<Grid>) -> Self {
        match rule {
            Rule::TokenBucket(_) if matches!(grid, Some(Grid::Coarse { .. })) => Self::CoarseBucket,
            Rule::TokenBucket(_) => Self::FineBucket,
            Rule::FixedWindow(_) => Self::FixedWindow,
            Rule::Calendar { .. } => Self::Calendar,
            Rule::SlidingWindow(_) => Self::TwoCounts,
            Rule::SlidingBuckets(_) | Rule::SlidingLog(_) => Self::Entries,
            Rule::Concurrency { .. } => Self::Slots,
        }
    }
}

/// What the script does with what goes beyond a limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Billing {
    Refused,
    /// Served, and counted as overage beyond what is included.
    Billed {
        included: u64,
    },
    BilledUpTo {
        included: u64,
        cap: u64,
    },
}

impl Billing {
    fn of(limit: &Limit) -> Self {
        // What has no periods has nothing that is billed, and counts no overage.
        let included = limit.included().map_or(Amount::MAX, Amount::get);
        match limit.excess {
            Excess::Refuse(_) => Self::Refused,
            Excess::BillOverage => Self::Billed { included },
            // Together with the limit it is a number that the script can hold.
            Excess::BillUpTo(cap) => {
                let room = Amount::MAX.saturating_sub(limit.rule.capacity());
                Self::BilledUpTo { included, cap: cap.amount.get().min(room) }
            }
        }
    }

    /// Appends it: a byte, which is 4 more if the period before is kept; behind a 2 the cap, and behind a 1 or a 2 what
    /// is included.
    pub(crate) fn put(self, keeps_past: bool, into: &mut Vec<u8>) {
        let past = u8::from(keeps_past) << 2;
        match self {
            Self::Refused => into.push(past),
            Self::Billed { included } => {
                into.push(1 | past);
                put(included, into);
            }
            Self::BilledUpTo { included, cap } => {
                into.push(2 | past);
                put(cap, into);
                put(included, into);
            }
        }
    }
}

/// One limit of a call.
#[derive(Debug)]
pub(crate) struct WireLimit<'p> {
    /// The first charge under it.
    charge: Charge<'p>,
    pub(crate) id: MeterId,
    pub(crate) kind: Kind,
    /// For a token bucket.
    pub(crate) grid: Option<Grid>,
}

impl<'p> WireLimit<'p> {
    pub(crate) fn new(charge: &Charge<'p>) -> Self {
        let grid = match &charge.limit.rule {
            Rule::TokenBucket(bucket) => Some(Grid::of(bucket)),
            _ => None,
        };
        let kind = Kind::of(&charge.limit.rule, grid);
        Self { charge: *charge, id: meter_id(charge.limit, charge.sharer), kind, grid }
    }

    pub(crate) fn rule(&self) -> &'p Rule {
        &self.charge.limit.rule
    }

    /// What its meter depends on.
    pub(crate) fn terms(&self) -> Terms<'p> {
        self.charge.limit.terms()
    }

    /// What is done with what goes beyond it.
    pub(crate) fn billing(&self) -> Billing {
        Billing::of(self.charge.limit)
    }

    /// Whether its meter keeps the period before.
    pub(crate) fn keeps_past(&self) -> bool {
        self.charge.limit.keeps_past()
    }

    /// The end of the period of an instant, where the script cannot find it.
    pub(crate) fn period_end(&self, at: Timestamp) -> Option<Timestamp> {
        let Rule::Calendar { calendar, .. } = self.rule() else { return None };
        let known = self.charge.period.filter(|period| period.contains(at));
        Some(known.unwrap_or_else(|| calendar.period_at(at)).end).filter(|_| self.keeps_past())
    }

    /// Whether the meter of `charge` is this one's.
    pub(crate) fn has_meter_of(&self, charge: &Charge<'_>) -> bool {
        let ours = self.charge.limit;
        self.charge.sharer == charge.sharer
            && (std::ptr::eq(ours, charge.limit) || ours.name == charge.limit.name)
    }

    /// Whether `charge` is under the very same limit, as far as meters care.
    pub(crate) fn agrees_with(&self, charge: &Charge<'_>) -> bool {
        let ours = self.charge.limit;
        let billing = Billing::of(charge.limit);
        std::ptr::eq(ours, charge.limit)
            || (ours.terms() == charge.limit.terms() && self.billing() == billing)
    }

    /// Appends its part of the shape of a home in which its numbers have this place.
    pub(crate) fn put_shape(&self, numbers: u16, into: &mut Vec<u8>) {
        into.extend(self.id);
        into.extend(numbers.to_le_bytes());
        let place = into.len();
        into.push(0);
        self.put_image(into);
        // Names and zones are short: an image has far less than 255 bytes.
        into[place] = u8::try_from(into.len() - place - 1).unwrap_or(u8::MAX);
    }

    /// Appends the image by which a home tells whether a limit was edited.
    pub(crate) fn put_image(&self, into: &mut Vec<u8>) {
        encode_entry(&self.charge.limit.name, self.terms(), into);
    }

    /// How many numbers its meter has.
    pub(crate) fn width(&self) -> u16 {
        width(self.terms())
    }

    /// Appends its numbers. Periods are those around `near`.
    pub(crate) fn put_numbers(&self, near: Timestamp, into: &mut Vec<u8>) {
        match self.rule() {
            Rule::TokenBucket(bucket) => self.put_bucket(bucket, into),
            Rule::FixedWindow(rule) | Rule::SlidingWindow(rule) => put_windowed(rule, into),
            Rule::Calendar { limit, calendar } => {
                put(limit.get(), into);
                bounds(calendar, self.charge.period, near).into_iter().for_each(|bound| put(bound, into));
            }
            Rule::SlidingBuckets(rule) => {
                put_windowed(rule, into);
                put(bucket_micros(rule), into);
            }
            Rule::SlidingLog(rule) => {
                put_windowed(rule, into);
                put(0, into);
            }
            Rule::Concurrency { limit, lease } => {
                put(limit.get(), into);
                put(lease.0.div_ceil(MICRO), into);
            }
        }
    }

    fn put_bucket(&self, bucket: &TokenBucket, into: &mut Vec<u8>) {
        match self.grid.unwrap_or_else(|| Grid::of(bucket)) {
            Grid::Fine { unit, parts } => {
                put(bucket.burst() * unit, into);
                put(unit, into);
                put(parts * MICRO, into);
            }
            Grid::Coarse { p, q, .. } => {
                put(bucket.burst(), into);
                put(p, into);
                put(q, into);
            }
        }
    }
}

/// How many numbers the meter of a window has: its end, its count and its start.
pub(crate) const WINDOW_NUMBERS: u16 = 3;

/// How many numbers a meter under these terms has in its home. Where the period before is kept, two more than a window
/// has: what its overage is counted from.
pub(crate) fn width(terms: Terms<'_>) -> u16 {
    match terms.rule {
        Rule::TokenBucket(_) => 2,
        Rule::FixedWindow(_) | Rule::Calendar { .. } if terms.keeps_past => WINDOW_NUMBERS + 2,
        Rule::FixedWindow(_) | Rule::Calendar { .. } => WINDOW_NUMBERS,
        Rule::SlidingWindow(_) | Rule::Concurrency { .. } => 4,
        Rule::SlidingBuckets(_) | Rule::SlidingLog(_) => 6,
    }
}

/// The beginnings and ends of three periods in a row, of which the second has `near`. Those before and after it are
/// empty unless they are near as well: looking them up takes longer than everything else here.
fn bounds(calendar: &Calendar, known: Option<Period>, near: Timestamp) -> [u64; 4] {
    let here = known.filter(|period| period.contains(near)).unwrap_or_else(|| calendar.period_at(near));
    let (start, end) = (micros(here.start), micros(here.end));
    let before = match near.since(here.start) <= NEAR && here.start > Timestamp::EPOCH {
        true => {
            let instant = Timestamp::from_nanos(here.start.as_nanos() - 1);
            micros(calendar.period_at(instant).start)
        }
        false => start,
    };
    let after = match here.end.since(near) <= NEAR {
        true => micros(calendar.period_at(here.end).end),
        false => end,
    };
    [before, start, end, after]
}

/// The length of a bucket of a sliding window.
fn bucket_micros(rule: &Windowed) -> u64 {
    match Grain::buckets(rule) {
        Grain::Buckets(secs) => Nanos::from_secs(secs).0 / MICRO,
        Grain::Instants => 0,
    }
}

fn put_windowed(rule: &Windowed, into: &mut Vec<u8>) {
    put(rule.limit.get(), into);
    put(rule.window.as_nanos() / MICRO, into);
}

/// Every node must come to the same: neither the hash nor its key may ever change under one layout.
fn meter_id(limit: &Limit, sharer: Sharer) -> MeterId {
    let mut hasher = SipHasher13::new_with_keys(0x746f_6c6c_6761_7465, 0x6d65_7465_7273_2031);
    hasher.write_u32(sharer.get());
    hasher.write(limit.name.as_str().as_bytes());
    hasher.finish().to_le_bytes()
}
