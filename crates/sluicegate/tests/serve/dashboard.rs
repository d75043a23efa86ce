//! The dashboard in a real browser, over a real server: what an operator does in it, and how it looks.
//!
//! The scripts beside this file drive Chromium. With `SLUICEGATE_BLESS=1` the pages are painted for the documentation,
//! after five minutes of traffic.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sluicegate_testkit::python;
use sluicegate_testkit::server::ADMIN_TOKEN;

use crate::bed::Bed;

const POLICY: &str = "\
identity:
  api_key: [bearer, \"header:X-API-Key\"]
  anonymous: visitor
reputation: {applies_to: clients}
blocks: {applies_to: clients}
pressure: {fingerprints: 20, window: 10m, squeeze_to: 50%, for: 1h}
routes:
  search: {match: \"GET /api/search/**\", cost: 5}
  convert: {match: \"POST /api/convert\", cost: 2}
tiers:
  visitor: {rate: 2, burst: 5, quota: 200, quota_window: calendar_day}
  free: {rate: 5, burst: 10, quota: 600, quota_window: calendar_day, concurrency: 5}
  pro:
    rate: 200
    burst_multiplier: 3
    quota: 10_000
    on_quota_exceeded: bill_overage
    concurrency: 50
    limits:
      searches: {algorithm: sliding_window, limit: 600/hour, routes: [search], per: account}
  enterprise: {rate: 1_000, burst_multiplier: 2, quota: null}
";

/// Runs a script beside this file against a server.
fn drive(bed: &Bed, script: &str, more: &Value) -> Value {
    let url = |address: std::net::SocketAddr| format!("http://{address}");
    let mut told = json!({
        "admin": url(bed.server.admin()),
        "gateway": url(bed.server.gateway()),
        "decision": url(bed.server.decision()),
        "policy": bed.policy_path(),
        "token": ADMIN_TOKEN,
    });
    told.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/serve/dashboard");
    python::run(&folder.join(script), &[told.to_string()])
}

/// Where the pictures of the documentation are, if they are to be painted.
fn images() -> Option<PathBuf> {
    #[expect(clippy::disallowed_methods, reason = "the switch that rewrites what was once looked at")]
    let bless = std::env::var_os("SLUICEGATE_BLESS").is_some();
    bless.then(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/images"))
}

#[test]
fn an_operator_makes_a_customer_sees_its_traffic_and_ends_its_key() {
    let bed = Bed::start(POLICY);
    let told = drive(&bed, "story.py", &json!({}));
    assert_eq!(told["refused_after_revoking"], 403, "{told}");
    let audit = bed.get("/admin/v1/audit");
    let who = |entry: &Value| entry["who"] == "admin (dashboard)";
    assert!(audit["items"].as_array().unwrap().iter().all(who), "{audit}");
    assert_eq!(audit["items"].as_array().unwrap().len(), 4, "{audit}");
}

#[test]
fn whoever_guesses_is_told_to_wait_and_whoever_knows_is_let_in() {
    let told = drive(&Bed::start(POLICY), "guessing.py", &json!({}));
    assert_eq!(told["signed_in"], true, "{told}");
}

#[test]
fn every_page_fits_a_desk_and_a_phone_and_can_be_read_out() {
    let images = images();
    let bed = Bed::start(POLICY);
    let told = drive(&bed, "pages.py", &json!({"images": images}));
    assert_eq!(told["pages"], 10, "{told}");
    assert_eq!(told["faults"], json!([]), "{told:#}");
}
