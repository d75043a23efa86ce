//! The page, from the schema: a heading for each mapping, a row for each key.

use std::fmt::Write as _;

use serde_json::Value;

use crate::{examples, forms};

const HEAD: &str = "\
# Configuration reference

Every key of a policy file: what may stand there, what holds without it, and what it means. Only `tiers` is required.
A test makes this page from the tables that the reader itself uses, so it is never behind. `sluicegate config schema`
gives the same to editors, `sluicegate config check FILE` says what is wrong with a file and where, and
[examples/full.yaml](../examples/full.yaml) has all of it in one file.

";

/// The whole page.
pub(crate) fn page(schema: &Value, full: &str) -> String {
    let mut page = format!("{HEAD}{}", forms::EXPLAINED);
    for (section, inner) in schema["properties"].as_object().unwrap() {
        write!(page, "\n## {section}\n\n{}\n", meaning(inner)).unwrap();
        if !has_keys(inner) {
            let fallback = fallback(inner, false);
            writeln!(page, "\nForm: {}. Default: {fallback}.", forms::name(inner)).unwrap();
        }
        mapping(&mut page, section, inner);
        if section == "descriptors" {
            mapping(&mut page, "descriptors.<domain>[]", &schema["$defs"]["descriptor"]);
        }
        let mut example = examples::of(full, section).unwrap_or_default();
        if section == "tiers" {
            // Limits of tiers name routes: a reader who copies the one needs the other.
            write!(example, "\n\n{}", examples::of(full, "routes").unwrap_or_default()).unwrap();
        }
        write!(page, "\n```yaml\n{example}\n```\n").unwrap();
    }
    page
}

/// The table of a mapping, and those of the mappings within it.
fn mapping(page: &mut String, path: &str, schema: &Value) {
    if let Some(of_names) = schema["additionalProperties"].as_object() {
        return mapping(page, &format!("{path}.<name>"), &Value::Object(of_names.clone()));
    }
    // A section that may be switched off by a word.
    if let Some(section) = section_of(schema) {
        return mapping(page, path, section);
    }
    let Some(keys) = schema["properties"].as_object() else { return };
    if path.contains(['.', '[']) {
        write!(page, "\n### `{path}`\n\n{}\n", meaning(schema)).unwrap();
    }
    page.push_str("\n| key | form | default | meaning |\n|---|---|---|---|\n");
    for (key, inner) in keys {
        let required =
            schema["required"].as_array().is_some_and(|required| required.iter().any(|it| it == key));
        let (form, fallback, meaning) = (forms::name(inner), fallback(inner, required), meaning(inner));
        writeln!(page, "| `{key}` | {form} | {fallback} | {meaning} |").unwrap();
    }
    for (key, inner) in keys {
        mapping(page, &format!("{path}.{key}"), inner);
    }
}

fn has_keys(schema: &Value) -> bool {
    schema["properties"].is_object() || schema["additionalProperties"].is_object()
}

/// The section among the forms of a value, if there are several.
fn section_of(schema: &Value) -> Option<&Value> {
    schema["anyOf"].as_array()?.iter().find(|form| form["properties"].is_object())
}

/// What is said of a key, without its default.
fn meaning(schema: &Value) -> String {
    let said = schema["description"].as_str().unwrap_or_default();
    said.split(" Default: ").next().unwrap_or_default().replace('|', "\\|")
}

/// What holds without a key.
fn fallback(schema: &Value, required: bool) -> String {
    if required {
        return "required".to_owned();
    }
    let said = schema["description"].as_str().unwrap_or_default();
    match said.split_once(" Default: ") {
        None => String::new(),
        Some((_, value)) => as_typed(value.strip_suffix('.').unwrap_or(value)),
    }
}

/// Words for what cannot be typed.
const REMARKS: [&str; 4] = ["never", "none", "nowhere", "uncapped"];

/// A value is shown as it is typed; a remark stays one.
fn as_typed(value: &str) -> String {
    let is_remark = value.contains('`') || REMARKS.contains(&value);
    let is_value = !is_remark && (!value.contains(' ') || value.starts_with('['));
    if is_value { format!("`{value}`") } else { value.to_owned() }
}
