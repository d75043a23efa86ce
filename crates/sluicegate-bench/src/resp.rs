//! The suite `resp`: decisions asked for as Redis is asked, one by one and in pipelines, beside another server and
//! beside a bare counter of Redis, which decides nothing.

mod contestants;
mod redis_benchmark;

use anyhow::Result;

use crate::load::contest;
use crate::load::cores::Cores;
use crate::load::field::Field;
use crate::load::options::LoadOptions;
use crate::load::report::{self, Comparison, Target};
use crate::report::Format;

const OURS: &str = "sluicegate CL.THROTTLE";
const OURS_DEEP: &str = "sluicegate CL.THROTTLE, 16 deep";
const THROTTLECRAB: &str = "throttlecrab-server THROTTLE";
const THROTTLECRAB_DEEP: &str = "throttlecrab-server THROTTLE, 16 deep";
const REDIS: &str = "redis INCR";
const REDIS_DEEP: &str = "redis INCR, 16 deep";

const COMPARISONS: [Comparison; 4] = [
    Comparison { ours: OURS, peer: THROTTLECRAB, target: Some(Target::PerSecond(1.0)) },
    Comparison { ours: OURS_DEEP, peer: THROTTLECRAB_DEEP, target: Some(Target::PerSecond(10.0)) },
    Comparison { ours: OURS, peer: REDIS, target: None },
    Comparison { ours: OURS_DEEP, peer: REDIS_DEEP, target: None },
];

/// Measures and prints.
pub(crate) fn run(options: &LoadOptions, format: Format) -> Result<()> {
    redis_benchmark::ensure_installed()?;
    let folder = tempfile::tempdir()?;
    let mut field = Field::new(Cores::choose(), folder.path());
    let contestants = contestants::start(&mut field, options)?;
    let ran = contest::run(&contestants, field.cores, options);
    let ran = ran.map_err(|error| error.context(field.logs()))?;
    // A refusal costs less. Meters only grow: who is admitted at the end was admitted all along.
    contestants.iter().try_for_each(contestants::Contestant::expect_admission)?;
    report::print("resp", &ran, &COMPARISONS, format)
}
