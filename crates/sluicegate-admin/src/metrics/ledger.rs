//! How the books of usage are doing.

use std::sync::Arc;

use super::super::Shared;
use super::page::Page;

pub(super) async fn write(page: &mut Page, admin: &Shared) {
    write_books(page, admin).await;
    let announced: Vec<_> = admin.engine.thresholds_announced().into_iter().collect();
    page.counters(
        "sluicegate_quota_thresholds_total",
        "Shares of quotas that this node announced as used, by how many percent.",
        announced.iter().map(|(level, count)| ([("percent", level.as_str())], *count)),
    );
}

/// Nothing while they cannot be read: an old number would look like a new one.
async fn write_books(page: &mut Page, admin: &Shared) {
    let books = Arc::clone(&admin.books);
    let Ok(Ok(state)) = tokio::task::spawn_blocking(move || books.state()).await else { return };
    page.counter("sluicegate_ledger_records_total", "Records that were counted.", state.records);
    page.gauge("sluicegate_ledger_behind", "Records that are not counted yet.", state.behind);
    page.gauge("sluicegate_ledger_torn", "Damaged records, which are in no sum.", state.torn);
    page.gauge(
        "sluicegate_ledger_open_hour_seconds",
        "When the first hour begins that is not closed, in seconds since 1970.",
        state.open.start().as_secs().into(),
    );
    page.gauge("sluicegate_ledger_sealed_hours", "Hours that lie in object storage.", state.sealed);
    page.gauge(
        "sluicegate_ledger_unsealed",
        "1 while a closed hour waits to be sealed.",
        state.unsealed.is_some().into(),
    );
    if let Some(check) = state.check {
        let units = u64::try_from(check.units).unwrap_or(u64::MAX);
        page.gauge(
            "sluicegate_ledger_drift_units",
            "By how much meters differ from the ledger, in units.",
            units,
        );
        page.gauge(
            "sluicegate_ledger_drift_quotas",
            "How many meters differ from the ledger.",
            check.drifting,
        );
        page.gauge(
            "sluicegate_ledger_checked_seconds",
            "When meters were last compared with the ledger, in seconds since 1970.",
            check.at.as_secs().into(),
        );
    }
}
