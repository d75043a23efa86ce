//! The token bucket. Every quantity of time in here is a count of 1/q nanoseconds, so that T = p is whole.

use super::meter::{Algorithm, At, Nanos, SECOND, saturated};

const TEN_YEARS: Nanos = 10 * 365 * 86_400 * SECOND;
const OVERDRAFT: Nanos = 31 * 86_400 * SECOND;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TokenBucket {
    burst: u64,
    /// T = W / amount = p/q nanoseconds in lowest terms.
    p: u128,
    q: u128,
    /// Theoretical arrival time, in 1/q nanoseconds since the epoch.
    tat: u128,
    overdrawn: bool,
}

impl TokenBucket {
    pub(super) fn untouched(amount: u64, window: Nanos, burst: u64) -> TokenBucket {
        let amount = u128::from(amount);
        let divisor = greatest_common_divisor(window, amount);
        TokenBucket { burst, p: window / divisor, q: amount / divisor, tat: 0, overdrawn: false }
    }

    /// The time that `units` take: units·T.
    fn time(&self, units: u64) -> u128 {
        u128::from(units) * self.p
    }

    fn debt(&self, at: &At) -> u128 {
        self.tat.saturating_sub(at.now * self.q)
    }

    fn whole_nanoseconds(&self, time: u128) -> Nanos {
        time.div_ceil(self.q)
    }

    /// A `tat` that far ahead comes from a clock that stepped back: it is empty and refills from here, or owes as much
    /// as an overdrawn bucket may.
    pub(super) fn mend(&mut self, at: &At) {
        let now = at.now * self.q;
        if self.tat > now + self.most(self.overdrawn) + SECOND * self.q {
            let debt = if self.overdrawn { self.most(true) } else { self.time(self.burst) };
            self.tat = now + debt;
        }
    }

    /// The largest debt: r·T, and of an overdrawn bucket m.
    fn most(&self, overdrawn: bool) -> u128 {
        let empty = self.time(self.burst);
        let reach = if empty < TEN_YEARS * self.q { 10 * empty } else { empty };
        if overdrawn { reach.max(OVERDRAFT * self.q) } else { reach }
    }

    /// With u = d/T of the old bucket, the debt becomes u·T of this one, at most r·T, or m if it is overdrawn.
    pub(super) fn keep_used_units(&mut self, old: &TokenBucket, at: &At) {
        let (whole_units, rest) = (old.debt(at) / old.p, old.debt(at) % old.p);
        // u = whole_units + rest / old.p; only the fraction needs rounding up.
        let fraction = (rest * self.p).div_ceil(old.p);
        let debt = whole_units.saturating_mul(self.p).saturating_add(fraction);
        self.overdrawn = old.overdrawn && debt > self.time(self.burst);
        self.tat = at.now * self.q + debt.min(self.most(self.overdrawn));
    }

    fn owe(&mut self, debt: u128, at: &At) {
        self.tat = at.now * self.q + debt;
        self.overdrawn &= debt > self.time(self.burst);
    }
}

impl Algorithm for TokenBucket {
    fn capacity(&self) -> u64 {
        self.burst
    }

    fn fits(&self, cost: u64, at: &At) -> bool {
        self.debt(at) + self.time(cost) <= self.time(self.burst)
    }

    /// b − remaining, with remaining = floor(max(0, b·T − d) / T).
    fn used(&self, at: &At) -> u64 {
        let left = self.time(self.burst).saturating_sub(self.debt(at));
        self.burst - saturated(left / self.p)
    }

    /// d + cost·T − b·T.
    fn wait(&self, cost: u64, at: &At) -> Nanos {
        self.whole_nanoseconds(self.debt(at) + self.time(cost) - self.time(self.burst))
    }

    /// d − (b − remaining − 1)·T, where b − remaining = used; as a sum, since used may be 0.
    fn next(&self, at: &At) -> Nanos {
        self.whole_nanoseconds(self.debt(at) + self.time(1) - self.time(self.used(at)))
    }

    fn reset(&self, at: &At) -> Nanos {
        self.whole_nanoseconds(self.debt(at))
    }

    /// What does not fit overdraws the bucket: by no more than m, or than it was.
    fn charge(&mut self, cost: u64, at: &At) {
        let debt = self.debt(at) + self.time(cost);
        if debt > self.time(self.burst) && self.debt(at) < self.most(true) {
            self.overdrawn = true;
        }
        self.owe(debt.min(self.most(true)).max(self.debt(at)), at);
    }

    /// What does not fit leaves the bucket empty, or as far in debt as it was.
    fn drain(&mut self, cost: u64, at: &At) {
        let debt = (self.debt(at) + self.time(cost)).min(self.time(self.burst));
        if debt > self.debt(at) {
            self.owe(debt, at);
        }
    }

    /// At most what the charge took, less what has flowed in since.
    fn refund(&mut self, cost: u64, reserved: u64, charged_at: Nanos, at: &At) {
        let flowed = at.now.saturating_sub(charged_at) * self.q;
        let returned = self.time(cost).min(self.time(reserved).saturating_sub(flowed));
        if returned > 0 && self.debt(at) > 0 {
            self.owe(self.debt(at).saturating_sub(returned), at);
        }
    }
}

fn greatest_common_divisor(a: u128, b: u128) -> u128 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}
