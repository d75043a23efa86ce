//! `sluicegate config explain FILE`: every tier with its limits as they are meant, in the order in which they are
//! asked.

use sluicegate_admin::tiers::ExplainedTiers;
use sluicegate_core::policy::{Routes, TierLimit};

use super::problems;
use crate::cli::ConfigFile;
use crate::exit::Exit;
use crate::output::{self, Format};
use crate::source::Source;

mod table;

pub(super) fn run(args: &ConfigFile) -> anyhow::Result<Exit> {
    let source = Source::open(&args.file)?;
    let policy = match source.document() {
        Ok(document) => document.policy,
        Err(problems) => return problems::report(&source, &problems, args.format()),
    };
    match args.format() {
        Format::Text => output::print(&table::tables(&policy))?,
        Format::Json => output::print_json(&ExplainedTiers::of(&policy))?,
    }
    Ok(Exit::Done)
}

/// The names of the routes that a limit counts; none: it counts every request.
fn route_names<'p>(entry: &TierLimit, routes: &'p Routes) -> Vec<&'p str> {
    entry.routes.iter().filter_map(|index| routes.get(*index)).map(|route| route.name.as_str()).collect()
}
