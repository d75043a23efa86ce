//! What the README shows of responses is what the server sends, apart from what differs each time.

use serde_json::{Map, Value, json};
use sluicegate_testkit::http::{Asked, Caller};

use crate::start::{bare, wait_for_keys};

const README: &str = include_str!("../../../../README.md");

/// The block of the README in this language that has this in it.
fn block(language: &str, with: &str) -> &'static str {
    let mut blocks =
        README.split("\n```").filter_map(|block| block.strip_prefix(language)?.strip_prefix('\n'));
    blocks.find(|block| block.contains(with)).unwrap()
}

/// A problem document without what differs each time.
fn stable(document: &Value) -> Map<String, Value> {
    let mut stable = document.as_object().unwrap().clone();
    stable["retry_after_ms"] = json!("…");
    stable["decision_id"] = json!("…");
    stable
}

#[test]
fn responses_in_the_readme_are_what_the_server_sends() {
    let folder = tempfile::tempdir().unwrap();
    let server = bare(folder.path()).start();
    let key = wait_for_keys(&server).swap_remove(0).1;
    let mut caller = Caller::new(server.gateway());
    let mut send = || caller.send(&Asked::get("/hello").key(&key)).unwrap();

    let first = send();
    let shown = block("console", "curl -i");
    let headers: Vec<_> = shown.lines().filter_map(|line| line.split_once(": ")).collect();
    assert!(headers.len() >= 3, "{shown}");
    for (name, value) in headers.into_iter().filter(|(name, _)| !name.starts_with('$')) {
        assert_eq!(steady(first.header(name).unwrap()), steady(value), "{name}");
    }

    let shown: Value = serde_json::from_str(block("json", "rate_limited")).unwrap();
    let refused = (0..200).map(|_| send()).find(|answer| answer.status == 429).unwrap();
    let (shown, sent) = (stable(&shown), stable(&refused.json()));
    assert_eq!(shown, sent);
    assert!(shown.keys().eq(sent.keys()), "the members are in another order");
}

/// Without the seconds until a reset.
fn steady(value: &str) -> String {
    value.split(", ").map(|item| item.split(";t=").next().unwrap_or(item)).collect::<Vec<_>>().join(", ")
}
