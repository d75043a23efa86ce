//! What the rounds of a contestant come to.

use crate::timing::median;

/// One round of one contestant.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lap {
    /// Decisions, or requests where nothing is decided, in each second.
    pub(crate) per_s: f64,
    /// The same in each second that the server was given a core.
    pub(crate) per_core_s: f64,
    /// The share of one core that the server used.
    pub(crate) busy: f64,
    pub(crate) p99_ms: f64,
}

/// The rounds of one contestant.
#[derive(Clone, Debug, Default)]
pub(crate) struct Laps(Vec<Lap>);

/// Ours beside a peer's, taken within each round: what slows a minute slows both.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ratio {
    pub(crate) per_s: f64,
    pub(crate) per_core_s: f64,
}

impl Laps {
    pub(crate) fn push(&mut self, lap: Lap) {
        self.0.push(lap);
    }

    pub(crate) fn median_of(&self, figure: impl Fn(&Lap) -> f64) -> f64 {
        median(self.0.iter().map(figure).collect())
    }

    /// The slowest and the fastest round.
    pub(crate) fn spread(&self) -> (f64, f64) {
        let rates = self.0.iter().map(|lap| lap.per_s);
        rates.fold((f64::INFINITY, 0.0), |(low, high), rate| (rate.min(low), rate.max(high)))
    }

    pub(crate) fn over(&self, peer: &Self) -> Ratio {
        let pairs = || self.0.iter().zip(&peer.0);
        Ratio {
            per_s: median(pairs().map(|(ours, its)| ours.per_s / its.per_s).collect()),
            per_core_s: median(pairs().map(|(ours, its)| ours.per_core_s / its.per_core_s).collect()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Lap, Laps};

    fn laps(rates: &[f64]) -> Laps {
        let mut laps = Laps::default();
        for &per_s in rates {
            laps.push(Lap { per_s, per_core_s: per_s * 2.0, busy: 0.5, p99_ms: 1.0 });
        }
        laps
    }

    #[test]
    fn a_slow_round_for_both_does_not_move_the_ratio() {
        let ratio = laps(&[200.0, 20.0, 220.0]).over(&laps(&[100.0, 10.0, 100.0]));
        assert!((ratio.per_s - 2.0).abs() < 1e-9 && (ratio.per_core_s - 2.0).abs() < 1e-9);
    }

    #[test]
    fn the_spread_is_from_the_slowest_to_the_fastest_round() {
        let laps = laps(&[200.0, 20.0, 220.0]);
        assert_eq!(laps.spread(), (20.0, 220.0));
        assert!((laps.median_of(|lap| lap.per_s) - 200.0).abs() < 1e-9);
    }
}
