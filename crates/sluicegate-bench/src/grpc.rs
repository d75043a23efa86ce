//! The suite `grpc`: decisions asked for as Envoy asks, beside a server that has one limit for each key.

mod contestants;
mod message;
mod sample;

use anyhow::Result;

use crate::load::options::LoadOptions;
use crate::load::report::{Comparison, Target};
use crate::load::{h2load, suite};
use crate::report::Format;

const CALLER: &str = "sluicegate, a caller's plan";
const DESCRIPTOR: &str = "sluicegate, a descriptor's limit";
const AUTHORIZATION: &str = "sluicegate, authorization";
const THROTTLECRAB: &str = "throttlecrab-server";

const COMPARISONS: [Comparison; 3] = [
    Comparison { ours: CALLER, peer: THROTTLECRAB, target: Some(Target::PerSecond(1.0)) },
    Comparison { ours: DESCRIPTOR, peer: THROTTLECRAB, target: Some(Target::PerSecond(1.0)) },
    Comparison { ours: AUTHORIZATION, peer: THROTTLECRAB, target: None },
];

/// Measures and prints.
pub(crate) fn run(options: &LoadOptions, format: Format) -> Result<()> {
    h2load::ensure_installed()?;
    suite::run("grpc", &COMPARISONS, options, format, contestants::start, &sample::Sample::check)
}
