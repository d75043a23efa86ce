//! The Python that `scripts/test` makes: with DuckDB, a server that speaks as S3 does, what drives a browser, and
//! clients of Redis, gRPC and HTTP/2.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// The variable that names it.
const VARIABLE: &str = "SLUICEGATE_PYTHON";

/// Its program. Fails with what to do if nobody has said where it is.
#[track_caller]
pub fn program() -> PathBuf {
    #[expect(
        clippy::disallowed_methods,
        reason = "where programs lie is told by the environment of the tests"
    )]
    let named = std::env::var_os(VARIABLE).filter(|value| !value.is_empty());
    let named = named.map(PathBuf::from).filter(|path| path.is_file());
    named.expect(
        "SLUICEGATE_PYTHON names no Python with duckdb, moto[server], playwright, redis, grpcio and h2: run \
         scripts/test, which makes one",
    )
}

/// Runs a script, and returns the JSON that it prints.
#[track_caller]
pub fn run<A: AsRef<OsStr>>(script: &Path, args: &[A]) -> Value {
    let output = Command::new(program()).arg(script).args(args).output().expect("it can be started");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{} failed:\n{said}", script.display());
    serde_json::from_slice(&output.stdout).expect("it prints JSON")
}
