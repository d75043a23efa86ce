//! Golden files: what was answered when somebody last read it. `TOLLGATE_BLESS=1` rewrites them.

use std::path::Path;

use serde_json::Value;

/// Fails if `tests/admin/golden/{name}` does not hold exactly this.
#[track_caller]
pub(crate) fn check(name: &str, actual: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/admin/golden").join(name);
    #[expect(clippy::disallowed_methods, reason = "the switch that rewrites golden files")]
    let blessing = std::env::var_os("TOLLGATE_BLESS").is_some_and(|value| value == "1");
    if blessing {
        std::fs::write(&path, actual).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(expected == actual, "{name} is stale\n--- golden\n{expected}\n--- answered now\n{actual}");
}

/// The same for JSON, written so that people can read it.
#[track_caller]
pub(crate) fn check_json(name: &str, actual: &Value) {
    check(name, &format!("{actual:#}\n"));
}
