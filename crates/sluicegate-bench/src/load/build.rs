//! Programs that are measured: built from this workspace, or installed by their name.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::options::LoadOptions;
use crate::report::note;

/// With which packages are built.
const PROFILE: &str = "dist";
/// As the crate of the same project that the suite `core` measures.
const THROTTLECRAB: &str = "throttlecrab-server";
const THROTTLECRAB_VERSION: &str = "0.4.40";

/// The sluicegate to measure.
pub(crate) fn sluicegate(options: &LoadOptions) -> Result<PathBuf> {
    options.sluicegate.clone().map_or_else(|| built("sluicegate", "sluicegate"), Ok)
}

/// The program with the small servers of this benchmark.
pub(crate) fn peer(options: &LoadOptions) -> Result<PathBuf> {
    options.peer.clone().map_or_else(|| built("sluicegate-bench", "sluicegate-bench-peer"), Ok)
}

/// Builds on its own, so that no other package changes the features it is built with.
fn built(package: &str, binary: &str) -> Result<PathBuf> {
    note(&format!("building {binary} with `--profile {PROFILE}`"));
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.toml");
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--profile", PROFILE, "-p", package, "--bin", binary]);
    cargo.args(["--message-format", "json-render-diagnostics", "--manifest-path"]).arg(manifest);
    let output = cargo.stderr(Stdio::inherit()).output().context("cannot run cargo")?;
    ensure!(output.status.success(), "{binary} could not be built");
    let messages = String::from_utf8_lossy(&output.stdout);
    executable(&messages, binary).with_context(|| format!("cargo does not say where {binary} is"))
}

fn executable(messages: &str, binary: &str) -> Option<PathBuf> {
    let messages = messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let of_binary = messages.filter(|message| message["target"]["name"] == binary);
    of_binary.filter_map(|message| message["executable"].as_str().map(PathBuf::from)).next_back()
}

/// throttlecrab's server, installed once below the home directory.
pub(crate) fn throttlecrab() -> Result<PathBuf> {
    let home = std::env::home_dir().context("no home directory")?;
    let root = home.join(".cache").join("sluicegate-bench");
    let program = root.join("bin").join(THROTTLECRAB);
    if program.exists() {
        return Ok(program);
    }
    ensure!(
        is_installed("protoc", "--version"),
        "{THROTTLECRAB} needs protoc to be built: `apt install protobuf-compiler`, or leave it out with \
         `--skip throttlecrab`"
    );
    note(&format!("installing {THROTTLECRAB} {THROTTLECRAB_VERSION}, which takes minutes, once"));
    let mut cargo = Command::new("cargo");
    cargo.args(["install", THROTTLECRAB, "--version", THROTTLECRAB_VERSION, "--locked", "--root"]).arg(&root);
    let status = cargo.status().context("cannot run cargo")?;
    ensure!(status.success(), "{THROTTLECRAB} could not be installed: `--skip throttlecrab` leaves it out");
    Ok(program)
}

/// Whether a program answers to its version flag.
pub(crate) fn is_installed(program: &str, version_flag: &str) -> bool {
    Command::new(program).arg(version_flag).output().is_ok_and(|output| output.status.success())
}

#[cfg(test)]
mod tests {
    use super::executable;
    use std::path::PathBuf;

    #[test]
    fn cargo_says_where_the_binary_is() {
        let messages = r#"{"reason":"compiler-artifact","target":{"name":"serde"},"executable":null}
{"reason":"compiler-artifact","target":{"name":"sluicegate"},"executable":"target/dist/sluicegate"}
{"reason":"build-finished","success":true}"#;
        assert_eq!(executable(messages, "sluicegate"), Some(PathBuf::from("target/dist/sluicegate")));
        assert_eq!(executable(messages, "other"), None);
    }
}
