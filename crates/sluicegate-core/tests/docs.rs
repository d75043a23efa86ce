//! Every policy that the documents show is one that loads.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up should fail")]

use sluicegate_core::file::{read, render};
use std::fs;
use std::path::{Path, PathBuf};

#[test]
fn every_policy_in_the_documents_loads() {
    let mut broken = Vec::new();
    for path in documents() {
        for (line, policy) in policies(&fs::read_to_string(&path).unwrap()) {
            if let Err(problems) = read(policy.as_bytes()) {
                let name = format!("{}, block of line {line}", path.display());
                broken.push(render(&problems, &name, &policy));
            }
        }
    }
    assert!(broken.is_empty(), "\n{}\nReaders copy it: make it load.\n", broken.join("\n"));
}

/// The README and all of `docs`.
fn documents() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let mut documents = vec![root.join("README.md")];
    documents.retain(|path| path.exists());
    let mut folders = vec![root.join("docs")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.extension() {
                _ if path.is_dir() => folders.push(path),
                Some(extension) if extension == "md" => documents.push(path),
                _ => {}
            }
        }
    }
    documents
}

/// The fenced blocks of YAML that have tiers, each with the line of its fence.
fn policies(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut lines = text.lines().enumerate();
    while let Some((index, fence)) = lines.next() {
        let Some(language) = fence.trim_start().strip_prefix("```") else { continue };
        let indent = fence.len() - fence.trim_start().len();
        let inside =
            lines.by_ref().map(|(_, line)| line).take_while(|line| !line.trim_start().starts_with("```"));
        let block: String =
            inside.map(|line| format!("{}\n", line.get(indent..).unwrap_or_default())).collect();
        if ["yaml", "yml"].contains(&language.trim()) && block.lines().any(|line| line.starts_with("tiers:"))
        {
            found.push((index + 1, block));
        }
    }
    found
}

#[test]
fn a_policy_is_a_block_of_yaml_with_tiers() {
    let text = concat!(
        "```yaml\ntiers:\n  a: {}\n```\n",
        "```\ntiers:\n```\n",
        "1. x\n   ```yaml\n   tiers:\n     b: {}\n   ```\n",
        "```yaml\nlimits: []\n```\n",
    );
    let expected = [(1, "tiers:\n  a: {}\n".to_owned()), (9, "tiers:\n  b: {}\n".to_owned())];
    assert_eq!(policies(text), expected);
}
