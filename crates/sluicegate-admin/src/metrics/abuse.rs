//! What was done about callers that misbehave, and about those who repeat themselves.

use std::sync::atomic::{AtomicU64, Ordering};

use sluicegate_core::policy::Bucket;

use super::super::Admin;
use super::number;
use super::page::Page;

pub(super) fn write(page: &mut Page, admin: &Admin) {
    let counters = admin.engine.counters();
    let mut count =
        |name: &str, help: &str, value: &AtomicU64| page.counter(name, help, value.load(Ordering::Relaxed));
    count(
        "sluicegate_edge_refused_total",
        "Requests refused because of their address, before anything else.",
        &counters.edge_refused,
    );
    count("sluicegate_blocked_total", "Requests of callers that are blocked.", &counters.blocked);
    count(
        "sluicegate_squeezed_total",
        "Requests decided under smaller limits because of pressure on their address.",
        &counters.squeezed,
    );
    count(
        "sluicegate_crowded_total",
        "Requests of callers without a key that share meters because there are too many.",
        &counters.crowded,
    );
    count(
        "sluicegate_repeated_total",
        "Requests that were admitted as repeats by their Idempotency-Key, and charged to rates alone.",
        &counters.repeated,
    );
    page.counters(
        "sluicegate_wrong_tokens_total",
        "Wrong tokens that were refused, by port.",
        admin.engine.refused_sign_ins().into_iter().map(|(port, count)| ([("port", port.as_str())], count)),
    );
    page.gauge("sluicegate_blocks", "Callers that are blocked now.", number(admin.engine.blocks_now()));
    let buckets = Bucket::ALL.into_iter().zip(&counters.reputation);
    page.counters(
        "sluicegate_reputation_total",
        "Requests by the reputation of their callers.",
        buckets.map(|(bucket, count)| ([("bucket", bucket.as_str())], count.load(Ordering::Relaxed))),
    );
}
