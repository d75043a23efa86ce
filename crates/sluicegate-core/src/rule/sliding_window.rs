//! Two counts: this window's, and the one before weighted by how much of it the last window length still overlaps.

use super::{Answer, Ask, Verdict, Windowed, beyond, count_up, fit};
use crate::time::{Nanos, Timestamp};

/// What was used in the window that starts at `start` seconds since the epoch, and in the one before it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct TwoCounts {
    /// In the current window.
    pub current: u64,
    /// In the one before.
    pub previous: u64,
    /// The start of the current window.
    pub start: u32,
}

/// The counts as they stand at one instant.
struct Standing {
    counts: TwoCounts,
    /// The length of the window.
    length: u64,
    /// How far into the current window the instant is.
    elapsed: u64,
    /// How far before it, where the clock stepped back.
    behind: u64,
}

impl TwoCounts {
    /// What the counts become when `ask` is done at `now`, and what the meter says then.
    pub fn settle(self, rule: &Windowed, ask: Ask, now: Timestamp) -> (Self, Verdict) {
        let limit = match ask {
            Ask::TakeBeyond { beyond: more, .. } => beyond(rule.limit.get(), more),
            _ => rule.limit.get(),
        };
        let mut standing = self.at(rule, now);
        let mut changed = ask != Ask::Look;
        let answer = match ask {
            Ask::Look => Answer::Fits,
            Ask::Take(cost) | Ask::TakeBeyond { cost, .. } => {
                let answer = fit(standing.estimate(), cost, limit, || standing.until_at_most(limit - cost));
                if answer == Answer::Fits {
                    standing.counts.current += cost;
                }
                answer
            }
            Ask::Force(cost) | Ask::Drain(cost) => {
                standing.counts.current = count_up(standing.counts.current, cost);
                Answer::Fits
            }
            Ask::Give { cost, charged_at, .. } => {
                changed = standing.give(cost, charged_at);
                Answer::Fits
            }
        };
        let used = standing.estimate();
        let next = match used {
            0 => standing.until(standing.length),
            _ => standing.until_at_most(used - 1),
        };
        let verdict = Verdict { answer, used, next, reset: standing.until_at_most(0) };
        (if changed { standing.counts } else { self }, verdict)
    }

    /// The counts moved on to the window of `now`. A clock that stepped back stands at the start of the meter's window.
    fn at(self, rule: &Windowed, now: Timestamp) -> Standing {
        let start = rule.aligned(now).start.as_secs();
        let counts = if start <= self.start {
            self
        } else {
            let follows = start - self.start == rule.window.as_secs();
            Self { current: 0, previous: if follows { self.current } else { 0 }, start }
        };
        let start = Timestamp::from_secs(counts.start);
        Standing {
            counts,
            length: rule.window.as_nanos(),
            elapsed: now.since(start).0,
            behind: start.since(now).0,
        }
    }
}

impl Standing {
    fn estimate(&self) -> u64 {
        let TwoCounts { current, previous, .. } = self.counts;
        if previous == 0 {
            return current;
        }
        let overlap = u128::from(previous) * u128::from(self.length - self.elapsed);
        current + shrink(overlap / u128::from(self.length))
    }

    /// How long until the estimate is `target` or less. It never rises by itself, so this is the first such instant.
    fn until_at_most(&self, target: u64) -> Nanos {
        let TwoCounts { current, previous, .. } = self.counts;
        let instant = match target.checked_sub(current) {
            Some(room) => self.elapsed_when(previous, room),
            // Not before the next window, in which today's count is the one that fades.
            None => self.length + self.elapsed_when(current, target),
        };
        self.until(instant)
    }

    /// How long until the current window has been going on for so long.
    fn until(&self, elapsed: u64) -> Nanos {
        match elapsed.saturating_sub(self.elapsed) {
            0 => Nanos::ZERO,
            ahead => Nanos(ahead + self.behind),
        }
    }

    /// How far into a window the count before it must be weighted down to `room` or less.
    fn elapsed_when(&self, previous: u64, room: u64) -> u64 {
        match previous.checked_sub(room) {
            None | Some(0) => 0,
            // previous × (length − e) / length < room + 1, solved for the smallest whole e
            Some(excess) => {
                shrink(u128::from(self.length) * u128::from(excess - 1) / u128::from(previous)) + 1
            }
        }
    }

    /// Takes a charge out of the count it went into, and says whether there was anything to take.
    fn give(&mut self, cost: u64, charged_at: Timestamp) -> bool {
        let start = Timestamp::from_secs(self.counts.start);
        let count = if charged_at >= start {
            &mut self.counts.current
        } else if start.since(charged_at).0 <= self.length {
            &mut self.counts.previous
        } else {
            return false;
        };
        let held = *count;
        *count = held.saturating_sub(cost);
        *count < held
    }
}

#[expect(clippy::cast_possible_truncation, reason = "a u64 times a fraction below one")]
fn shrink(value: u128) -> u64 {
    value as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::Amount;
    use crate::time::Window;

    const RULE: Windowed = Windowed { limit: Amount::new(50).unwrap(), window: Window::HOUR };
    const HOUR: u32 = 3_600;

    #[test]
    fn at_a_quarter_to_a_quarter_of_the_previous_hour_counts() {
        let counts = TwoCounts { current: 10, previous: 41, start: 15 * HOUR };
        let (_, verdict) = counts.settle(&RULE, Ask::Look, Timestamp::from_secs(15 * HOUR + 2_700));
        assert_eq!(verdict.used, 10 + 10);
    }

    #[test]
    fn refused_until_the_overlap_has_shrunk_then_admitted() {
        let counts = TwoCounts { current: 20, previous: 40, start: 15 * HOUR };
        let now = Timestamp::from_secs(15 * HOUR + 900);
        let (_, verdict) = counts.settle(&RULE, Ask::Take(1), now);
        let Answer::Wait(wait) = verdict.answer else { panic!("30 of 40 and 20 are 50") };
        assert_eq!(counts.settle(&RULE, Ask::Take(1), now.plus(wait)).1.answer, Answer::Fits);
        assert_eq!(
            counts.settle(&RULE, Ask::Take(1), now.plus(Nanos(wait.0 - 1))).1.answer,
            Answer::Wait(Nanos(1))
        );
    }

    #[test]
    fn a_spent_window_frees_units_only_in_the_next_one() {
        let counts = TwoCounts { current: 50, previous: 0, start: 15 * HOUR };
        let now = Timestamp::from_secs(15 * HOUR + 900);
        let (_, verdict) = counts.settle(&RULE, Ask::Take(1), now);
        assert_eq!(verdict.answer, Answer::Wait(Nanos(2_700_000_000_000 + 1)));
    }
}
