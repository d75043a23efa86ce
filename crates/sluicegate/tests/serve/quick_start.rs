//! The page with the quick start: its lines are typed in their order, and say what the page says.

use std::path::Path;
use std::process::Command;

use sluicegate_testkit::server::ADMIN_TOKEN;
use sluicegate_testkit::wait::until;

use crate::bed::{Bed, PROGRAM};

const PAGE: &str = include_str!("../../../../docs/quick-start.md");

/// A line that is typed, and what comes of it.
struct Step {
    typed: String,
    /// In this order; `…` stands for anything.
    printed: Vec<String>,
}

/// The first block of the page in this language.
fn block(language: &str) -> String {
    let start = format!("```{language}\n");
    let (_, rest) = PAGE.split_once(&start).unwrap();
    rest.split_once("```").unwrap().0.to_owned()
}

fn steps() -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut inside = false;
    for line in PAGE.lines() {
        match line {
            "```console" => inside = true,
            "```" => inside = false,
            _ if !inside => {}
            _ => match line.strip_prefix("$ ") {
                Some(typed) => steps.push(Step { typed: typed.to_owned(), printed: Vec::new() }),
                None => steps.last_mut().unwrap().printed.push(line.to_owned()),
            },
        }
    }
    steps
}

/// Whether a line is as the page has it.
fn is_like(line: &str, shown: &str) -> bool {
    let mut parts = shown.split('…');
    let Some(mut rest) = parts.next().and_then(|first| line.strip_prefix(first)) else { return false };
    let mut open = false;
    for part in parts {
        open = true;
        let Some(place) = rest.find(part) else { return false };
        rest = &rest[place + part.len()..];
    }
    open || rest.is_empty()
}

/// What is printed where the next line was typed: behind it on the same page.
const MARK: &str = "==== next line";

#[test]
fn the_quick_start_does_what_it_says() {
    let bed = Bed::start(&block("yaml"));
    let folder = Path::new(PROGRAM).parent().unwrap();
    // The server of the page listens where it does by default; the file that is edited is the one it watches.
    let here = |typed: &str| {
        typed
            .replace("127.0.0.1:8080", &bed.server.gateway().to_string())
            .replace("sluicegate.yaml", &bed.policy_path().display().to_string())
    };
    let mut key = String::new();
    for Step { typed, printed } in steps() {
        if typed.starts_with("sluicegate serve") {
            continue;
        }
        let found = format!("export PATH='{}':\"$PATH\"", folder.display());
        let script = format!("{found}\n{}\necho '{MARK}'; echo \"$KEY\"", here(&typed));
        let output = Command::new("bash")
            .args(["-c", &script])
            .env("KEY", &key)
            .env("SLUICEGATE_ADMIN_URL", format!("http://{}", bed.server.admin()))
            .env("SLUICEGATE_ADMIN_TOKEN", ADMIN_TOKEN)
            .env("SLUICEGATE_DECISION_URL", format!("http://{}", bed.server.decision()))
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        let (said, kept) = text.split_once(MARK).unwrap();
        kept.trim().clone_into(&mut key);
        assert!(!errors.contains("error:"), "{typed}\n{errors}");
        let said = said.replace(&bed.policy_path().display().to_string(), "sluicegate.yaml");
        check(&typed, &printed, &said);
        if typed.starts_with("sed ") {
            until("the file is read again", || (bed.health()["policy"]["version"] == 2).then_some(()));
        }
    }
    assert!(key.starts_with("sg_live_"));
}

/// Whether what was printed has all that the page shows, in its order.
fn check(typed: &str, shown: &[String], said: &str) {
    let mut lines = said.lines();
    let mut skip = false;
    for wanted in shown {
        if wanted == "…" {
            skip = true;
            continue;
        }
        let found = if skip {
            lines.any(|line| is_like(line, wanted))
        } else {
            lines.next().is_some_and(|line| is_like(line, wanted))
        };
        assert!(found, "`{typed}` was to print\n{wanted}\nand printed\n{said}");
        skip = false;
    }
}

#[test]
fn dots_stand_for_anything() {
    assert!(is_like("a b c", "a … c") && is_like("a b c", "a…") && is_like("abc", "abc"));
    assert!(!is_like("a b c", "a … d") && !is_like("abcd", "abc") && !is_like("xabc", "abc…"));
}
