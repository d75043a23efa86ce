//! The files that packages are made with: what they promise, read from the files themselves.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up should fail")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn text(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap()
}

/// The instructions of the Dockerfile in their order: the word, and what follows on its line and those it goes on in.
fn instructions() -> Vec<(String, String)> {
    let dockerfile = text("Dockerfile");
    let lines: Vec<&str> = dockerfile.lines().filter(|line| !line.starts_with('#')).collect();
    let joined = lines.join("\n").replace("\\\n", " ");
    let split =
        |line: &str| line.split_once(' ').map(|(word, rest)| (word.to_owned(), rest.trim().to_owned()));
    joined.lines().filter_map(split).collect()
}

/// What follows this word, wherever it stands.
fn all(word: &str) -> Vec<String> {
    instructions().into_iter().filter(|(it, _)| it == word).map(|(_, rest)| rest).collect()
}

/// The help of a command, in which every option and variable stands.
fn help(args: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_sluicegate")).args(args).arg("--help").output().unwrap();
    assert!(output.status.success(), "{args:?}");
    // It is wrapped anywhere.
    String::from_utf8(output.stdout).unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn the_image_is_built_by_the_compiler_and_with_the_profile_of_packages() {
    let from = all("FROM");
    let version =
        text("Cargo.toml").lines().find_map(|line| line.strip_prefix("rust-version = ")).unwrap().to_owned();
    assert!(from[0].starts_with(&format!("rust:{}.", version.trim_matches('"'))), "{from:?}");
    for image in &from {
        let name = image.split_whitespace().next().unwrap();
        let tag = name.split_once(':').map(|(_, tag)| tag);
        assert!(tag.is_some_and(|tag| !tag.starts_with("latest")), "{image} names no version");
    }
    let build = all("RUN").into_iter().find(|run| run.contains("cargo build")).unwrap();
    assert!(build.contains("--locked") && build.contains("--profile dist"), "{build}");
    assert!(text("Cargo.toml").contains("[profile.dist]"));
}

#[test]
fn the_image_runs_as_nobody_and_keeps_its_data_outside() {
    let users = all("USER");
    let (user, group) = users.last().unwrap().split_once(':').unwrap();
    assert!(user.parse::<u32>().unwrap() > 0 && group.parse::<u32>().unwrap() > 0, "{users:?}");
    let order: Vec<String> = instructions().into_iter().map(|(word, _)| word).collect();
    let last = |word: &str| order.iter().rposition(|it| it == word).unwrap();
    assert!(last("USER") > last("RUN") && last("USER") > last("COPY"), "what is copied is root's");
    assert_eq!(all("VOLUME"), ["/var/lib/sluicegate"]);
    assert_eq!(all("ENTRYPOINT"), ["[\"sluicegate\"]"]);
    assert_eq!(all("CMD"), ["[\"serve\"]"]);
}

#[test]
fn only_the_gateway_of_the_image_is_open() {
    let environment = all("ENV").join(" ");
    let serve = help(&["serve"]);
    for pair in environment.split_whitespace() {
        let (name, value) = pair.split_once('=').unwrap();
        assert!(serve.contains(&format!("[env: {name}=")), "serve does not know {name}");
        assert_eq!(value.starts_with("0.0.0.0"), name == "SLUICEGATE_GATEWAY", "{pair}");
    }
    assert!(environment.contains("SLUICEGATE_GATEWAY=0.0.0.0:8080"));
    assert!(environment.contains("SLUICEGATE_DATA_DIR=/var/lib/sluicegate"));
    assert_eq!(all("EXPOSE"), ["8080 8081 9090"]);
    let check = all("HEALTHCHECK").join(" ");
    assert!(check.ends_with("CMD [\"sluicegate\", \"ready\"]"), "{check}");
    assert!(help(&["ready"]).contains("health checks"));
}

#[test]
fn no_secret_is_part_of_a_package() {
    for word in ["ENV", "ARG", "LABEL"] {
        for value in all(word) {
            let found = ["TOKEN", "SECRET", "PASSWORD"]
                .into_iter()
                .find(|secret| value.to_uppercase().contains(secret));
            assert_eq!(found, None, "{word} {value}");
        }
    }
    let ignored = text(".dockerignore");
    let rules: Vec<&str> = ignored.lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(rules[0], "*", "what is not named is not sent to the builder");
    assert!(rules.contains(&"**/sluicegate-data") && rules.contains(&"**/target"));
    assert!(!values("Environment").join(" ").contains("TOKEN"));
}

/// What the unit says for this name, wherever it stands.
fn values(name: &str) -> Vec<String> {
    let unit = text("packaging/sluicegate.service");
    let value = |line: &str| line.strip_prefix(name)?.strip_prefix('=').map(str::to_owned);
    unit.lines().filter_map(value).collect()
}

#[test]
fn the_unit_runs_as_nobody_and_ends_in_order() {
    for (name, value) in [
        ("Type", "exec"),
        ("ExecStart", "/usr/bin/sluicegate serve"),
        ("ExecReload", "/bin/kill -HUP $MAINPID"),
        ("KillSignal", "SIGTERM"),
        ("TimeoutStopSec", "40"),
        ("Restart", "on-failure"),
        ("RestartPreventExitStatus", "2 78"),
        ("DynamicUser", "yes"),
        ("StateDirectory", "sluicegate"),
        ("StateDirectoryMode", "0700"),
        ("NoNewPrivileges", "yes"),
        ("ProtectSystem", "strict"),
        ("CapabilityBoundingSet", ""),
    ] {
        assert_eq!(values(name), [value], "{name}");
    }
    let serve = help(&["serve"]);
    for pair in values("Environment").join(" ").split_whitespace() {
        let (name, _) = pair.split_once('=').unwrap();
        assert!(serve.contains(&format!("[env: {name}=")), "serve does not know {name}");
    }
}

/// Where there is systemd, it has the last word about its units.
#[test]
fn systemd_understands_the_unit() {
    if Command::new("systemd-analyze").arg("--version").output().is_err() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sluicegate.service");
    // It looks whether the program is there.
    let unit =
        text("packaging/sluicegate.service").replace("/usr/bin/sluicegate", env!("CARGO_BIN_EXE_sluicegate"));
    fs::write(&path, unit).unwrap();
    let output = Command::new("systemd-analyze").args(["verify", "--man=no"]).arg(&path).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && !said.contains("sluicegate.service"), "{said}");
}
