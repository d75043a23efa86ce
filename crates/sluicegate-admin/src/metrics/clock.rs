//! Whether the clocks are plausible.

use super::super::Admin;
use super::page::Page;

pub(super) fn write(page: &mut Page, admin: &Admin) {
    let status = admin.engine.clock_status();
    let clocks = [("system", status.wall), ("store", status.store)];
    page.gauges(
        "sluicegate_clock_implausible",
        "1 while a clock leapt more than an hour ahead and is not followed.",
        clocks.map(|(clock, held)| ([("clock", clock)], held.is_some().into())),
    );
    page.gauges(
        "sluicegate_clock_ahead_seconds",
        "By how much a clock that is not followed is ahead, in seconds.",
        clocks.map(|(clock, held)| ([("clock", clock)], held.map_or(0, |step| step.ahead.0 / 1_000_000_000))),
    );
}
