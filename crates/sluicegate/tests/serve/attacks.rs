//! Known attacks on rate limiters, one test for each, against the real binary.
//!
//! The numbers are those of the catalogue in `docs/attacks.md`.

mod addresses;
mod anonymous;
mod connections;
mod credentials;
mod effort;
mod headers;
mod isolation;
mod memory;
mod names;
mod requests;
mod routes;
mod secrets;
mod signed_tokens;
mod tokens;

use sluicegate_testkit::http::Asked;

use crate::bed::Bed;

/// Callers without a key get three requests a day; whoever connects from here is a proxy that is believed.
const THREE: &str = "
server: {trusted_proxies: [127.0.0.1/32]}
identity: {anonymous: free, fingerprint: [user-agent, accept-language]}
tiers:
  free: {limits: {daily: {algorithm: fixed_window, limit: 3/day}}}
  pro: {limits: {daily: {algorithm: fixed_window, limit: 3/day}}}
";

/// How many of these requests are let through.
fn admitted(bed: &Bed, requests: impl IntoIterator<Item = Asked>) -> usize {
    requests.into_iter().filter(|asked| bed.gateway(asked).status == 200).count()
}

/// A request that a believed proxy passes on.
fn forwarded(hops: &str) -> Asked {
    Asked::get("/").header("X-Forwarded-For", hops)
}
