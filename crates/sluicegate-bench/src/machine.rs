//! Whether the machine was ours alone: figures taken beside a compiler are not worth keeping.
//!
//! It reads Linux's accounts of processor time; elsewhere it knows nothing and says nothing.

use std::fs::read_to_string;

/// More than this share of all cores taken by others makes contention and scaling unreliable.
const OTHERS_SHARE_MAX: f64 = 0.05;

/// How many programs wanted a core over the last minute, where the system says so.
pub(crate) fn load_average() -> Option<f64> {
    read_to_string("/proc/loadavg").ok()?.split_whitespace().next()?.parse().ok()
}

/// Processor time since the start of the machine, in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ticks {
    all: u64,
    busy: u64,
    own: u64,
}

impl Ticks {
    pub(crate) fn read() -> Option<Self> {
        Self::parse(&read_to_string("/proc/stat").ok()?, &read_to_string("/proc/self/stat").ok()?)
    }

    fn parse(machine: &str, process: &str) -> Option<Self> {
        let fields = machine.lines().next()?.strip_prefix("cpu ")?.split_whitespace();
        // user, nice, system, idle, iowait, irq, softirq, steal; what follows is already part of user and nice.
        let ticks: Vec<u64> = fields.take(8).map_while(|field| field.parse().ok()).collect();
        let idle = ticks.get(3)? + ticks.get(4)?;
        let all = ticks.iter().sum();
        // A program's name may hold spaces and parentheses: count from the last one, where field 3 begins.
        let (_, fields) = process.rsplit_once(')')?;
        let own =
            fields.split_whitespace().skip(11).take(2).map_while(|field| field.parse::<u64>().ok()).sum();
        Some(Self { all, busy: all - idle, own })
    }

    /// The share of all cores that other programs took from `self` to `later`.
    fn others_share(self, later: Self) -> f64 {
        let busy = later.busy.saturating_sub(self.busy);
        let own = later.own.saturating_sub(self.own);
        let all = later.all.saturating_sub(self.all).max(1);
        busy.saturating_sub(own) as f64 / all as f64
    }

    /// What to tell the reader if others were at work since `self` was read.
    pub(crate) fn warning(self, later: Self) -> Option<String> {
        let share = self.others_share(later);
        (share > OTHERS_SHARE_MAX).then(|| {
            let percent = share * 100.0;
            format!(
                "other programs used {percent:.0} % of the cores meanwhile: repeat this on a quiet machine"
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Ticks;

    const PROCESS: &str = "7 (a) b) R 1 7 7 0 -1 4194304 95 0 0 0 30 12 0 0 20 0 1 0 100 200 300";

    #[test]
    fn ticks_are_read_from_linux_accounts() {
        let ticks = Ticks::parse("cpu  100 1 20 800 5 3 2 4 50 0\ncpu0 1 1 1 1", PROCESS);
        assert_eq!(ticks, Some(Ticks { all: 935, busy: 130, own: 42 }));
        assert_eq!(Ticks::parse("intr 5", PROCESS), None);
    }

    #[test]
    fn only_work_of_others_is_warned_of() {
        let before = Ticks { all: 1_000, busy: 100, own: 50 };
        assert_eq!(before.warning(Ticks { all: 2_000, busy: 1_000, own: 910 }), None);
        let warning = before.warning(Ticks { all: 2_000, busy: 1_000, own: 550 }).unwrap();
        assert!(warning.starts_with("other programs used 40 % of the cores"), "{warning}");
    }
}
