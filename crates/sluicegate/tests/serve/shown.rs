//! Answers as text for golden files: whole, but for what is another each time.

use std::fmt::Write as _;

use serde_json::Value;
use sluicegate_testkit::http::Answer;

use crate::faces::Face;

/// What all faces answered, under their titles.
pub(crate) fn all(answers: impl IntoIterator<Item = (Face, String)>) -> String {
    let parts = answers.into_iter().map(|(face, shown)| format!("== {}\n{shown}", face.title()));
    format!("{}\n", parts.collect::<Vec<_>>().join("\n\n"))
}

/// The answer as text, without an end of its last line. `account` is what this run calls the account.
pub(crate) fn shown(answer: &Answer, account: &str) -> String {
    let mut text = format!("{}\n", answer.status_line);
    for (name, value) in &answer.headers {
        // One that is empty ends with its colon.
        let _ = writeln!(text, "{}", format!("{name}: {}", header(name, value)).trim_end());
    }
    let body = match serde_json::from_slice::<Value>(&answer.body) {
        Ok(mut body) => {
            settle("", &mut body);
            serde_json::to_string_pretty(&body).unwrap()
        }
        Err(_) => answer.text(),
    };
    if !body.is_empty() {
        let _ = write!(text, "\n{body}\n");
    }
    text.pop();
    if account.is_empty() { text } else { text.replace(account, "<account>") }
}

/// The value of a header without what is another each time.
fn header(name: &str, value: &str) -> String {
    match name.to_ascii_lowercase().as_str() {
        "date" => "<date>".to_owned(),
        "content-length" if value != "0" => "<length>".to_owned(),
        "retry-after" | "ratelimit-reset" => positive(value, "<seconds>"),
        "x-ratelimit-reset" | "x-quota-reset" => positive(value, "<unix time>"),
        "ratelimit" => without_times(value),
        "x-sluicegate-decision" if is_decision(value) => "<decision>".to_owned(),
        // The same document as the body.
        "x-sluicegate-problem" => match serde_json::from_str::<Value>(value) {
            Ok(mut document) => {
                settle("", &mut document);
                document.to_string()
            }
            Err(_) => value.to_owned(),
        },
        "host" | "x-forwarded-host" => without_port(value),
        _ => value.to_owned(),
    }
}

/// Replaces what is another each time, wherever it stands.
fn settle(name: &str, value: &mut Value) {
    match value {
        Value::Object(members) => members.iter_mut().for_each(|(name, value)| settle(name, value)),
        Value::Array(items) => items.iter_mut().for_each(|item| settle("", item)),
        Value::Number(number) => {
            if ["retry_after_ms", "reset_ms"].contains(&name) && number.as_u64().is_some_and(|ms| ms > 0) {
                *value = "<ms>".into();
            }
        }
        Value::String(text) => match name {
            "decision_id" if is_decision(text) => *value = "<decision>".into(),
            "permit" => *value = "<permit>".into(),
            _ => *value = header(name, text).into(),
        },
        Value::Null | Value::Bool(_) => {}
    }
}

fn is_decision(text: &str) -> bool {
    text.len() == 30 && text.starts_with("dec_")
}

fn positive(value: &str, shown: &str) -> String {
    let positive = value.parse().is_ok_and(|number: u64| number > 0);
    if positive { shown.to_owned() } else { value.to_owned() }
}

/// `"rate";r=9;t=59` says when; everything else of it stays.
fn without_times(value: &str) -> String {
    let parts = value.split(";t=").enumerate().map(|(index, part)| {
        let digits = part.len() - part.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        if index == 0 || digits == 0 { part.to_owned() } else { format!(";t=<seconds>{}", &part[digits..]) }
    });
    parts.collect()
}

fn without_port(value: &str) -> String {
    value.rsplit_once(':').map_or_else(|| value.to_owned(), |(host, _)| format!("{host}:<port>"))
}
