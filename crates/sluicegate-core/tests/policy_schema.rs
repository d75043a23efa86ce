//! The JSON Schema for editors knows exactly the keys that the reader knows.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use serde_json::{Map, Value};
use sluicegate_core::file::{read, schema};

/// Every mapping in the schema: the keys that lead to it, and its own properties.
fn mappings<'s>(
    schema: &'s Value,
    path: &mut Vec<String>,
    all: &mut Vec<(Vec<String>, &'s Map<String, Value>)>,
) {
    if let Some(properties) = schema["properties"].as_object() {
        all.push((path.clone(), properties));
        for (key, inner) in properties {
            path.push(key.clone());
            mappings(inner, path, all);
            path.pop();
        }
    } else if schema["additionalProperties"].is_object() {
        path.push("some-name".to_owned());
        mappings(&schema["additionalProperties"], path, all);
        path.pop();
    }
}

/// The unknown keys in a file that has nothing but this key at the end of this path.
fn unknown_keys(path: &[String], key: &str) -> usize {
    let mut text = format!("{{{key}: x}}");
    for outer in path.iter().rev() {
        text = format!("{{{outer}: {text}}}");
    }
    let problems = read(text.as_bytes()).unwrap_err();
    problems.iter().filter(|problem| problem.message.starts_with("unknown key")).count()
}

#[test]
fn the_schema_and_the_reader_know_the_same_keys() {
    let schema = schema();
    let mut all = Vec::new();
    mappings(&schema, &mut Vec::new(), &mut all);
    assert!(all.len() >= 17, "{}", all.len());
    for (path, properties) in all {
        assert_eq!(unknown_keys(&path, "no_such_key"), 1, "{path:?}");
        for key in properties.keys() {
            assert_eq!(unknown_keys(&path, key), 0, "{path:?} {key}");
        }
    }
}

#[test]
fn every_key_is_described() {
    let schema = schema();
    let mut all = Vec::new();
    mappings(&schema, &mut Vec::new(), &mut all);
    for (path, properties) in all {
        for (key, inner) in properties {
            let description = inner["description"].as_str().unwrap_or_default();
            assert!(description.ends_with('.') && description.len() > 10, "{path:?} {key}: {description}");
        }
    }
}

#[test]
fn only_what_cannot_be_left_out_is_required() {
    let schema = schema();
    assert_eq!(schema["required"], serde_json::json!(["tiers"]));
    let limit = &schema["properties"]["tiers"]["additionalProperties"]["properties"]["limits"]["additionalProperties"];
    assert_eq!(limit["required"], serde_json::json!(["algorithm", "limit"]));
    assert_eq!(
        schema["properties"]["routes"]["additionalProperties"]["required"],
        serde_json::json!(["match"])
    );
}
