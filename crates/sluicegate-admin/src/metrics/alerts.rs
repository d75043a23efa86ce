//! How many alerts fire, and how delivering them goes.

use sluicegate_engine::StoreMode;

use super::super::Admin;
use super::super::webhook::posted;
use super::number;
use super::page::Page;

pub(super) async fn write(page: &mut Page, admin: &Admin) {
    let engine = &admin.engine;
    page.gauge("sluicegate_alerts_firing", "Alerts that fire.", number(engine.alerts_firing()));
    // Nothing while the store cannot be asked: an old number would look like a new one.
    if engine.store_mode() == StoreMode::Degraded {
        return;
    }
    let Ok(posted) = posted(engine).await else { return };
    page.gauge("sluicegate_webhook_pending", "Alerts that wait to be delivered.", posted.pending);
    page.counter("sluicegate_webhook_delivered_total", "Alerts that were delivered.", posted.delivered);
    page.counter(
        "sluicegate_webhook_dropped_total",
        "Alerts that were never delivered: three days old, or too many.",
        posted.dropped,
    );
}
