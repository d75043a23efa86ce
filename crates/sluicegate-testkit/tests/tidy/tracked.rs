//! The text files of the repository: what git tracks, or without git all there is.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

/// What `.gitignore` keeps out, for a tree that has no git.
const UNTRACKED: [&str; 4] = [".git", ".tools", "target", "sluicegate-data"];

/// A file that is valid UTF-8 without a zero byte; others are not text.
pub(crate) struct File {
    /// From the root of the repository, with `/`.
    pub(crate) path: String,
    pub(crate) text: String,
}

impl File {
    pub(crate) fn is(&self, extension: &str) -> bool {
        self.path.rsplit_once('.').is_some_and(|(_, end)| end == extension)
    }

    pub(crate) fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    /// The lines, counted from 1.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.split('\n').enumerate().map(|(index, line)| (index + 1, line))
    }

    /// `path:line: what`, for every line of which there is something to say.
    pub(crate) fn places(&self, mut what: impl FnMut(&str) -> Option<String>) -> Vec<String> {
        let place = |(number, line)| Some(format!("{}:{number}: {}", self.path, what(line)?));
        self.lines().filter_map(place).collect()
    }
}

/// All of them, in the order of their paths.
pub(crate) fn files() -> &'static [File] {
    static FILES: LazyLock<Vec<File>> =
        LazyLock::new(|| paths().iter().filter_map(|path| file(&root(), path.clone())).collect());
    &FILES
}

/// The paths of all files, also of those that are no text.
pub(crate) fn paths() -> &'static [String] {
    static PATHS: LazyLock<Vec<String>> = LazyLock::new(|| {
        let root = root();
        let mut paths = by_git(&root).unwrap_or_else(|| by_walking(&root));
        paths.sort();
        paths
    });
    &PATHS
}

pub(crate) fn rust_files() -> impl Iterator<Item = &'static File> {
    files().iter().filter(|file| file.is("rs"))
}

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn file(root: &Path, path: String) -> Option<File> {
    // A file that was deleted but is still in the index has no text.
    let text = String::from_utf8(fs::read(root.join(&path)).ok()?).ok()?;
    (!text.contains('\0')).then_some(File { path, text })
}

fn by_git(root: &Path) -> Option<Vec<String>> {
    let output = Command::new("git").current_dir(root).args(["ls-files", "-z"]).output().ok()?;
    let list = String::from_utf8(output.stdout).ok()?;
    let paths: Vec<String> = list.split_terminator('\0').map(str::to_owned).collect();
    // An unpacked archive that lies inside somebody else's repository has no tracked files.
    (output.status.success() && !paths.is_empty()).then_some(paths)
}

fn by_walking(root: &Path) -> Vec<String> {
    let mut paths = Vec::new();
    let mut folders = vec![String::new()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(root.join(&folder)).unwrap().map(Result::unwrap) {
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = if folder.is_empty() { name } else { format!("{folder}/{name}") };
            match entry.file_type().unwrap() {
                kind if kind.is_dir() && !UNTRACKED.contains(&path.as_str()) => folders.push(path),
                kind if kind.is_file() || kind.is_symlink() => paths.push(path),
                _ => {}
            }
        }
    }
    paths
}

#[test]
fn the_rules_see_the_repository() {
    let known = |path: &str| files().iter().any(|file| file.path == path);
    assert!(known("Cargo.toml") && known("crates/sluicegate-core/src/lib.rs"));
}

#[test]
fn without_git_the_rules_see_the_same_files() {
    let walked = by_walking(&root());
    let missed: Vec<&str> = files()
        .iter()
        .map(|file| file.path.as_str())
        .filter(|path| !walked.iter().any(|p| p == path))
        .collect();
    assert!(missed.is_empty(), "{missed:?}");
}
