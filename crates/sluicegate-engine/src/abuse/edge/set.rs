//! A few addresses with a cell of their own, and the crowd of those that found none free.

use sluicegate_core::rule::token_bucket::Tat;
use sluicegate_core::rule::{Answer, Ask, TokenBucket};
use sluicegate_core::time::Timestamp;

use super::crowd::Crowd;
use super::{EdgeVerdict, WAYS};

/// One address. The hash names the set by its other half, so that a cell belongs to one address.
#[derive(Clone, Copy, Default)]
struct Cell {
    nanos: u64,
    parts: u32,
    tag: u32,
}

impl Cell {
    /// Whether its bucket is full: it says no more than no cell at all.
    const fn is_idle(&self, now: Timestamp) -> bool {
        self.nanos < now.as_nanos()
    }
}

#[derive(Default)]
pub(super) struct Set {
    cells: [Cell; WAYS],
    crowd: Crowd,
}

impl Set {
    pub(super) fn check(&mut self, tag: u32, bucket: &TokenBucket, now: Timestamp) -> EdgeVerdict {
        let own = self.cells.iter().position(|cell| cell.tag == tag && !cell.is_idle(now));
        let place = own.or_else(|| self.cells.iter().position(|cell| cell.is_idle(now)));
        let Some(cell) = place.map(|at| &mut self.cells[at]) else {
            return self.crowd.check(tag, bucket, now);
        };
        let (before, held) = match own {
            Some(_) => held(cell, bucket, now),
            None => (Tat::default(), Tat::default()),
        };
        let (after, verdict) = bucket.settle(held, Ask::Take(1), now);
        if after != before {
            *cell = Cell { nanos: after.nanos, parts: after.parts, tag };
        }
        match verdict.answer {
            Answer::Fits => EdgeVerdict::Pass,
            Answer::Wait(retry_after) => EdgeVerdict::Refuse { retry_after },
            // One never exceeds a burst, which is at least one.
            Answer::Never => EdgeVerdict::Refuse { retry_after: bucket.fill_time() },
        }
    }
}

/// What a cell has, and what that is under this bucket: it may have been written under one that was edited since.
fn held(cell: &Cell, bucket: &TokenBucket, now: Timestamp) -> (Tat, Tat) {
    let before = Tat { nanos: cell.nanos, parts: cell.parts };
    let known = before.parts == 0 || bucket.may_have(before);
    let held = if known { before } else { Tat { parts: 0, ..before } };
    (before, bucket.emptied(held, now).unwrap_or(held))
}
