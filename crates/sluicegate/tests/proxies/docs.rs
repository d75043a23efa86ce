//! The page of each proxy leads to the files that the tests run, says what they do, and has no configuration of its own
//! that could come to differ.

use std::path::Path;

use crate::caddy::CADDY;
use crate::expectations::TRUSTING;
use crate::haproxy::HAPROXY;
use crate::nginx::NGINX;
use crate::recipe::{Limits, Recipe};
use crate::traefik::TRAEFIK;

const PAGES: [(&str, &Recipe); 4] =
    [("nginx.md", &NGINX), ("caddy.md", &CADDY), ("traefik.md", &TRAEFIK), ("haproxy.md", &HAPROXY)];

fn page(name: &str) -> String {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    std::fs::read_to_string(docs.join(name)).unwrap()
}

/// The fenced blocks of a page: their language, and what stands in them.
fn blocks(page: &str) -> Vec<(String, String)> {
    let mut blocks = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        if let Some(language) = line.strip_prefix("```") {
            let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
            blocks.push((language.to_owned(), block.join("\n")));
        }
    }
    blocks
}

#[test]
fn each_page_leads_to_the_files_that_are_tested_and_has_no_other() {
    for (name, recipe) in PAGES {
        let page = page(name);
        for file in recipe.files {
            assert!(page.contains(&format!("(../examples/{file})")), "{name} does not lead to {file}");
        }
        for (language, block) in blocks(&page) {
            let known = match language.as_str() {
                "console" => block.lines().all(|line| line.starts_with("$ ")),
                "yaml" => block == TRUSTING,
                _ => false,
            };
            assert!(known, "{name}: nothing runs this {language}:\n{block}");
        }
    }
}

#[test]
fn each_page_says_what_the_proxy_was_seen_to_do() {
    for (name, recipe) in PAGES {
        let page = page(name);
        let section = page.split("## When Sluicegate cannot be reached").nth(1).unwrap();
        for status in recipe.unreachable {
            assert!(section.contains(&status.to_string()), "{name}: {status}");
        }
        let told = "admitted | the API's answer, with the headers of the limits";
        assert_eq!(page.contains(told), recipe.limits == Limits::ToTheCaller, "{name}");
    }
}

#[test]
fn each_example_trusts_what_its_policy_must_and_says_where_it_fails_closed() {
    for (name, recipe) in PAGES {
        let text: String = recipe.examples().into_iter().map(|(_, text)| text).collect();
        assert!(text.contains(&format!("`{TRUSTING}`")), "{name}");
        assert!(text.contains("FAILURE MODE"), "{name}");
    }
}
