//! Forms of values: what their schemas are called by people.

use serde_json::{Value, json};

/// A form of values, by what its pattern contains.
struct Form {
    pattern: &'static str,
    name: &'static str,
}

/// The first that fits is the one.
const FORMS: [Form; 7] = [
    Form { pattern: "^sliding:", name: "`sliding:<duration>`" },
    Form { pattern: " */ *", name: "amount per time" },
    Form { pattern: "m?s$", name: "short time" },
    Form { pattern: "%$", name: "share" },
    Form { pattern: "(s|sec|second", name: "duration" },
    Form { pattern: "[.][0-9]+", name: "number" },
    Form { pattern: "^[0-9]+(_[0-9]+)*$", name: "whole number" },
];

/// What the page says about the forms that need saying.
pub(crate) const EXPLAINED: &str = "\
| form | as in |
|---|---|
| whole number | `20`, `50_000` |
| number | `2`, `1.5` |
| amount per time | `10` (per second), `100/minute`, `5/10s`, `3/day` |
| duration | `30s`, `10m`, `1h30m`, `24h`, `7d`, `2w` |
| short time | `20ms`, `1s` |
| share | `40%` |
";

/// What a value may be, in words. A form that has none yet fails the test.
pub(crate) fn name(schema: &Value) -> String {
    if let Some(words) = schema["enum"].as_array() {
        let words: Vec<String> = words.iter().map(|word| format!("`{}`", text(word))).collect();
        return words.join(", ");
    }
    if let Some(forms) = schema["anyOf"].as_array() {
        return of_several(forms);
    }
    if let Some(pattern) = schema["pattern"].as_str() {
        let form = FORMS.iter().find(|form| pattern.contains(form.pattern));
        return form.map(|form| form.name.to_owned()).expect("the form of this pattern has a name in FORMS");
    }
    match schema["type"].as_str() {
        Some("string") => "text".to_owned(),
        Some("boolean") => "`true`, `false`".to_owned(),
        Some("array") => format!("list: {}", name(&schema["items"])),
        Some("object") => "section".to_owned(),
        Some("null") => "`null`".to_owned(),
        None if schema["$ref"].is_string() => "descriptors".to_owned(),
        other => unreachable!("no name for {other:?}"),
    }
}

/// A number and its text are one form.
fn of_several(forms: &[Value]) -> String {
    let is_number = |form: &&Value| matches!(form["type"].as_str(), Some("integer" | "number"));
    let others = forms.iter().filter(|form| !is_number(form));
    others.map(name).collect::<Vec<_>>().join(", ")
}

fn text(word: &Value) -> String {
    word.as_str().map_or_else(|| word.to_string(), str::to_owned)
}

#[test]
fn forms_have_names() {
    let text = json!({"type": "string", "pattern": "^[0-9]+(_[0-9]+)*$"});
    let whole = json!({"anyOf": [{"type": "integer"}, text, {"type": "null"}]});
    assert_eq!(name(&whole), "whole number, `null`");
    assert_eq!(name(&json!({"enum": [402, 429]})), "`402`, `429`");
    assert_eq!(name(&json!({"type": "array", "items": {"type": "string"}})), "list: text");
}
