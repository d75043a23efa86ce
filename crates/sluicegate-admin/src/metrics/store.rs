//! How it goes with the store. Only where several nodes share one are there calls of it.

use sluicegate_engine::StoreMode;
use sluicegate_store::identity::StoreState;

use super::super::Admin;
use super::number;
use super::page::Page;

pub(super) async fn write(page: &mut Page, admin: &Admin) {
    let is_degraded = admin.engine.store_mode() == StoreMode::Degraded;
    let help = "1 while the store is away and this node decides alone.";
    page.gauge("sluicegate_store_degraded", help, is_degraded.into());
    let is_unadopted = admin.engine.directory().store_state() != StoreState::Known;
    let help = "1 while the store has lost its accounts, or is another one, and nothing is written to it.";
    page.gauge("sluicegate_store_unadopted", help, is_unadopted.into());
    if let Some(counters) = admin.engine.store_counters() {
        page.counter("sluicegate_store_calls_total", "Calls that settle requests.", counters.calls.get());
        page.counter(
            "sluicegate_store_unanswered_total",
            "Calls whose answer was lost.",
            counters.unknown.get(),
        );
        page.counter(
            "sluicegate_store_undone_total",
            "Charges that were given back, because their answer came too late.",
            counters.undone.get(),
        );
        page.counter(
            "sluicegate_store_outages_total",
            "How often the store went away.",
            counters.opened.get(),
        );
        page.histograms(
            "sluicegate_store_call_seconds",
            "How long calls that settle requests took, in seconds, answered or not.",
            [([], counters.took.read())],
        );
    }
    // Nothing while the store cannot be asked: an old number would look like a new one.
    if !is_degraded && let Ok(counts) = admin.engine.directory().counts().await {
        page.gauge("sluicegate_accounts", "Accounts that are not deleted.", number(counts.accounts));
        page.gauge("sluicegate_keys", "Keys that are not revoked.", number(counts.keys));
    }
}
