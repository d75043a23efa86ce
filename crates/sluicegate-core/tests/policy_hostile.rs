//! Whatever bytes come as a policy file: a clear answer, in bounded time and memory, and never a panic.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use proptest::prelude::*;
use sluicegate_core::file::{FILE_BYTES_MAX, PROBLEMS_MAX, Problem, read, render};

const FULL: &str = include_str!("policies/full.yaml");

/// The only problem with these bytes.
#[track_caller]
fn only(bytes: &[u8]) -> Problem {
    let mut problems = read(bytes).unwrap_err();
    assert_eq!(problems.len(), 1, "{problems:#?}");
    problems.remove(0)
}

#[track_caller]
fn check(bytes: &[u8], line: usize, column: usize, message: &str) {
    let problem = only(bytes);
    assert_eq!((problem.place.line, problem.place.column), (line, column), "{problem:?}");
    assert!(problem.message.contains(message), "{problem:?}");
    assert!(problem.help.is_some());
}

#[test]
fn a_file_that_is_too_large_is_not_looked_at() {
    let large = vec![b'x'; 100 << 20];
    let problem = only(&large);
    assert!(problem.message.contains("larger than 1048576 bytes"), "{problem:?}");
    check(&vec![b'#'; FILE_BYTES_MAX], 1, 1, "empty");
}

#[test]
fn bytes_that_are_no_text_are_named_with_their_place() {
    check(b"tiers:\n  fr\xffee: {rate: 1}\n", 2, 5, "0xff here is not UTF-8");
    check(b"\xef\xbb\xbf\xc3\xa9\xff", 1, 2, "not UTF-8");
    check(b"tiers:\r\n\xff", 2, 1, "not UTF-8");
    check(b"tiers: \xc3", 1, 8, "not UTF-8");
    check(b"tiers: {t: {rate: 1\0}}", 1, 20, "U+0000");
    check(b"tiers: {t: {rate: 1}}\n# \x1b[31m", 2, 3, "U+001B");
}

#[test]
fn what_yaml_has_and_policies_have_not_is_refused() {
    check(b"", 1, 1, "empty");
    check(b"# nothing\n", 1, 1, "empty");
    check(b"~", 1, 1, "empty");
    check(b"- a\n", 1, 3, "must be a mapping");
    check(b"tiers", 1, 1, "must be a mapping");
    check(b"tiers: {t: {rate: 1}}\n---\na: b\n", 2, 1, "second document");
    check(b"tiers: {t: {rate: !!int 1}}", 1, 19, "tags");
    check(b"tiers: {t: {rate: 1, <<: {burst: 2}}}", 1, 22, "merge keys");
    check(b"tiers: {t: {rate: 1, 1: 2}}", 1, 22, "not text");
    check(b"tiers: {t: {rate: 1, [a]: 2}}", 1, 22, "must be text, not a list");
    check(b"tiers:\n  t: {rate: 1}\n  t: {rate: 2}\n", 3, 3, "twice, first on line 2");
    check(b"tiers: *gone", 1, 8, "not defined above");
    check(b"tiers: &t {a: *t}", 1, 15, "inside the value it names");
}

#[test]
fn tabs_may_not_indent() {
    check(b"tiers:\n\tt: {rate: 1}\n", 2, 1, "a tab may not indent");
    check(b"tiers:\n  t:\n    rate: 1\n\tburst: 2\n", 4, 1, "a tab may not indent");
    check(b"tiers:\n  t:\n  \trate: 1\n", 3, 3, "a tab may not indent");
    check(b"\ttiers: {t: {rate: 1}}", 1, 1, "a tab may not indent");
    assert!(read(b"tiers: {t: {rate: \t1}}\t# tabs after values are fine\n").is_ok());
    check(b"tiers: {t: {rate:\t1}}", 1, 18, "not by a tab");
}

