//! The process itself: its policy, its records on their way to the disk, and what it holds in memory.

use std::sync::atomic::Ordering;

use sluicegate_engine::pulse::KEPT_MAX;
use sluicegate_ledger::{Health, RECORD_BYTES};

use super::super::Admin;
use super::number;
use super::page::Page;

pub(super) fn write(page: &mut Page, admin: &Admin) {
    let version = env!("CARGO_PKG_VERSION");
    let info = [([("version", version)], 1)];
    page.gauges("sluicegate_build_info", "1, with the version of the program.", info);
    let engine = &admin.engine;
    let last = admin.reload.last();
    page.gauge("sluicegate_policy_version", "The number of the policy in force.", engine.policy().version());
    page.gauge(
        "sluicegate_policy_loaded_seconds",
        "When the policy in force was loaded, in seconds since 1970.",
        last.loaded.at.as_secs().into(),
    );
    page.gauge(
        "sluicegate_policy_last_reload_ok",
        "1, or 0 while the policy file has a newer content that was rejected.",
        last.rejected.is_none().into(),
    );
    page.counter(
        "sluicegate_reload_rejected_total",
        "Policies that did not come into force.",
        admin.reload.rejected_total(),
    );
    let counters = engine.counters();
    page.counter(
        "sluicegate_unrecorded_total",
        "Admitted requests that could not be recorded.",
        counters.unrecorded.load(Ordering::Relaxed),
    );
    page.counter(
        "sluicegate_unknown_tier_total",
        "Plans of accounts whose tier is not defined: the smallest applies.",
        counters.unknown_tier.load(Ordering::Relaxed),
    );
    write_spool(page, admin);
    write_memory(page, admin);
}

/// Records on their way to the disk.
fn write_spool(page: &mut Page, admin: &Admin) {
    let spool = admin.engine.spool();
    let full = matches!(spool.health(), Health::Full { .. });
    page.gauge("sluicegate_spool_full", "1 while there is no room for new records.", full.into());
    // In this order: what is written meanwhile must not look like less than nothing.
    let durable = spool.durable().0;
    let behind = spool.tail().0.saturating_sub(durable);
    page.gauge("sluicegate_spool_unsynced_records", "Records that are not on disk yet.", behind);
    page.gauge(
        "sluicegate_spool_unsynced_bytes",
        "Records that are not on disk yet, in bytes.",
        behind.saturating_mul(number(RECORD_BYTES)),
    );
}

/// What is held in memory, and the most of it.
fn write_memory(page: &mut Page, admin: &Admin) {
    let engine = &admin.engine;
    page.gauge(
        "sluicegate_homes",
        "Accounts and clients that have meters in memory.",
        number(engine.homes()),
    );
    page.gauge(
        "sluicegate_clients_max",
        "Beyond so many homes, callers without a key that are new share meters.",
        number(engine.clients_max()),
    );
    page.gauge(
        "sluicegate_in_flight",
        "Requests in flight that hold a place of a concurrency limit.",
        number(engine.in_flight()),
    );
    page.gauge(
        "sluicegate_explanations",
        "Denials of the last hour whose explanation is kept.",
        number(engine.pulse().explained()),
    );
    page.gauge(
        "sluicegate_explanations_max",
        "The most denials whose explanation is kept.",
        number(KEPT_MAX),
    );
}
