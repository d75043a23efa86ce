//! Golden files: what the API answered when somebody last read it.

use std::fs;
use std::path::Path;

/// Fails if `golden/{name}` does not hold exactly this, up to blanks at the ends of lines. Blessing makes it so.
#[track_caller]
pub(crate) fn check(name: &str, actual: &str) {
    let lines: Vec<_> = actual.trim_end().lines().map(str::trim_end).collect();
    let actual = lines.join("\n") + "\n";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/decision/golden").join(name);
    if blessing() {
        fs::write(&path, &actual).unwrap();
        return;
    }
    let expected = fs::read_to_string(&path).unwrap_or_else(|error| format!("cannot be read: {error}\n"));
    assert_eq!(expected, actual, "{name} is stale; read what changed, and bless it with SLUICEGATE_BLESS=1");
}

pub(crate) fn blessing() -> bool {
    #[expect(clippy::disallowed_methods, reason = "the switch that rewrites golden files")]
    let blessing = std::env::var_os("SLUICEGATE_BLESS").is_some_and(|value| value == "1");
    blessing
}
