//! Strict JSON: every field is known, stands once, and is what it should be. What is wrong is named by its place.
//!
//! Texts are borrowed from the body. Nothing is built in between: what is wrong leaves by a side door, because the
//! errors of the parser carry a text and a position, and no field.

mod leaf;
mod object;
mod place;

use serde::de::DeserializeSeed as _;

use leaf::Leaf;
use object::ObjectSeed;
pub(super) use object::{Object, Seen, Value};
pub(super) use place::Place;

/// What is wrong with a body.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Wrong {
    /// With which field, if it is one's fault.
    pub(super) field: Option<String>,
    /// What is wrong, and what is expected.
    pub(super) detail: String,
}

/// Reads a body that is one object.
pub(super) fn read<'b, O: Object<'b>>(body: &'b [u8]) -> Result<O, Wrong> {
    let mut wrong = None;
    let mut parser = serde_json::Deserializer::from_slice(body);
    let seed = ObjectSeed::<O>::new(Place::Body, &mut wrong);
    match seed.deserialize(&mut parser).and_then(|object| parser.end().map(|()| object)) {
        Ok(Some(object)) => Ok(object),
        Ok(None) => {
            Err(Wrong { field: None, detail: "The body must be a JSON object; this is null.".to_owned() })
        }
        Err(error) => Err(wrong.unwrap_or_else(|| not_json(body, &error))),
    }
}

#[cold]
fn not_json(body: &[u8], error: &serde_json::Error) -> Wrong {
    let detail = if body.is_empty() {
        "The body is empty; a JSON object is expected.".to_owned()
    } else {
        format!("The body is not JSON: {error}.")
    };
    Wrong { field: None, detail }
}
