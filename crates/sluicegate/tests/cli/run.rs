//! Running the binary.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// How a run ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) status: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// What would change what is printed: help is wrapped to the first, and shows the others.
const VARIABLES: [&str; 22] = [
    "COLUMNS",
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_HEADERS",
    "OTEL_SERVICE_NAME",
    "SLUICEGATE_ADMIN",
    "SLUICEGATE_ADMIN_TOKEN",
    "SLUICEGATE_ADMIN_URL",
    "SLUICEGATE_CONFIG",
    "SLUICEGATE_DATA_DIR",
    "SLUICEGATE_DECISION",
    "SLUICEGATE_DECISION_URL",
    "SLUICEGATE_GATEWAY",
    "SLUICEGATE_KEY",
    "SLUICEGATE_LOG",
    "SLUICEGATE_LOG_FORMAT",
    "SLUICEGATE_READY_FILE",
    "SLUICEGATE_SECRET",
    "SLUICEGATE_SERVICE_TOKEN",
    "SLUICEGATE_STORE",
    "SLUICEGATE_TRACE_ONE_IN",
    "SLUICEGATE_UPSTREAM",
    "RUST_LOG",
];

/// The binary with these arguments, started in the folder `tests`, so that paths in its messages are the same
/// everywhere.
pub(crate) fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sluicegate"));
    command.args(args).current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests"));
    for name in VARIABLES {
        command.env_remove(name);
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Runs it to its end.
pub(crate) fn run(args: &[&str]) -> Ended {
    ended(command(args))
}

/// Runs it to its end with this on its standard input.
pub(crate) fn run_with_input(args: &[&str], input: &[u8]) -> Ended {
    let mut child = command(args).stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    of(child.wait_with_output().unwrap())
}

/// Runs this command to its end.
pub(crate) fn ended(mut command: Command) -> Ended {
    of(command.output().unwrap())
}

fn of(output: std::process::Output) -> Ended {
    Ended {
        status: output.status.code().unwrap(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}
