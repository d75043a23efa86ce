//! Units of time: those that Envoy knows, and the windows of limits.

use sluicegate_core::calendar::CalendarUnit;
use sluicegate_core::rule::Rule;
use sluicegate_core::time::Window;

use crate::decision::grpc::message::ratelimit::Unit;

/// Seconds, as the service that Envoy's users know counts them.
const SECONDS: [(Unit, u32); 7] = [
    (Unit::Second, 1),
    (Unit::Minute, 60),
    (Unit::Hour, 3_600),
    (Unit::Day, 86_400),
    (Unit::Week, 7 * 86_400),
    (Unit::Month, 30 * 86_400),
    (Unit::Year, 365 * 86_400),
];

/// The window of a unit.
pub(super) fn window(unit: Unit) -> Option<Window> {
    let (_, seconds) = SECONDS.iter().find(|(known, _)| *known == unit)?;
    Window::from_secs(u64::from(*seconds))
}

/// The unit in which a limit counts, if it is one of Envoy's.
pub(super) fn of(rule: &Rule) -> Unit {
    let window = match rule {
        Rule::TokenBucket(bucket) => bucket.window(),
        Rule::FixedWindow(rule)
        | Rule::SlidingWindow(rule)
        | Rule::SlidingBuckets(rule)
        | Rule::SlidingLog(rule) => rule.window,
        Rule::Calendar { calendar, .. } => {
            return match calendar.unit() {
                CalendarUnit::Day => Unit::Day,
                CalendarUnit::Month | CalendarUnit::BillingMonth => Unit::Month,
            };
        }
        Rule::Concurrency { .. } => return Unit::Unknown,
    };
    let known = SECONDS.iter().find(|(_, seconds)| *seconds == window.as_secs());
    known.map_or(Unit::Unknown, |(unit, _)| *unit)
}

#[cfg(test)]
mod tests {
    use sluicegate_core::rule::{Amount, Windowed};

    use super::*;

    #[test]
    fn every_unit_has_its_window_and_back() {
        for (unit, seconds) in SECONDS {
            let window = window(unit).unwrap();
            assert_eq!(window.as_secs(), seconds);
            assert_eq!(of(&Rule::FixedWindow(Windowed { limit: Amount::ONE, window })), unit);
        }
        assert_eq!(window(Unit::Week).unwrap().as_secs(), 604_800);
        assert_eq!(window(Unit::Month).unwrap().as_secs(), 2_592_000);
        assert_eq!(window(Unit::Year).unwrap().as_secs(), 31_536_000);
        assert_eq!(window(Unit::Unknown), None);
        let odd = Windowed { limit: Amount::ONE, window: Window::from_secs(90).unwrap() };
        assert_eq!(of(&Rule::SlidingWindow(odd)), Unit::Unknown);
    }
}
