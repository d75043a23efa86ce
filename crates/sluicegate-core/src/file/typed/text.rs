//! Free text that is checked where its meaning is known.

use serde_json::{Value as Json, json};

use super::{Typed, unwanted};
use crate::file::sink::Sink;
use crate::file::yaml::{Node, Value, is_number_or_bool};

/// A scalar as it was typed, a number too: what it should have been is said where its meaning is known. It is
/// never repeated in a message of its own, so it may be a secret.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::file) struct Verbatim(pub(in crate::file) String);

impl Typed for Verbatim {
    fn decode(node: &Node, what: &str, sink: &mut Sink) -> Option<Self> {
        match node.text() {
            Some(text) => Some(Self(text.to_owned())),
            None => unwanted(node, what, "text", "write its value after the `:`", sink),
        }
    }

    fn schema() -> Json {
        Text::schema()
    }
}

/// A text that is not empty.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::file) struct Text(pub(in crate::file) String);

impl Typed for Text {
    fn decode(node: &Node, what: &str, sink: &mut Sink) -> Option<Self> {
        match &node.value {
            Value::Plain(text) if is_number_or_bool(text) => {
                unwanted(node, what, "text", "put it in quotes if that is what is meant", sink)
            }
            Value::Plain(text) | Value::Quoted(text) if !text.is_empty() => Some(Self(text.to_string())),
            Value::Quoted(_) => {
                sink.report(node.place, format!("{what} is empty"), "write its value, or remove the key");
                None
            }
            _ => unwanted(node, what, "text", "write its value after the `:`", sink),
        }
    }

    fn schema() -> Json {
        json!({"type": "string", "minLength": 1})
    }
}
