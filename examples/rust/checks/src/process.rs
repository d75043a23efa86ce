//! An example as a process: built by itself, started on a free port, and killed at the end.

use crate::STUCK;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};

/// The folder with the examples.
pub fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Builds a package by itself, without the features that others of this workspace need, and returns its program.
///
/// # Panics
///
/// If it does not compile.
pub fn build(package: &str) -> PathBuf {
    let output = Command::new(env!("CARGO"))
        .args(["build", "--package", package, "--message-format", "json-render-diagnostics"])
        .current_dir(examples())
        .stderr(Stdio::inherit())
        .output()
        .expect("cargo can be started");
    assert!(output.status.success(), "{package} does not compile");
    let messages = String::from_utf8(output.stdout).expect("messages are text");
    let program = messages.lines().filter_map(|line| line.split_once(r#""executable":""#)).next_back();
    program.and_then(|(_, rest)| rest.split('"').next()).expect("the package has a program").into()
}

/// A running example.
#[derive(Debug)]
pub struct Example {
    child: Child,
    lines: Receiver<String>,
}

impl Example {
    /// Builds and starts a package, in this folder and with these arguments and variables.
    ///
    /// # Panics
    ///
    /// If it cannot be started.
    pub fn start(package: &str, folder: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Self {
        let mut child = Command::new(build(package))
            .args(arguments)
            .envs(variables.iter().copied())
            .env("LISTEN", "127.0.0.1:0")
            .current_dir(folder)
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program can be started");
        let output = child.stdout.take().expect("it is piped");
        let (send, lines) = channel();
        std::thread::spawn(move || {
            BufReader::new(output).lines().map_while(Result::ok).try_for_each(|line| send.send(line))
        });
        Self { child, lines }
    }

    /// The rest of the next line that begins like this.
    ///
    /// # Panics
    ///
    /// If there is none within [`STUCK`].
    pub fn line(&self, beginning: &str) -> String {
        loop {
            let line = self.lines.recv_timeout(STUCK);
            let line = line.unwrap_or_else(|_| panic!("there is no line with {beginning:?}"));
            if let Some(rest) = line.strip_prefix(beginning) {
                return rest.to_owned();
            }
        }
    }

    /// The URL that the example says it listens on.
    pub fn url(&self) -> String {
        self.line("listening on ")
    }

    /// Sends SIGINT, as Ctrl-C does, and waits for the end.
    ///
    /// # Panics
    ///
    /// If the process does not end within [`STUCK`].
    pub fn interrupt(mut self) -> ExitStatus {
        let kill = Command::new("kill").args(["-INT", &self.child.id().to_string()]).status();
        assert!(kill.expect("kill can be started").success());
        self.end()
    }

    /// Waits until the process ends: its output is closed then.
    ///
    /// # Panics
    ///
    /// If it does not end within [`STUCK`].
    pub fn end(&mut self) -> ExitStatus {
        let closed = loop {
            if let Err(error) = self.lines.recv_timeout(STUCK) {
                break error;
            }
        };
        assert_eq!(closed, RecvTimeoutError::Disconnected, "the process does not end");
        self.child.wait().expect("the process is ours")
    }
}

impl Drop for Example {
    fn drop(&mut self) {
        // Both fail for a process that has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
