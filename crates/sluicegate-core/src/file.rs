//! The policy file: from bytes to a policy as it was meant, or every problem at once.
//!
//! bytes → text (`text`) → located tree (`yaml`) → what was typed (`typed`) → what is meant ([`crate::policy`], by
//! `mean`). No step stops at the first problem unless there is nothing left to look at.

use crate::policy::{Document, Routes, Tier, TierName};

mod mean;
pub mod problem;
mod schema;
mod sink;
mod suggest;
mod text;
mod tier_text;
mod typed;
mod yaml;

pub use problem::{Excerpt, Place, Problem, render, render_warnings};
pub use schema::schema;
pub use sink::PROBLEMS_MAX;
pub use suggest::closest;
pub use tier_text::tier_body;

use sink::Sink;
use typed::{DocumentBody, TierBody, Typed as _};

/// The largest policy file, in bytes. A larger one is refused without being looked at.
pub const FILE_BYTES_MAX: usize = 1 << 20;

/// Reads a policy file. Problems come in the order of the file, none twice, at most [`PROBLEMS_MAX`].
pub fn read(bytes: &[u8]) -> Result<Document, Vec<Problem>> {
    read_with_warnings(bytes).map(|(document, _)| document)
}

/// As [`read`], with what is probably a mistake in a file that is valid: at most as many warnings, in the same order.
pub fn read_with_warnings(bytes: &[u8]) -> Result<(Document, Vec<Problem>), Vec<Problem>> {
    let mut sink = Sink::default();
    let document = tree(bytes, &mut sink)
        .and_then(|tree| DocumentBody::decode(&tree, "the file", &mut sink))
        .and_then(|typed| mean::document(&typed, &mut sink));
    let warnings = sink.take_warnings();
    finish(document, sink).map(|document| (document, warnings))
}

/// Reads the body of one tier, as it stands in a policy file, whose limits may name these routes.
pub fn read_tier(bytes: &[u8], name: &TierName, routes: &Routes) -> Result<Tier, Vec<Problem>> {
    let mut sink = Sink::default();
    let names: Vec<&str> = routes.iter().map(|(_, route)| route.name.as_str()).collect();
    let tier = tree(bytes, &mut sink)
        .and_then(|tree| TierBody::decode(&tree, "the tier", &mut sink))
        .and_then(|typed| mean::tier(&typed, name, Place::START, Some(&names), &mut sink));
    finish(tier, sink)
}

/// The seconds of a duration as files have it, such as `30s`, `24h` or `1h30m`; zero is one. Nothing if it is none.
pub fn duration_secs(text: &str) -> Option<u64> {
    typed::parse_span(text)
}

fn tree(bytes: &[u8], sink: &mut Sink) -> Option<yaml::Node> {
    let text = text::read(bytes, sink)?;
    let tree = yaml::parse(text, sink)?;
    if let yaml::Value::Empty | yaml::Value::Null = tree.value {
        let help = "write at least one tier: `tiers: {free: {rate: 10}}`";
        sink.report(Place::START, "the file is empty", help);
        return None;
    }
    Some(tree)
}

/// What was meant, if nothing at all was wrong.
fn finish<T>(meant: Option<T>, mut sink: Sink) -> Result<T, Vec<Problem>> {
    match meant {
        Some(meant) if sink.is_empty() => Ok(meant),
        Some(_) => Err(sink.into_problems()),
        None => {
            if sink.is_empty() {
                // Whoever gives nothing back has said why; this keeps the promise even if one forgot to.
                sink.report(Place::START, "the file could not be read", "report this as a bug");
            }
            Err(sink.into_problems())
        }
    }
}
