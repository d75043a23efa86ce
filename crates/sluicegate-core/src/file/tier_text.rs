//! The body of one tier of a policy file, written apart from it.

use std::fmt::Write as _;

use super::sink::Sink;
use super::tree;
use super::yaml::{Node, Value};

/// The body of a tier of a policy file, as [`super::read_tier`] reads it. Nothing if there is no such tier, or if its
/// text means something else inside braces. A caller compares the meanings.
pub fn tier_body(file: &[u8], name: &str) -> Option<String> {
    let tree = tree(file, &mut Sink::default())?;
    let body = child(child(&tree, "tiers")?, name)?;
    let mut text = String::new();
    write_flow(body, &mut text)?;
    Some(text)
}

fn child<'n>(node: &'n Node, name: &str) -> Option<&'n Node> {
    let Value::Map(entries) = &node.value else { return None };
    entries.iter().find(|entry| &*entry.key.text == name).map(|entry| &entry.value)
}

/// Writes a node on one line. Its height is bounded where it is parsed.
fn write_flow(node: &Node, text: &mut String) -> Option<()> {
    match &node.value {
        Value::Empty | Value::Null => text.push_str("null"),
        Value::Plain(plain) if plain.contains([',', '[', ']', '{', '}', ':', '#', '\n']) => return None,
        Value::Plain(plain) => text.push_str(plain),
        Value::Quoted(quoted) => write_quoted(quoted, text),
        Value::List(items) => {
            text.push('[');
            for (place, item) in items.iter().enumerate() {
                text.push_str(if place == 0 { "" } else { ", " });
                write_flow(item, text)?;
            }
            text.push(']');
        }
        Value::Map(entries) => {
            text.push('{');
            for (place, entry) in entries.iter().enumerate() {
                text.push_str(if place == 0 { "" } else { ", " });
                write_quoted(&entry.key.text, text);
                text.push_str(": ");
                write_flow(&entry.value, text)?;
            }
            text.push('}');
        }
    }
    Some(())
}

/// As JSON has it, which is YAML too.
fn write_quoted(quoted: &str, text: &mut String) {
    let _ = write!(text, "{}", serde_json::Value::from(quoted));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::{read, read_tier};

    const FILE: &str = "
tiers:
  fifty: {rate: 100/minute, quota: 10_000, on_quota_exceeded: bill_overage}
  block:
    quota: null
    limits:
      searches: {algorithm: token_bucket, limit: 600/minute, burst: 50, routes: [search]}
routes:
  search: {match: \"GET /search\"}
";

    #[test]
    fn a_body_that_is_written_apart_means_the_same() {
        let policy = read(FILE.as_bytes()).unwrap().policy;
        for tier in &policy.tiers {
            let body = tier_body(FILE.as_bytes(), tier.name.as_str()).unwrap();
            let read = read_tier(body.as_bytes(), &tier.name, &policy.routes);
            assert_eq!(read.ok().as_ref(), Some(tier), "{body}");
        }
        assert_eq!(tier_body(FILE.as_bytes(), "other"), None);
        assert_eq!(tier_body(b"tiers: [", "fifty"), None);
    }
}
