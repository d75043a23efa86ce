//! What the `quota` shorthand of a tier means.

use crate::calendar::{Calendar, CalendarUnit};
use crate::file::sink::Sink;
use crate::file::typed::{At, Field, Quota, QuotaAlgorithm, QuotaPool, QuotaWindow, TierBody};
use crate::limit::{Axis, Limit, LimitName, Per, RefusalStatus};
use crate::rule::{Amount, Rule, Windowed};
use crate::time::Window;

use super::{log, overage};

/// Whether none of the keys stands that say more about a quota.
pub(super) fn details_absent(body: &TierBody) -> bool {
    body.quota_window.is_absent()
        && body.quota_algorithm.is_absent()
        && body.on_quota_exceeded.is_absent()
        && body.overage_cap.is_absent()
        && body.quota_status.is_absent()
        && body.quota_pool.is_absent()
}

/// The quota, if there is one. The outer option: whether it could be meant.
pub(super) fn quota(body: &TierBody, sink: &mut Sink) -> Option<Option<Limit>> {
    let (place, amount) = match &body.quota {
        Field::Given(At { place, value: Quota::Capped(amount), .. }) => (*place, *amount),
        // The details are kept for the day on which the quota is capped again.
        Field::Given(At { .. }) => return Some(None),
        Field::Wrong => return None,
        Field::Absent => {
            report_orphans(body, sink);
            return Some(None);
        }
    };
    let log = logged(body, sink);
    let amount = match log {
        Some(true) => log::amount(amount, "`quota`", place, sink),
        _ => super::range::amount(amount, Amount::MAX, "`quota`", place, sink),
    };
    let window = match &body.quota_window {
        Field::Absent => Some(QuotaWindow::CalendarMonth),
        Field::Wrong => None,
        Field::Given(at) => check_window(at, sink),
    };
    let status = body.quota_status.value().map_or(RefusalStatus::PaymentRequired, |status| status.0);
    let beyond =
        overage::Typed { overrun: &body.on_quota_exceeded, key: "on_quota_exceeded", cap: &body.overage_cap };
    let excess = overage::excess(&beyond, amount, status, sink);
    let (amount, window, excess, log) = (amount?, window?, excess?, log?);
    if slides(window) && excess.is_billed() {
        overage::report_sliding(&beyond, "write `quota_window: calendar_month`", sink);
        return None;
    }
    Some(Some(Limit {
        name: LimitName::new(LimitName::QUOTA)?,
        axis: Axis::Quota,
        per: match body.quota_pool.value() {
            Some(QuotaPool::Key) => Per::Key,
            Some(QuotaPool::Account) | None => Per::Account,
        },
        rule: rule(amount, window, log)?,
        excess,
        sold: None,
    }))
}

fn report_orphans(body: &TierBody, sink: &mut Sink) {
    let orphans = [
        body.quota_window.given().map(|at| (at.key, "quota_window")),
        body.quota_algorithm.given().map(|at| (at.key, "quota_algorithm")),
        body.on_quota_exceeded.given().map(|at| (at.key, "on_quota_exceeded")),
        body.overage_cap.given().map(|at| (at.key, "overage_cap")),
        body.quota_status.given().map(|at| (at.key, "quota_status")),
        body.quota_pool.given().map(|at| (at.key, "quota_pool")),
    ];
    for (key, name) in orphans.into_iter().flatten() {
        let help = "add a `quota` (null: uncapped), or remove it";
        sink.report(key, format!("`{name}` stands without a `quota`"), help);
    }
}

fn check_window(at: &At<QuotaWindow>, sink: &mut Sink) -> Option<QuotaWindow> {
    if let QuotaWindow::Sliding(span) = at.value
        && Window::from_secs(span.secs).is_none()
    {
        let help = format!("the longest is sliding:{}", Window::MAX);
        sink.report(at.place, "this window is too long", help);
        return None;
    }
    Some(at.value)
}

fn slides(window: QuotaWindow) -> bool {
    matches!(window, QuotaWindow::SlidingDay | QuotaWindow::Sliding(_))
}

/// Whether every admission is remembered. Nothing if that could not be meant.
fn logged(body: &TierBody, sink: &mut Sink) -> Option<bool> {
    let at = match &body.quota_algorithm {
        Field::Absent => return Some(false),
        Field::Wrong => return None,
        Field::Given(at) => at,
    };
    let slides = match &body.quota_window {
        Field::Given(window) => slides(window.value),
        Field::Absent => false,
        Field::Wrong => return None,
    };
    if !slides {
        let help = "write `quota_window: sliding_day`, or remove it: calendar windows count exactly";
        sink.report(at.key, "`quota_algorithm` is for windows that slide, and this one does not", help);
        return None;
    }
    Some(at.value == QuotaAlgorithm::SlidingLog)
}

fn rule(limit: Amount, window: QuotaWindow, logged: bool) -> Option<Rule> {
    let calendar = |unit| Rule::Calendar { limit, calendar: Calendar::utc(unit) };
    let sliding = |window| {
        let rule = Windowed { limit, window };
        if logged { Rule::SlidingLog(rule) } else { Rule::SlidingBuckets(rule) }
    };
    Some(match window {
        QuotaWindow::CalendarMonth => calendar(CalendarUnit::Month),
        QuotaWindow::BillingMonth => calendar(CalendarUnit::BillingMonth),
        QuotaWindow::CalendarDay => calendar(CalendarUnit::Day),
        QuotaWindow::SlidingDay => sliding(Window::DAY),
        QuotaWindow::Sliding(span) => sliding(Window::from_secs(span.secs)?),
    })
}
