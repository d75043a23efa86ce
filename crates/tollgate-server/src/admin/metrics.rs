//! `GET /metrics`: the process in numbers, as Prometheus reads them. No label has a caller's name in it.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::extract::State;
use http::header::CONTENT_TYPE;
use tollgate_core::policy::Bucket;
use tollgate_engine::StoreMode;
use tollgate_ledger::Health;

use super::{Admin, Shared};

const PROMETHEUS_TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// One family of numbers.
struct Family {
    name: &'static str,
    kind: &'static str,
    help: &'static str,
    labels: &'static str,
    value: u64,
}

const fn gauge(name: &'static str, help: &'static str, value: u64) -> Family {
    Family { name, kind: "gauge", help, labels: "", value }
}

const fn counter(name: &'static str, help: &'static str, value: u64) -> Family {
    Family { name, kind: "counter", help, labels: "", value }
}

fn number(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

/// Show the process in numbers
#[utoipa::path(
    get,
    path = "/metrics",
    tag = "process",
    operation_id = "metrics",
    responses((status = 200, description = "Prometheus text", body = String, content_type = "text/plain"))
)]
pub(crate) async fn metrics(State(admin): State<Shared>) -> ([(http::HeaderName, &'static str); 1], String) {
    let mut text = String::new();
    let families = families(&admin).into_iter().chain(abuse(&admin)).chain(store(&admin));
    for Family { name, kind, help, labels, value } in families.chain(directory(&admin).await) {
        let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}\n{name}{labels} {value}");
    }
    write_reputation(&mut text, &admin);
    write_shedding(&mut text, &admin);
    write_ledger(&mut text, &admin).await;
    write_thresholds(&mut text, &admin);
    ([(CONTENT_TYPE, PROMETHEUS_TEXT)], text)
}

/// Nothing while the store cannot be asked: an old number would look like a new one.
async fn directory(admin: &Admin) -> Vec<Family> {
    if admin.engine.store_mode() == StoreMode::Degraded {
        return Vec::new();
    }
    let Ok(counts) = admin.engine.directory().counts().await else { return Vec::new() };
    vec![
        gauge("tollgate_accounts", "Accounts that are not deleted.", number(counts.accounts)),
        gauge("tollgate_keys", "Keys that are not revoked.", number(counts.keys)),
    ]
}

/// What was done about callers that misbehave.
fn abuse(admin: &Admin) -> [Family; 6] {
    let counters = admin.engine.counters();
    let count = |name, help, value: &AtomicU64| counter(name, help, value.load(Ordering::Relaxed));
    [
        count(
            "tollgate_edge_refused_total",
            "Requests refused because of their address, before anything else.",
            &counters.edge_refused,
        ),
        count("tollgate_blocked_total", "Requests of callers that are blocked.", &counters.blocked),
        count(
            "tollgate_squeezed_total",
            "Requests decided under smaller limits because of pressure on their address.",
            &counters.squeezed,
        ),
        count(
            "tollgate_crowded_total",
            "Requests of callers without a key that share meters because there are too many.",
            &counters.crowded,
        ),
        count(
            "tollgate_repeated_total",
            "Requests that were admitted as repeats by their Idempotency-Key, and charged to rates alone.",
            &counters.repeated,
        ),
        gauge("tollgate_blocks", "Callers that are blocked now.", number(admin.engine.blocks_now())),
    ]
}

/// Requests by the reputation of their callers.
fn write_reputation(text: &mut String, admin: &Admin) {
    let name = "tollgate_reputation_total";
    let _ =
        writeln!(text, "# HELP {name} Requests by the reputation of their callers.\n# TYPE {name} counter");
    for (bucket, count) in Bucket::ALL.into_iter().zip(&admin.engine.counters().reputation) {
        let (bucket, count) = (bucket.as_str(), count.load(Ordering::Relaxed));
        let _ = writeln!(text, "{name}{{bucket=\"{bucket}\"}} {count}");
    }
}

/// How it goes with the store. Only where several nodes share one are there calls of it.
fn store(admin: &Admin) -> Vec<Family> {
    let degraded = u64::from(admin.engine.store_mode() == StoreMode::Degraded);
    let help = "1 while the store is away and this node decides alone.";
    let mut families = vec![gauge("tollgate_store_degraded", help, degraded)];
    if let Some(counters) = admin.engine.store_counters() {
        families.extend([
            counter("tollgate_store_calls_total", "Calls that settle requests.", counters.calls.get()),
            counter(
                "tollgate_store_unanswered_total",
                "Calls whose answer was lost.",
                counters.unknown.get(),
            ),
            counter(
                "tollgate_store_undone_total",
                "Charges that were given back, because their answer came too late.",
                counters.undone.get(),
            ),
            counter("tollgate_store_outages_total", "How often the store went away.", counters.opened.get()),
        ]);
    }
    families
}

fn families(admin: &Admin) -> [Family; 7] {
    let engine = &admin.engine;
    let counters = engine.counters();
    let full = u64::from(matches!(engine.spool().health(), Health::Full { .. }));
    [
        Family {
            name: "tollgate_build_info",
            kind: "gauge",
            help: "1, with the version of the program.",
            labels: concat!("{version=\"", env!("CARGO_PKG_VERSION"), "\"}"),
            value: 1,
        },
        gauge("tollgate_policy_version", "The number of the policy in force.", engine.policy().version()),
        counter(
            "tollgate_reload_rejected_total",
            "Policies that did not come into force.",
            admin.reload.rejected_total(),
        ),
        counter(
            "tollgate_unrecorded_total",
            "Admitted requests that could not be recorded.",
            counters.unrecorded.load(Ordering::Relaxed),
        ),
        counter(
            "tollgate_unknown_tier_total",
            "Plans of accounts whose tier is not defined: the smallest applies.",
            counters.unknown_tier.load(Ordering::Relaxed),
        ),
        gauge("tollgate_spool_full", "1 while there is no room for new records.", full),
        gauge("tollgate_homes", "Accounts and clients that have meters in memory.", number(engine.homes())),
    ]
}

/// How the books are doing. Nothing while they cannot be read: an old number would look like a new one.
async fn write_ledger(text: &mut String, admin: &Shared) {
    let books = std::sync::Arc::clone(&admin.books);
    let Ok(Ok(state)) = tokio::task::spawn_blocking(move || books.state()).await else { return };
    let mut families = vec![
        counter("tollgate_ledger_records_total", "Records that were counted.", state.records),
        gauge("tollgate_ledger_behind", "Records that are not counted yet.", state.behind),
        gauge("tollgate_ledger_torn", "Damaged records, which are in no sum.", state.torn),
        gauge(
            "tollgate_ledger_open_hour_seconds",
            "When the first hour begins that is not closed.",
            state.open.start().as_secs().into(),
        ),
        gauge("tollgate_ledger_sealed_hours", "Hours that lie in object storage.", state.sealed),
        gauge(
            "tollgate_ledger_unsealed",
            "1 while a closed hour waits to be sealed.",
            state.unsealed.is_some().into(),
        ),
    ];
    if let Some(check) = state.check {
        let units = u64::try_from(check.units).unwrap_or(u64::MAX);
        families.extend([
            gauge("tollgate_ledger_drift_units", "By how much meters differ from the ledger.", units),
            gauge("tollgate_ledger_drift_quotas", "How many meters differ from the ledger.", check.drifting),
            gauge(
                "tollgate_ledger_checked_seconds",
                "When meters were last compared with the ledger.",
                check.at.as_secs().into(),
            ),
        ]);
    }
    for Family { name, kind, help, value, .. } in families {
        let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}");
    }
}

/// What the upstreams bear, where load is shed.
fn write_shedding(text: &mut String, admin: &Admin) {
    if admin.engine.policy().policy().shedding.is_none() {
        return;
    }
    let load = admin.engine.loads().look();
    for Family { name, kind, help, value, .. } in [
        gauge("tollgate_upstream_limit", "How many requests upstreams bear at a time.", load.limit),
        gauge("tollgate_upstream_in_flight", "How many they work on.", load.in_flight),
    ] {
        let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}");
    }
    let name = "tollgate_shed_total";
    let _ = writeln!(
        text,
        "# HELP {name} Requests refused because upstreams cannot keep up.\n# TYPE {name} counter"
    );
    for (priority, count) in load.shed {
        let _ = writeln!(text, "{name}{{priority=\"{priority}\"}} {count}");
    }
}

/// Shares of quotas that were announced.
fn write_thresholds(text: &mut String, admin: &Admin) {
    let name = "tollgate_quota_thresholds_total";
    let help = "Shares of quotas that this node announced as used.";
    let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} counter");
    for (level, count) in admin.engine.thresholds_announced() {
        let _ = writeln!(text, "{name}{{percent=\"{}\"}} {count}", level.as_str());
    }
}
