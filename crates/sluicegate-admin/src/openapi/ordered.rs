//! The order of members in the OpenAPI document: that of the specification, as people read it.
//!
//! A `serde_json::Value` keeps no order unless a feature of `serde_json` is on, which is up to the application. So the
//! order is made here, when the document is written.

use serde::ser::{Serialize, SerializeMap as _, Serializer};
use serde_json::Value;

/// Members whose names the specification gives, in the order in which they are written. Others follow by name.
const FIELDS: [&str; 53] = [
    "openapi",
    "info",
    "servers",
    "url",
    "paths",
    "components",
    "schemas",
    "securitySchemes",
    "$ref",
    "name",
    "in",
    "tags",
    "summary",
    "title",
    "type",
    "scheme",
    "identifier",
    "get",
    "put",
    "post",
    "delete",
    "oneOf",
    "anyOf",
    "allOf",
    "const",
    "items",
    "format",
    "description",
    "operationId",
    "license",
    "version",
    "parameters",
    "requestBody",
    "content",
    "required",
    "schema",
    "headers",
    "responses",
    "security",
    "enum",
    "properties",
    "additionalProperties",
    "propertyNames",
    "default",
    "example",
    "examples",
    "maximum",
    "minimum",
    "minLength",
    "maxLength",
    "pattern",
    "minItems",
    "maxItems",
];

/// Members that hold a map: its keys are names, and stand in their own order.
const MAPS: [&str; 9] = [
    "paths",
    "schemas",
    "securitySchemes",
    "responses",
    "headers",
    "content",
    "properties",
    "example",
    "examples",
];

/// A part of the document, written in order.
pub(super) struct Ordered<'v> {
    value: &'v Value,
    /// Whether the keys of this object are names, and not members of the specification.
    is_map: bool,
}

impl<'v> Ordered<'v> {
    /// The whole document.
    pub(super) const fn document(value: &'v Value) -> Self {
        Self { value, is_map: false }
    }
}

impl Serialize for Ordered<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.value {
            Value::Object(members) => {
                let rank = |name: &str| {
                    let place = FIELDS.iter().position(|field| *field == name).filter(|_| !self.is_map);
                    place.unwrap_or(FIELDS.len())
                };
                let mut members: Vec<_> = members.iter().collect();
                members.sort_by_key(|(name, _)| (rank(name), name.as_str()));
                let mut map = serializer.serialize_map(Some(members.len()))?;
                for (name, value) in members {
                    let is_map = !self.is_map && MAPS.contains(&name.as_str());
                    map.serialize_entry(name, &Self { value, is_map })?;
                }
                map.end()
            }
            Value::Array(items) => {
                serializer.collect_seq(items.iter().map(|value| Self { value, is_map: self.is_map }))
            }
            plain => plain.serialize(serializer),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn members_stand_as_in_the_specification_and_names_by_themselves() {
        let value = json!({
            "paths": {"/b": {"post": {"operationId": "x", "summary": "y"}, "get": {}}, "/a": {}},
            "openapi": "3.1.0",
            "components": {"schemas": {"B": {"properties": {"title": {"type": "string"}, "b": {}}, "type": "object"}}},
        });
        let expected = concat!(
            r#"{"openapi":"3.1.0","#,
            r#""paths":{"/a":{},"/b":{"get":{},"post":{"summary":"y","operationId":"x"}}},"#,
            r#""components":{"schemas":{"B":{"type":"object","properties":{"b":{},"title":{"type":"string"}}}}}}"#,
        );
        assert_eq!(serde_json::to_string(&Ordered::document(&value)).unwrap(), expected);
    }
}
