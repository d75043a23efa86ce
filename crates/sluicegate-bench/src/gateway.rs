//! The suite `gateway`: the same request to the same upstream, straight and through proxies.
//!
//! The proxy under test has a core to itself; the upstream shares the other with wrk. `direct` therefore says what that
//! other core can carry, and a proxy whose core is not busy was held up by it.

mod contestants;
mod others;

use anyhow::Result;

use crate::load::caller::runtime;
use crate::load::contest;
use crate::load::cores::Cores;
use crate::load::field::Field;
use crate::load::options::LoadOptions;
use crate::load::report::{self, Comparison, Target};
use crate::load::wrk;
use crate::report::Format;

const DIRECT: &str = "direct";
const OURS: &str = "sluicegate gateway";
const BARE: &str = "bare hyper proxy";
const NGINX: &str = "nginx limit_req";
const HAPROXY: &str = "haproxy stick table";

const COMPARISONS: [Comparison; 4] = [
    Comparison { ours: OURS, peer: BARE, target: Some(Target::Both(0.9)) },
    Comparison { ours: OURS, peer: NGINX, target: None },
    Comparison { ours: OURS, peer: HAPROXY, target: None },
    Comparison { ours: OURS, peer: DIRECT, target: None },
];

/// Measures and prints.
pub(crate) fn run(options: &LoadOptions, format: Format) -> Result<()> {
    wrk::ensure_installed()?;
    let folder = tempfile::tempdir()?;
    let mut field = Field::new(Cores::choose(), folder.path());
    runtime()?.block_on(contestants::start(&mut field, options))?;
    let ran = contest::run(&field.contestants, field.cores, options);
    let ran = ran.map_err(|error| error.context(field.logs()))?;
    report::print("gateway", &ran, &COMPARISONS, format)
}
