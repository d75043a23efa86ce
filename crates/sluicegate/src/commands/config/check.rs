//! `sluicegate config check FILE`: whether a policy file is valid, and everything that is wrong with it.

use sluicegate_core::file::render_warnings;
use sluicegate_core::policy::Document;

use super::problems::{self, Report};
use crate::cli::ConfigFile;
use crate::exit::Exit;
use crate::output::{self, Format};
use crate::source::Source;

pub(super) fn run(args: &ConfigFile) -> anyhow::Result<Exit> {
    let source = Source::open(&args.file)?;
    let (document, warnings) = match source.document_with_warnings() {
        Ok(read) => read,
        Err(problems) => return problems::report(&source, &problems, args.format()),
    };
    match args.format() {
        Format::Json => output::print_json(&Report::valid(&warnings))?,
        Format::Text => {
            if !warnings.is_empty() {
                output::complain(&render_warnings(&warnings, source.name(), &source.text()));
            }
            output::print(&format!("{} is valid: {}\n", source.name(), summary(&document)))?;
        }
    }
    Ok(Exit::Done)
}

/// What the file holds: `3 tiers, 2 routes, 7 limits`.
fn summary(document: &Document) -> String {
    let tiers = &document.policy.tiers;
    let limits = tiers.iter().map(|tier| tier.limits.len()).sum();
    let routes = document.policy.routes.iter().count();
    format!(
        "{}, {}, {}",
        counted(tiers.iter().len(), "tier"),
        counted(routes, "route"),
        counted(limits, "limit")
    )
}

fn counted(count: usize, noun: &str) -> String {
    let ending = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{ending}")
}
