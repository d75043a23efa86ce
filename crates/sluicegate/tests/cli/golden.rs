//! Golden files: what a command printed when somebody last read it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The folder `tests`.
pub(crate) fn tests() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")
}

/// What is wrong with the golden file, if it does not hold exactly this. Blessing makes it so.
pub(crate) fn difference(path: &Path, actual: &str) -> Option<String> {
    if blessing() {
        fs::write(path, actual).unwrap();
        return None;
    }
    let shown = path.strip_prefix(tests()).unwrap_or(path).display();
    match fs::read_to_string(path) {
        Ok(expected) if expected == actual => None,
        Ok(expected) => Some(format!("{shown} is stale\n--- golden\n{expected}--- printed now\n{actual}")),
        Err(error) => Some(format!("{shown} cannot be read: {error}\n--- printed now\n{actual}")),
    }
}

/// Fails if `tests/golden/{name}` does not hold exactly this.
#[track_caller]
pub(crate) fn check(name: &str, actual: &str) {
    let difference = difference(&tests().join("golden").join(name), actual);
    assert!(difference.is_none(), "{}", difference.unwrap_or_default());
}

/// The names of the files in a folder that end like this, without the ending.
pub(crate) fn names(folder: &Path, ending: &str) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    let names = entries.map(|name| name.into_string().unwrap());
    names.filter_map(|name| Some(name.strip_suffix(ending)?.to_owned())).collect()
}

fn blessing() -> bool {
    #[expect(clippy::disallowed_methods, reason = "the switch that rewrites golden files")]
    let blessing = std::env::var_os("SLUICEGATE_BLESS").is_some_and(|value| value == "1");
    blessing
}
