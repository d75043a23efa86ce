//! A link from one document of the repository to another leads somewhere.

use crate::expect_none;
use crate::tracked::{File, files, paths};
use std::collections::BTreeMap;

#[test]
fn every_relative_link_leads_to_a_file_and_a_heading() {
    let mut places = Vec::new();
    for file in files().iter().filter(|file| file.is("md")) {
        let broken = links(&file.text).into_iter().filter(|(_, target)| !resolves(file, target));
        places.extend(broken.map(|(line, target)| format!("{}:{line}: {target}", file.path)));
    }
    expect_none(&places, "Correct the path or the heading after `#`, or add the file to git.");
}

fn resolves(from: &File, target: &str) -> bool {
    let is_elsewhere = target.contains("://") || target.starts_with("mailto:");
    let (path, heading) = target.split_once('#').unwrap_or((target, ""));
    let path = if path.is_empty() { Some(from.path.clone()) } else { joined(&from.path, path) };
    is_elsewhere || path.is_some_and(|path| leads_to(&path, heading))
}

fn leads_to(path: &str, heading: &str) -> bool {
    let file = files().iter().find(|file| file.path == path);
    let is_folder =
        || files().iter().any(|file| path.is_empty() || file.path.starts_with(&format!("{path}/")));
    match file {
        Some(file) if file.is("md") && !heading.is_empty() => {
            anchors(&file.text).iter().any(|it| it == heading)
        }
        Some(_) => true,
        // A picture has neither text nor headings.
        None => is_folder() || paths().iter().any(|tracked| tracked == path),
    }
}

/// A path as written in this file, from the root of the repository; none if it leads out of it.
fn joined(from: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    if path.starts_with('/') {
        parts.clear();
    }
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            _ => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// The targets of all links and images with their lines; code is not looked at.
fn links(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (number, line) in prose(text) {
        let line = without_code(line);
        found.extend(
            line.split("](").skip(1).filter_map(|rest| Some((number, target(rest.split(')').next()?)?))),
        );
        if let Some((label, rest)) = line.split_once("]: ")
            && label.starts_with('[')
            && !label.starts_with("[^")
        {
            found.extend(target(rest).map(|target| (number, target)));
        }
    }
    found
}

/// What is left of a link's inside without its title.
fn target(inside: &str) -> Option<String> {
    let first = inside.split_whitespace().next()?;
    Some(first.trim_start_matches('<').trim_end_matches('>').to_owned())
}

/// The lines outside of fenced blocks, counted from 1.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    text.lines().enumerate().filter_map(move |(index, line)| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        (!fenced && !fence).then_some((index + 1, line))
    })
}

/// Every second piece between backticks is code.
fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect::<Vec<_>>().join("`")
}

/// What the headings are called in a link, as code hosts make it: a second one of the same name ends in `-1`.
fn anchors(text: &str) -> Vec<String> {
    let mut seen = BTreeMap::<String, usize>::new();
    let headings = prose(text).filter_map(|(_, line)| {
        line.trim_start_matches('#').strip_prefix(' ').filter(|_| line.starts_with('#'))
    });
    headings
        .map(|heading| {
            let kept = heading.trim().chars().filter(|&c| c.is_alphanumeric() || " -_".contains(c));
            let anchor: String =
                kept.map(|c| if c == ' ' { '-' } else { c }).flat_map(char::to_lowercase).collect();
            let earlier = seen.entry(anchor.clone()).or_default();
            *earlier += 1;
            if *earlier == 1 { anchor } else { format!("{anchor}-{}", *earlier - 1) }
        })
        .collect()
}

#[test]
fn links_are_found_in_prose_and_not_in_code() {
    let text = "See [a](x.md), ![b](<y.svg> \"title\").\n```\n[c](no.md)\n```\n`[d](no.md)` [e](z.md#f)\n\n[g]: w.md\n";
    let found: Vec<String> =
        links(text).into_iter().map(|(line, target)| format!("{line} {target}")).collect();
    assert_eq!(found, ["1 x.md", "1 y.svg", "5 z.md#f", "7 w.md"]);
}

#[test]
fn a_path_is_taken_from_the_folder_of_its_file() {
    assert_eq!(joined("docs/a/b.md", "../c.md").as_deref(), Some("docs/c.md"));
    assert_eq!(joined("docs/a.md", "/README.md").as_deref(), Some("README.md"));
    assert_eq!(joined("README.md", "../x.md"), None);
}

#[test]
fn headings_are_called_as_code_hosts_call_them() {
    let text = "# Who? And *what*, `x_y`\n```\n# no\n```\n## Twice\n## Twice\n#no\n";
    assert_eq!(anchors(text), ["who-and-what-x_y", "twice", "twice-1"]);
}
