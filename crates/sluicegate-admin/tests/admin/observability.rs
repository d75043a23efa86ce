//! The page about seeing what happens: it names every metric, says what each means, and every line of it works.

use std::collections::BTreeMap;

use sluicegate_engine::Credential;

use crate::blocks::decide;
use crate::docs::request;
use crate::place::{POLICY, Place, wait};

const PAGE: &str = include_str!("../../../../docs/observability.md");

/// The files that write metrics.
const SOURCES: [&str; 8] = [
    include_str!("../../src/metrics/abuse.rs"),
    include_str!("../../src/metrics/alerts.rs"),
    include_str!("../../src/metrics/clock.rs"),
    include_str!("../../src/metrics/decisions.rs"),
    include_str!("../../src/metrics/ledger.rs"),
    include_str!("../../src/metrics/process.rs"),
    include_str!("../../src/metrics/shedding.rs"),
    include_str!("../../src/metrics/store.rs"),
];

/// What the page says of each metric.
fn documented() -> BTreeMap<&'static str, &'static str> {
    let rows = PAGE.lines().filter_map(|line| line.strip_prefix("| `sluicegate_"));
    rows.map(|row| {
        let (name, help) = row.split_once("` | ").unwrap();
        let start = name.len() + "sluicegate_".len();
        let place = PAGE.find(&format!("`sluicegate_{name}`")).unwrap() + 1;
        (&PAGE[place..place + start], help.trim_end_matches('|').trim_end())
    })
    .collect()
}

/// What the answer says of each metric.
fn answered(place: &Place) -> BTreeMap<String, String> {
    let text = place.get("/metrics").text;
    let helps = text.lines().filter_map(|line| line.strip_prefix("# HELP "));
    helps
        .filter_map(|line| line.split_once(' '))
        .map(|(name, help)| (name.to_owned(), help.to_owned()))
        .collect()
}

#[test]
fn the_page_says_of_every_metric_what_the_answer_says() {
    let place = Place::with(&format!("{POLICY}shedding: {{}}\n"));
    wait(place.books.check()).unwrap();
    let documented = documented();
    for (name, help) in answered(&place) {
        let row = format!("| `{name}` | {help} |");
        assert_eq!(documented.get(name.as_str()), Some(&help.as_str()), "docs/observability.md lacks: {row}");
    }
    // Some are there only where nodes share a store: all that are written anywhere are on the page, and no others.
    let written: Vec<&str> = SOURCES.iter().flat_map(|source| source.split('"')).collect();
    let written = written.into_iter().filter(|text| text.starts_with("sluicegate_"));
    let written: BTreeMap<&str, ()> = written.map(|name| (name, ())).collect();
    assert_eq!(written.keys().collect::<Vec<_>>(), documented.keys().collect::<Vec<_>>());
}

#[test]
fn every_line_of_the_page_works() {
    let place = Place::new();
    let refused = decide(&place, Credential::Key("junk")).id.to_string();
    let page = PAGE.replace("\\\n", "");
    let lines: Vec<&str> = page.lines().filter(|line| line.starts_with("curl ")).collect();
    assert!(lines.len() >= 6, "{lines:?}");
    for line in lines {
        let reply = place.send(request(&line.replace("$DECISION", &refused)));
        assert!((200..300).contains(&reply.status), "{line}\n{}", reply.text);
    }
}
