//! A suite with servers, from beginning to end.

use anyhow::Result;

use super::caller::runtime;
use super::contest;
use super::cores::Cores;
use super::field::Field;
use super::options::LoadOptions;
use super::report::{self, Comparison};
use crate::report::Format;

/// Starts everyone, measures and prints. `check` asks a contestant once, and fails if it does not admit.
pub(crate) fn run<S>(
    suite: &str,
    comparisons: &[Comparison],
    options: &LoadOptions,
    format: Format,
    start: impl AsyncFnOnce(&mut Field<'_>, &LoadOptions) -> Result<Vec<S>>,
    check: &impl AsyncFn(&S) -> Result<()>,
) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let runtime = runtime()?;
    let mut field = Field::new(Cores::choose(), folder.path());
    let samples = runtime.block_on(start(&mut field, options))?;
    let everyone_admits = || samples.iter().try_for_each(|sample| runtime.block_on(check(sample)));
    everyone_admits()?;
    let ran = contest::run(&field.contestants, field.cores, options);
    let ran = ran.map_err(|error| error.context(field.logs()))?;
    // A refusal may be answered like an admission. Meters only grow: who is admitted at the end was admitted all along.
    everyone_admits()?;
    report::print(suite, &ran, comparisons, format)
}
