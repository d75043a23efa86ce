//! The servers of the suite `grpc`, each with the call it is sent.

use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result};

use super::message::{descriptor, request, throttle};
use super::sample::Sample;
use super::{AUTHORIZATION, CALLER, DESCRIPTOR, THROTTLECRAB};
use crate::load::build;
use crate::load::cores::Side;
use crate::load::field::{Field, Running};
use crate::load::h2load::Calls;
use crate::load::how::Load;
use crate::load::options::LoadOptions;
use crate::load::server::free_address;
use crate::load::sluicegate::{Sluicegate, make_keys};

const LOOK_EVERY: Duration = Duration::from_millis(5);
const RATE_LIMIT: &str = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";
const CHECK: &str = "/envoy.service.auth.v3.Authorization/Check";
const THROTTLE: &str = "/throttlecrab.RateLimiter/Throttle";

/// A rate and a quota for callers, a window for descriptors, all so large that nobody is refused.
const POLICY: &str = "\
tiers:
  two-limits: {rate: 1_000_000, burst: 1_000_000_000, quota: 9_000_000_000_000}
descriptors:
  bench:
    - {key: user, limit: 9_000_000_000/minute}
";

/// The field number 1 with the value 1: `overall_code: OK`, or `allowed: true`.
const ADMITS: &[u8] = &[0x08, 0x01];

/// Starts everyone who is wanted.
pub(super) async fn start(field: &mut Field<'_>, options: &LoadOptions) -> Result<Vec<Sample>> {
    let program = build::sluicegate(options)?;
    let sluicegate = Sluicegate { program, folder: field.folder.to_owned(), upstream: None };
    let (server, addresses) = sluicegate.start_with(POLICY, field.cores, LOOK_EVERY)?;
    let running = field.keep(server, addresses.decision);
    let keys = make_keys(addresses, "two-limits", 1).await?;
    let key = keys.first().context("no key")?;
    let caller = descriptor(&[("api_key", key), ("path", "/reports")]);
    let bearer = format!("Bearer {key}");
    let checked =
        request("/reports", &[("authorization", &bearer), ("user-agent", "bench/1"), ("accept", "*/*")]);
    let mut samples = vec![
        enter(field, CALLER, running, RATE_LIMIT, caller, ADMITS)?,
        enter(field, DESCRIPTOR, running, RATE_LIMIT, descriptor(&[("user", "alice")]), ADMITS)?,
        // Its first field is a status of zero, which is an empty message or none at all.
        enter(field, AUTHORIZATION, running, CHECK, checked, &[])?,
    ];
    if options.wants(THROTTLECRAB) {
        let address = free_address()?;
        let mut program = Command::new(build::throttlecrab()?);
        program.args(["--grpc", "--grpc-host", "127.0.0.1", "--log-level", "warn"]);
        program.arg("--grpc-port").arg(address.port().to_string());
        let running = field.start(THROTTLECRAB, &program, Side::Server, address)?;
        samples.push(enter(field, THROTTLECRAB, running, THROTTLE, throttle(key), ADMITS)?);
    }
    Ok(samples)
}

fn enter(
    field: &mut Field<'_>,
    name: &'static str,
    running: Running,
    method: &'static str,
    message: Vec<u8>,
    admits: &'static [u8],
) -> Result<Sample> {
    let calls = Calls::new(field.folder, name, method, &message)?;
    field.enter_with(name, running, Load::Calls(calls), 1);
    Ok(Sample { server: running.address, method, message, admits })
}
