//! JSON objects, read member by member: each complaint names the member.

use serde_json::{Map, Value};
use sluicegate_core::file::closest;

use super::super::problem::{Error, Problem, sentence};

/// An object whose members are all known.
pub(crate) struct Object(Map<String, Value>);

impl Object {
    /// The object that this value is, if it has no members but these.
    pub(crate) fn of(value: Value, known: &[&str]) -> Result<Self, Problem> {
        let Value::Object(members) = value else {
            let detail = format!("The body is {}, not an object.", kind(&value));
            return Err(Problem::new(Error::InvalidField, detail));
        };
        match members.keys().find(|name| !known.contains(&name.as_str())) {
            None => Ok(Self(members)),
            Some(unknown) => {
                let help = match closest(unknown, known.iter().copied()) {
                    Some(meant) => format!("did you mean \"{meant}\"?"),
                    None => format!("known are {}.", listed(known)),
                };
                let shown: String = unknown.chars().take(SHOWN_MAX).collect();
                let detail = format!("\"{shown}\" is not known here; {help}");
                Err(Problem::new(Error::InvalidField, detail).field(shown))
            }
        }
    }

    /// A text that has to be there.
    pub(crate) fn text(&mut self, field: &str) -> Result<String, Problem> {
        self.optional_text(field)?.ok_or_else(|| wrong(field, "is missing"))
    }

    /// A text that may be absent.
    pub(crate) fn optional_text(&mut self, field: &str) -> Result<Option<String>, Problem> {
        match self.take(field) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(unlike(field, &other, "a text")),
        }
    }

    /// A whole number that may be absent.
    pub(crate) fn optional_whole(&mut self, field: &str) -> Result<Option<u64>, Problem> {
        let Some(value) = self.take(field) else { return Ok(None) };
        value.as_u64().map(Some).ok_or_else(|| unlike(field, &value, "a whole number"))
    }

    /// A list of texts that may be absent.
    pub(crate) fn optional_texts(&mut self, field: &str) -> Result<Option<Vec<String>>, Problem> {
        let list = match self.take(field) {
            None => return Ok(None),
            Some(Value::Array(list)) => list,
            Some(other) => return Err(unlike(field, &other, "a list of texts")),
        };
        let texts = list.into_iter().enumerate().map(|(at, value)| match value {
            Value::String(text) => Ok(text),
            other => Err(unlike(&format!("{field}[{at}]"), &other, "a text")),
        });
        texts.collect::<Result<_, _>>().map(Some)
    }

    /// An object that may be absent.
    pub(crate) fn optional_object(&mut self, field: &str) -> Result<Option<Map<String, Value>>, Problem> {
        match self.take(field) {
            None => Ok(None),
            Some(Value::Object(members)) => Ok(Some(members)),
            Some(other) => Err(unlike(field, &other, "an object")),
        }
    }

    /// The member, unless it is absent or null, which is the same.
    fn take(&mut self, field: &str) -> Option<Value> {
        self.0.remove(field).filter(|value| !value.is_null())
    }
}

/// The most characters of a wrong name that are repeated.
const SHOWN_MAX: usize = 80;

/// A problem with one field, as the end of a sentence that starts with it.
pub(crate) fn wrong(field: &str, problem: &str) -> Problem {
    Problem::new(Error::InvalidField, sentence(field, problem)).field(field)
}

fn unlike(field: &str, value: &Value, wanted: &str) -> Problem {
    wrong(field, &format!("is {}, not {wanted}", kind(value)))
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

fn listed(names: &[&str]) -> String {
    names.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ")
}
