//! The examples of `docs/resp.md`, run as they stand there.

use std::path::Path;
use std::process::Command;

use super::bed::with_resp;
use crate::bed::Bed;

/// The fenced blocks of one kind.
fn blocks(page: &str, kind: &str) -> Vec<String> {
    let mut blocks = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        if line == format!("```{kind}") {
            let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
            blocks.push(block.join("\n"));
        }
    }
    blocks
}

/// Whether a line is what the page says, where "…" stands for anything.
fn is_as_said(line: &str, said: &str) -> bool {
    match said.split_once('…') {
        None => line == said,
        Some((start, end)) => line.starts_with(start) && line.ends_with(end),
    }
}

#[test]
fn the_examples_of_the_page_are_answered_as_it_says() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/resp.md");
    let page = std::fs::read_to_string(page).unwrap();
    let policy = blocks(&page, "yaml")[0].replace("6380", "0");
    let bed = Bed::start_with(&policy, with_resp);
    let key = bed.customer("acme", "pro");
    let examples = blocks(&page, "console");
    assert_eq!(examples.len(), 2);
    for example in examples {
        let (command, said) = example.split_once('\n').unwrap();
        let words = command.strip_prefix("$ redis-cli -p 6380 ").unwrap().replace("$KEY", &key);
        let port = bed.server.resp().port().to_string();
        let mut program = Command::new("redis-cli");
        program.args(["-h", "127.0.0.1", "-p", &port, "--no-raw"]).args(words.split(' '));
        let printed = String::from_utf8(program.output().unwrap().stdout).unwrap();
        let lines: Vec<&str> = printed.trim_end().lines().collect();
        assert_eq!(lines.len(), said.lines().count(), "{printed}");
        for (line, said) in lines.iter().zip(said.lines()) {
            assert!(is_as_said(line, said), "{line} is not {said}");
        }
    }
}
