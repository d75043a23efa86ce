//! The reference of the admin API: a page that is made from its description.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::Value;

use crate::golden;
use crate::openapi::document;

const HEAD: &str = "# The admin API, call by call

Made from the OpenAPI document, which a server gives at `GET /admin/v1/openapi.json`. How the calls are used together
is on [the page about the admin API](admin-api.md); decisions have [a page of their own](decision-api.md).

Every call wants `Authorization: Bearer <token>`, except those that say otherwise: the owner's token, or a named one
with a large enough [role](tokens.md). Every call may be answered with 400, 401, 403, 429, 500 or 503 and a
[problem](#problem); what else it may be answered with is listed.
";

/// Answers that every call may have, and that are told once.
const EVERYWHERE: [&str; 6] = ["400", "401", "403", "429", "500", "503"];

/// The methods of a path, in the order of the specification.
const METHODS: [&str; 5] = ["get", "put", "post", "patch", "delete"];

#[test]
fn the_reference_is_what_the_description_says() {
    let document = document();
    let mut page = HEAD.to_owned();
    for tag in document["tags"].as_array().unwrap() {
        let name = tag["name"].as_str().unwrap();
        let _ = write!(page, "\n## {}\n", heading(name));
        if let Some(about) = tag["description"].as_str() {
            let _ = write!(page, "\n{about}\n");
        }
        for (path, item) in object(&document["paths"]) {
            for method in METHODS.iter().filter(|method| item[**method]["tags"][0] == name) {
                write_call(&mut page, path, method, &item[*method]);
            }
        }
    }
    page.push_str("\n## What is sent and answered\n");
    for (name, schema) in object(&document["components"]["schemas"]) {
        write_schema(&mut page, name, schema);
    }
    golden::check("../../../../../docs/admin-reference.md", &page);
}

#[test]
fn every_call_is_in_the_reference_once() {
    let page = include_str!("../../../../docs/admin-reference.md");
    let document = document();
    for (path, item) in object(&document["paths"]) {
        for (method, _) in object(item) {
            assert!(METHODS.contains(&method), "{method}");
            let call = format!("### `{} {path}`", method.to_uppercase());
            assert_eq!(page.matches(&call).count(), 1, "{call}");
        }
    }
}

/// The members of an object by name, whatever order they were parsed in.
fn object(value: &Value) -> BTreeMap<&str, &Value> {
    value.as_object().unwrap().iter().map(|(name, member)| (name.as_str(), member)).collect()
}

fn heading(tag: &str) -> String {
    let mut letters = tag.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

fn write_call(page: &mut String, path: &str, method: &str, call: &Value) {
    let _ = write!(page, "\n### `{} {path}`\n\n", method.to_uppercase());
    let _ = writeln!(page, "{}.", call["summary"].as_str().unwrap().trim_end_matches('.'));
    if call["security"].as_array().is_some_and(Vec::is_empty) {
        page.push_str("No token is wanted.\n");
    }
    if let Some(about) = call["description"].as_str() {
        let _ = write!(page, "\n{about}\n");
    }
    let parameters = call["parameters"].as_array().into_iter().flatten();
    let own: Vec<_> = parameters.filter(|it| it["in"] != "header").collect();
    if !own.is_empty() {
        page.push_str("\n| parameter | in | |\n|---|---|---|\n");
        for it in own {
            let (name, place) = (it["name"].as_str().unwrap(), it["in"].as_str().unwrap());
            let about = it["description"].as_str().unwrap_or_default();
            let _ = writeln!(page, "| `{name}` | {place} | {} |", with_type(about, &it["schema"]));
        }
    }
    if call["requestBody"]["content"].is_object() {
        let content = object(&call["requestBody"]["content"]);
        let bodies: Vec<String> =
            content.iter().map(|(kind, body)| body_text(kind, &body["schema"])).collect();
        let _ = write!(page, "\nBody: {}.\n", bodies.join(", or "));
    }
    page.push_str("\n| answer | |\n|---|---|\n");
    for (status, answer) in object(&call["responses"]) {
        if EVERYWHERE.contains(&status) && call["responses"].as_object().is_some_and(|all| all.len() > 5) {
            continue;
        }
        let about = answer["description"].as_str().unwrap_or_default();
        let content = answer.get("content").map(object).unwrap_or_default();
        let bodies: Vec<String> =
            content.iter().map(|(kind, body)| body_text(kind, &body["schema"])).collect();
        let bodies = if bodies.is_empty() { String::new() } else { format!(": {}", bodies.join(", or ")) };
        let _ = writeln!(page, "| {status} | {}{bodies} |", cell(about));
    }
}

/// What a body is: its schema by name, or the kind of its content.
fn body_text(kind: &str, schema: &Value) -> String {
    let text = type_of(schema);
    match kind {
        "application/json" | "application/problem+json" => text,
        _ => format!("`{kind}`"),
    }
}

fn write_schema(page: &mut String, name: &str, schema: &Value) {
    let _ = write!(page, "\n### {name}\n\n");
    if let Some(about) = schema["description"].as_str() {
        let _ = writeln!(page, "{}", about.split_whitespace().collect::<Vec<_>>().join(" "));
    }
    let Some(properties) = schema.get("properties").map(object) else {
        let _ = writeln!(page, "\n{}", type_of(schema));
        return;
    };
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    page.push_str("\n| member | |\n|---|---|\n");
    for (member, inner) in properties {
        let may_miss = if required.contains(&member) { "" } else { " (optional)" };
        let about = inner["description"].as_str().unwrap_or_default();
        let _ = writeln!(page, "| `{member}`{may_miss} | {} |", with_type(about, inner));
    }
}

/// The type in front of what is said about it.
fn with_type(about: &str, schema: &Value) -> String {
    let default = match &schema["default"] {
        Value::Null => String::new(),
        value => format!(" Default: `{value}`."),
    };
    let text = format!("{}. {}{default}", type_of(schema), cell(about));
    text.replace("..", ".").trim_end().to_owned()
}

fn type_of(schema: &Value) -> String {
    if let Some(name) = schema["$ref"].as_str().and_then(|link| link.rsplit('/').next()) {
        return format!("[{name}](#{})", name.to_lowercase());
    }
    if let Some(words) = schema["enum"].as_array() {
        let word = |word: &Value| word.as_str().map_or_else(|| word.to_string(), str::to_owned);
        let words: Vec<String> = words.iter().map(|it| format!("`{}`", word(it))).collect();
        return words.join(", ");
    }
    for choice in ["oneOf", "anyOf"] {
        if let Some(all) = schema[choice].as_array() {
            return all.iter().map(type_of).collect::<Vec<_>>().join(" or ");
        }
    }
    let named = |kind: &str| match kind {
        "array" => format!("list of {}", type_of(&schema["items"])),
        "string" if schema["format"] == "date-time" => "time".to_owned(),
        kind => kind.to_owned(),
    };
    match &schema["type"] {
        Value::String(kind) => named(kind),
        Value::Array(kinds) => {
            kinds.iter().filter_map(Value::as_str).map(named).collect::<Vec<_>>().join(" or ")
        }
        _ => "any".to_owned(),
    }
}

/// A text in one line of a table.
fn cell(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}
