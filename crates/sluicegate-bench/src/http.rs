//! The suite `http`: decisions asked for over HTTP, ours beside others' and beside a server that decides nothing.

mod contestants;

use anyhow::Result;

use crate::load::options::LoadOptions;
use crate::load::report::{Comparison, Target};
use crate::load::{suite, wrk};
use crate::report::Format;

const CHECK: &str = "sluicegate check";
const CHECK_TEN: &str = "sluicegate check, ten limits";
const BATCH: &str = "sluicegate batch of 100";
const EMPTY: &str = "empty hyper";
const LIMITADOR: &str = "limitador in axum";
const LIMITADOR_TEN: &str = "limitador in axum, ten limits";
const THROTTLECRAB: &str = "throttlecrab-server";

const COMPARISONS: [Comparison; 6] = [
    Comparison { ours: CHECK, peer: THROTTLECRAB, target: Some(Target::Both(1.0)) },
    Comparison { ours: CHECK, peer: LIMITADOR, target: Some(Target::Both(2.0)) },
    Comparison { ours: CHECK, peer: EMPTY, target: Some(Target::Both(0.8)) },
    Comparison { ours: CHECK_TEN, peer: LIMITADOR_TEN, target: None },
    Comparison { ours: CHECK_TEN, peer: CHECK, target: None },
    Comparison { ours: BATCH, peer: CHECK, target: Some(Target::Both(10.0)) },
];

/// Measures and prints.
pub(crate) fn run(options: &LoadOptions, format: Format) -> Result<()> {
    wrk::ensure_installed()?;
    suite::run("http", &COMPARISONS, options, format, contestants::start, &contestants::Sample::check)
}
