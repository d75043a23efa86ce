//! The JSON Schema of the policy file, for editors.

use serde_json::{Value, json};

use super::typed::{DescriptorBody, DescriptorList, DocumentBody, Typed as _};

/// A JSON Schema that knows every key, every word and every form of number, with descriptions. It is looser than
/// [`super::read`] where values must fit together.
pub fn schema() -> Value {
    let mut schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Sluicegate policy file",
    });
    if let (Some(top), Value::Object(document)) = (schema.as_object_mut(), DocumentBody::schema()) {
        top.extend(document);
        top.insert("$defs".to_owned(), json!({DescriptorList::DEFINITION: DescriptorBody::schema()}));
    }
    schema
}
