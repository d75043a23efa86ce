//! The suite `grpc`: decisions asked for as Envoy asks, beside a server that has one limit for each key.

mod contestants;
mod message;
mod sample;

use anyhow::Result;

use crate::load::caller::runtime;
use crate::load::contest;
use crate::load::cores::Cores;
use crate::load::field::Field;
use crate::load::h2load;
use crate::load::options::LoadOptions;
use crate::load::report::{self, Comparison, Target};
use crate::report::Format;

const CALLER: &str = "tollgate, a caller's plan";
const DESCRIPTOR: &str = "tollgate, a descriptor's limit";
const AUTHORIZATION: &str = "tollgate, authorization";
const THROTTLECRAB: &str = "throttlecrab-server";

const COMPARISONS: [Comparison; 3] = [
    Comparison { ours: CALLER, peer: THROTTLECRAB, target: Some(Target::PerSecond(1.0)) },
    Comparison { ours: DESCRIPTOR, peer: THROTTLECRAB, target: Some(Target::PerSecond(1.0)) },
    Comparison { ours: AUTHORIZATION, peer: THROTTLECRAB, target: None },
];

/// Measures and prints.
pub(crate) fn run(options: &LoadOptions, format: Format) -> Result<()> {
    h2load::ensure_installed()?;
    let folder = tempfile::tempdir()?;
    let runtime = runtime()?;
    let mut field = Field::new(Cores::choose(), folder.path());
    let samples = runtime.block_on(contestants::start(&mut field, options))?;
    let everyone_admits = || samples.iter().try_for_each(|sample| runtime.block_on(sample.check()));
    everyone_admits()?;
    let ran = contest::run(&field.contestants, field.cores, options);
    let ran = ran.map_err(|error| error.context(field.logs()))?;
    // A refusal is answered like an admission. Meters only grow: who is admitted at the end was admitted all along.
    everyone_admits()?;
    report::print("grpc", &ran, &COMPARISONS, format)
}
