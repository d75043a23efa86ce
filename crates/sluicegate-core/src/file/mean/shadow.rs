//! Entries of `limits` that could never bind, because another one over the same requests always refuses first.

use crate::calendar::CalendarUnit;
use crate::file::sink::Sink;
use crate::rule::Rule;

use super::limit::MeantLimit;

const DAY_SECS: u64 = 86_400;

/// How much a rule may admit and must admit in its window, and how long that is at the shortest and at the longest.
#[derive(Clone, Copy)]
struct Reach {
    most: u64,
    least: u64,
    shortest_secs: u64,
    longest_secs: u64,
}

/// Reports pairs over the same requests and sharers where the longer window has the smaller amount.
pub(super) fn report(limits: &[MeantLimit], sink: &mut Sink) {
    for short in limits {
        let shadow = limits
            .iter()
            .filter(|long| {
                short.limit.routes == long.limit.routes && short.limit.limit.per == long.limit.limit.per
            })
            .find(|long| shadows(long, short));
        if let Some(long) = shadow {
            let (short_name, long_name) = (&short.limit.limit.name, &long.limit.limit.name);
            let message = format!(
                "`{short_name}` can never refuse anything: `{long_name}` on line {} has a longer window and a smaller \
                 amount",
                long.place.line
            );
            let help = format!("remove `{short_name}`, or give `{long_name}` the larger amount");
            sink.report(short.place, message, help);
        }
    }
}

fn shadows(long: &MeantLimit, short: &MeantLimit) -> bool {
    let (Some(far), Some(near)) = (reach(&long.limit.limit.rule), reach(&short.limit.limit.rule)) else {
        return false;
    };
    // One that bills without end refuses nothing.
    let Some(more) = long.limit.limit.excess.reach() else { return false };
    far.shortest_secs > near.longest_secs && far.most.saturating_add(more) < near.least
}

fn reach(rule: &Rule) -> Option<Reach> {
    let fixed = |amount: u64, secs: u32| {
        Some(Reach { most: amount, least: amount, shortest_secs: secs.into(), longest_secs: secs.into() })
    };
    match rule {
        Rule::TokenBucket(bucket) => {
            // A burst above the amount lets more through at once, one below it refuses sooner.
            let (amount, burst) = (bucket.amount(), bucket.burst());
            let most = amount.max(burst);
            fixed(amount, bucket.window().as_secs()).map(|reach| Reach {
                most,
                least: amount.min(burst),
                ..reach
            })
        }
        Rule::FixedWindow(counted)
        | Rule::SlidingWindow(counted)
        | Rule::SlidingBuckets(counted)
        | Rule::SlidingLog(counted) => fixed(counted.limit.get(), counted.window.as_secs()),
        Rule::Calendar { limit, calendar } => {
            let (shortest, longest) = match calendar.unit() {
                CalendarUnit::Day => (1, 1),
                CalendarUnit::Month | CalendarUnit::BillingMonth => (28, 31),
            };
            Some(Reach {
                most: limit.get(),
                least: limit.get(),
                shortest_secs: shortest * DAY_SECS,
                longest_secs: longest * DAY_SECS,
            })
        }
        Rule::Concurrency { .. } => None,
    }
}