#[test]
fn bombs_are_defused() {
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..30 {
        let previous = level - 1;
        bomb += &format!("a{level}: &a{level} [{}]\n", vec![format!("*a{previous}"); 9].join(", "));
    }
    assert!(only(bomb.as_bytes()).message.contains("more than 20000 values"));

    for text in
        ["[".repeat(FILE_BYTES_MAX), "{a: ".repeat(100_000), "- ".repeat(500_000), "? ".repeat(500_000)]
    {
        let message = only(text.as_bytes()).message;
        assert!(message.contains("nested"), "{message}");
    }
    let staircase: String = (0..1_000).map(|depth| format!("{}a:\n", " ".repeat(depth))).collect();
    assert!(only(staircase.as_bytes()).message.contains("32 levels"));

    // Ten levels of an alias below ten levels of an alias and so on.
    let mut tower = "a0: &a0 x\n".to_owned();
    for level in 1..100 {
        tower += &format!("a{level}: &a{level} [*a{}]\n", level - 1);
    }
    assert!(only(tower.as_bytes()).message.contains("32 levels"));

    let long = format!("tiers: {{t: {{rate: {}}}}}", "9".repeat(1_000_000));
    assert!(only(long.as_bytes()).message.contains("4096 bytes"));
}

#[test]
fn nothing_from_the_file_drives_the_terminal() {
    for text in [
        r#"tiers: {t: {"rate:\e[31m": 1}}"#,
        r#"tiers: {t: {rate: "1 per \e[31m"}}"#,
        r#"tiers: {t: {limits: {x: {algorithm: fixed_window, limit: 1/s, routes: ["\e[31m"]}}}}"#,
        r#"{tiers: {t: {rate: 1}}, server: {gateway: "localhost:\e[31m"}}"#,
    ] {
        for problem in read(text.as_bytes()).unwrap_err() {
            let words = format!("{}{}", problem.message, problem.help.unwrap_or_default());
            assert!(!words.contains(char::is_control), "{words:?}");
        }
    }
    let long = format!("tiers: {{t: {{rate: '1 per {}'}}}}", "x".repeat(4_000));
    assert!(only(long.as_bytes()).help.unwrap().len() < 500);
}

#[test]
fn many_mistakes_are_bounded_in_time_and_number() {
    let key = "k".repeat(60);
    let keys: Vec<String> = (0..9_000).map(|n| format!("{key}{n}: 1")).collect();
    assert_eq!(read(keys.join("\n").as_bytes()).unwrap_err().len(), PROBLEMS_MAX);

    let routes: Vec<String> = (0..900).map(|n| format!("  route-number-{n}: {{match: /{n}}}")).collect();
    let names: Vec<String> = (0..9_000).map(|n| format!("rouet-nubmer-{n}")).collect();
    let text = format!(
        "routes:\n{}\ntiers: {{t: {{limits: {{x: {{algorithm: fixed_window, limit: 1/s, routes: [{}]}}}}}}}}",
        routes.join("\n"),
        names.join(", ")
    );
    let problems = read(text.as_bytes()).unwrap_err();
    assert_eq!(problems.len(), PROBLEMS_MAX);
    assert!(render(&problems, "policy.yaml", &text).len() < 100_000);
}

/// Reads what may be anything, and shows what is wrong with it.
fn survive(bytes: &[u8]) {
    if let Err(problems) = read(bytes) {
        assert!(!problems.is_empty() && problems.len() <= PROBLEMS_MAX);
        let text = String::from_utf8_lossy(bytes);
        let rows = text.lines().count().max(1) + 1;
        for problem in &problems {
            let place = problem.place;
            assert!(place.line >= 1 && place.column >= 1 && place.length >= 1, "{problem:?}");
            assert!(place.line <= rows + text.matches('\r').count(), "{problem:?}");
        }
        render(&problems, "policy.yaml", &text);
    }
}

#[test]
fn no_prefix_of_a_file_panics() {
    for end in 0..FULL.len() {
        survive(&FULL.as_bytes()[..end]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_mutation_of_a_file_panics(
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0u8..4, any::<u8>()), 1..8),
    ) {
        const TELLING: &[u8] = b"{}[]:,-?&*!|>'\"%@`#~<=\t\n\r 0_/.\\\xff\0";
        let mut bytes = FULL.as_bytes().to_vec();
        for (index, kind, byte) in edits {
            let at = index.index(bytes.len());
            let telling = TELLING[usize::from(byte) % TELLING.len()];
            match kind {
                0 => bytes[at] = byte,
                1 => bytes[at] = telling,
                2 => bytes.insert(at, telling),
                _ => drop(bytes.remove(at)),
            }
        }
        survive(&bytes);
    }

    #[test]
    fn no_text_of_telling_characters_panics(text in "[a:{},\\[\\]&*!|>'\"%#~<\t\n\r \\-?0-9]{0,80}") {
        survive(text.as_bytes());
    }
}
