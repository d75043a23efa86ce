//! A model of redis-cell's arithmetic, in integers: written from what it says it does, to be compared with.
//!
//! It keeps one instant for each key, the theoretical arrival time. A key whose instant has passed is forgotten.

const NANOS_PER_SEC: i128 = 1_000_000_000;

/// The numbers that come with every call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limit {
    pub(crate) max_burst: i64,
    pub(crate) count: i64,
    pub(crate) period: i64,
}

/// One key.
#[derive(Default)]
pub(crate) struct Cell {
    arrival: Option<i128>,
}

impl Cell {
    /// The five numbers of its reply.
    pub(crate) fn throttle(&mut self, limit: Limit, quantity: i64, now: u64) -> [i64; 5] {
        let now = i128::from(now);
        let interval = i128::from(limit.period) * NANOS_PER_SEC / i128::from(limit.count);
        let tolerance = interval * (i128::from(limit.max_burst) + 1);
        let increment = interval * i128::from(quantity);
        let arrival = self.arrival.filter(|arrival| *arrival > now).unwrap_or(now);
        let next_arrival = arrival + increment;
        let early = next_arrival - tolerance - now;
        let (limited, retry, left) = if early > 0 {
            let retry = if increment <= tolerance { seconds(early) } else { -1 };
            (1, retry, arrival - now)
        } else {
            self.arrival = Some(next_arrival);
            // Where it would be given more than it holds, redis-cell answers with an error.
            (0, -1, (next_arrival - now).max(0))
        };
        // It divides whole microseconds; what is owed beyond the tolerance is not told.
        let remaining = ((tolerance - left) / 1_000) / (interval / 1_000);
        let remaining = remaining.max(0);
        [limited, limit.max_burst + 1, i64::try_from(remaining).unwrap(), retry, seconds(left)]
    }
}

/// Whole seconds, and one more where whole milliseconds are left.
fn seconds(nanos: i128) -> i64 {
    let up = i128::from(nanos % NANOS_PER_SEC / 1_000_000 > 0);
    i64::try_from(nanos / NANOS_PER_SEC + up).unwrap()
}
