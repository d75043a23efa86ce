//! From text to a located tree, built from the parser's events.
//!
//! The only module that knows the YAML library. Anchors and aliases work; tags, merge keys, keys that are not text and
//! several documents do not, and say so. Depth and the number of nodes, aliases expanded, are bounded.

use saphyr_parser::Parser;

use super::problem::lines;
use super::sink::Sink;

mod builder;
mod complaint;
mod keys;
mod node;

pub(super) use node::{Entry, Node, Value, is_number_or_bool, shown};

/// The most nodes a file may have when all aliases are written out: enough for a thousand routes and tiers.
pub(super) const NODES_MAX: usize = 20_000;

/// The most levels of nesting. A policy has six.
pub(super) const DEPTH_MAX: usize = 32;

/// The longest single text, in bytes. Whatever is made from a text is made at most once for each node.
pub(super) const TEXT_BYTES_MAX: usize = 4_096;

/// The tree, or nothing if the text is no YAML that could be read further. Nothing at all is a node that says so.
pub(super) fn parse(text: &str, sink: &mut Sink) -> Option<Node> {
    let mut builder = builder::Builder::new(lines(text).collect(), sink);
    for event in Parser::new_from_str(text) {
        match event {
            Ok((event, span)) => builder.accept(event, span)?,
            Err(error) => {
                builder.complain(&error);
                return None;
            }
        }
    }
    Some(builder.finish())
}
