//! The description of the API is complete, and describes what is answered.

use serde_json::{Value, json};

use crate::golden;
use crate::place::Place;

#[test]
fn the_description_is_the_one_that_was_read() {
    let place = Place::new();
    let reply = place.get("/admin/v1/openapi.json");
    let document = reply.expect(200);
    golden::check_json("openapi.json", &reply.text.replace(env!("CARGO_PKG_VERSION"), "<version>"));
    assert_eq!(document.get("servers"), None);
    assert!(document["openapi"].as_str().unwrap().starts_with("3.1"));
}

/// The description as it is served.
pub(crate) fn document() -> Value {
    Place::new().get("/admin/v1/openapi.json").expect(200)
}

/// Every operation: path, method, description.
fn operations(document: &Value) -> Vec<(String, String, Value)> {
    let paths = document["paths"].as_object().unwrap();
    let of_path = |(path, item): (&String, &Value)| {
        let methods = item.as_object().unwrap().clone().into_iter();
        let path = path.clone();
        methods.map(move |(method, operation)| (path.clone(), method, operation)).collect::<Vec<_>>()
    };
    paths.iter().flat_map(of_path).collect()
}

#[test]
fn every_call_that_is_described_is_there_and_every_refusal_is_a_problem() {
    let place = Place::new();
    let document = document();
    let operations = operations(&document);
    assert_eq!(operations.len(), 49);
    // One of them never ends, and has tests of its own.
    for (path, method, operation) in operations.iter().filter(|(path, ..)| path != "/admin/v1/events") {
        let reply = place.bare(&method.to_uppercase(), &path.replace("{id}", "nobody"));
        assert!(
            operation["responses"].get(reply.status.to_string()).is_some(),
            "{method} {path}: {}",
            reply.text
        );
        assert_ne!(reply.status, 405);
        for (status, response) in operation["responses"].as_object().unwrap() {
            let problem = response["content"].get("application/problem+json").is_some();
            assert_eq!(problem, status.as_str() >= "400", "{method} {path} {status}");
        }
    }
    let mut ids: Vec<_> =
        operations.iter().map(|(_, _, operation)| operation["operationId"].to_string()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), operations.len());
}

#[test]
fn every_reference_leads_somewhere_and_every_schema_is_used() {
    let document = document();
    let text = document.to_string();
    let schemas = document["components"]["schemas"].as_object().unwrap();
    let referred: Vec<&str> =
        text.split("#/components/schemas/").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
    for name in &referred {
        assert!(schemas.contains_key(*name), "{name}");
    }
    for name in schemas.keys() {
        assert!(referred.contains(&name.as_str()), "{name}");
    }
    assert_eq!(schemas["NewAccount"]["additionalProperties"], json!(false));
    assert_eq!(schemas["NewAccount"]["required"], json!(["name", "tier"]));
}
