//! The located tree: what the YAML says, and where each piece of it stands.

use std::rc::Rc;

use crate::file::problem::Place;

/// A value with its place.
///
/// Children are shared, not copied, so that an alias costs nothing however large its target is. `nodes` and `height`
/// are what it would cost if it were written out.
#[derive(Clone, Debug)]
pub(in crate::file) struct Node {
    pub(in crate::file) place: Place,
    pub(in crate::file) value: Value,
    pub(super) nodes: usize,
    pub(super) height: usize,
}

/// What a node holds.
#[derive(Clone, Debug)]
pub(in crate::file) enum Value {
    /// Nothing was written.
    Empty,
    /// `null` or `~`.
    Null,
    /// Text without quotes: a word, a number, `true` or `false`.
    Plain(Rc<str>),
    /// Text in quotes or in a block.
    Quoted(Rc<str>),
    /// A list.
    List(Rc<[Node]>),
    /// A mapping. No two keys are equal.
    Map(Rc<[Entry]>),
}

/// A key with its value.
#[derive(Clone, Debug)]
pub(in crate::file) struct Entry {
    pub(in crate::file) key: Key,
    pub(in crate::file) value: Node,
}

/// The key of a mapping.
#[derive(Clone, Debug)]
pub(in crate::file) struct Key {
    pub(in crate::file) place: Place,
    pub(in crate::file) text: Rc<str>,
}

impl Node {
    /// A node without children.
    pub(super) fn leaf(place: Place, value: Value) -> Self {
        Self { place, value, nodes: 1, height: 1 }
    }

    /// A node above these children.
    pub(super) fn above<'c>(place: Place, value: Value, children: impl Iterator<Item = &'c Self>) -> Self {
        let (nodes, height) =
            children.fold((1, 0), |(nodes, height), child| (nodes + child.nodes, height.max(child.height)));
        Self { place, value, nodes, height: height + 1 }
    }

    /// A plain text that stands where this node stands: a part of its own text.
    pub(in crate::file) fn with_text(&self, text: &str) -> Self {
        Self::leaf(self.place, Value::Plain(text.into()))
    }

    /// The text of a scalar that is not null.
    pub(in crate::file) fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Plain(text) | Value::Quoted(text) => Some(text),
            Value::Empty | Value::Null | Value::List(_) | Value::Map(_) => None,
        }
    }

    /// What it is, as a sentence about a wrong type says it.
    pub(in crate::file) fn describe(&self) -> String {
        match &self.value {
            Value::Empty => "nothing".to_owned(),
            Value::Null => "null".to_owned(),
            Value::Plain(text) | Value::Quoted(text) => shown(text),
            Value::List(_) => "a list".to_owned(),
            Value::Map(_) => "a mapping".to_owned(),
        }
    }
}

/// The most characters of a value that a message repeats.
const SHOWN_MAX: usize = 40;

/// A text from the file as a message repeats it: in backquotes, short, and without anything a terminal would obey.
pub(in crate::file) fn shown(text: &str) -> String {
    let mut short: String = text.chars().take(SHOWN_MAX).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    let safe: String = short
        .chars()
        .flat_map(|c| {
            let escaped = c.is_control().then(|| c.escape_default());
            let plain = escaped.is_none().then_some(c);
            escaped.into_iter().flatten().chain(plain)
        })
        .collect();
    format!("`{safe}`")
}

/// Whether YAML reads this plain text as something else than text: a number or a truth value.
pub(in crate::file) fn is_number_or_bool(plain: &str) -> bool {
    let word =
        matches!(plain, "true" | "True" | "TRUE" | "false" | "False" | "FALSE" | ".nan" | ".NaN" | ".NAN");
    let unsigned = plain.strip_prefix(['+', '-']).unwrap_or(plain);
    let infinite = matches!(unsigned, ".inf" | ".Inf" | ".INF");
    let based = ["0x", "0o"].iter().any(|prefix| unsigned.strip_prefix(prefix).is_some_and(is_hexadecimal));
    let starts = unsigned.trim_start_matches('.').starts_with(|c: char| c.is_ascii_digit());
    let decimal = starts
        && unsigned
            .bytes()
            .all(|c| c.is_ascii_digit() || matches!(c, b'.' | b'_' | b'e' | b'E' | b'+' | b'-'))
        && unsigned.replace('_', "").parse::<f64>().is_ok();
    word || infinite || based || decimal
}

fn is_hexadecimal(digits: &str) -> bool {
    !digits.is_empty() && digits.bytes().all(|c| c.is_ascii_hexdigit())
}
