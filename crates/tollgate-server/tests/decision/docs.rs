//! The examples of the documentation, run in the order in which they stand there.

use std::path::Path;

use crate::place::Place;

/// A fenced block of JSON, with the line of text before it.
struct Example {
    before: String,
    json: String,
}

fn examples(page: &str) -> Vec<Example> {
    let mut examples = Vec::new();
    let mut before = "";
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        if line == "```json" {
            let json: Vec<_> = lines.by_ref().take_while(|line| *line != "```").collect();
            examples.push(Example { before: std::mem::take(&mut before).to_owned(), json: json.join("\n") });
        } else if !line.is_empty() {
            before = line;
        }
    }
    examples
}

#[test]
fn every_example_of_the_page_is_answered_as_it_says() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/decision-api.md");
    let page = std::fs::read_to_string(page).unwrap();
    let policy = "tiers: {pro: {rate: 100, burst: 300, quota: 5_000_000, quota_window: calendar_month}}";
    let place = Place::new(policy).caller("pro");
    let mut answered = None;
    let mut asked = 0;
    for Example { before, json } in examples(&page) {
        let json = json.replace("tg_live_…", "<pro>");
        if let Some(uri) = before.strip_prefix("`POST ").and_then(|rest| rest.split('`').next()) {
            let answer = place.ask("POST", uri, &[], &json);
            assert_eq!(answer.status, 200, "{json}\n{}", answer.body);
            answered = Some(answer.body);
            asked += 1;
        } else {
            let answer = answered.take().unwrap();
            let (told, said): (serde_json::Value, serde_json::Value) =
                (serde_json::from_str(&json).unwrap(), serde_json::from_str(&answer).unwrap());
            assert_eq!(told, said, "the page does not say what is answered:\n{answer}");
        }
    }
    assert!(asked >= 3);
}
