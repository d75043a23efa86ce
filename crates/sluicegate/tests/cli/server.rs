//! A server of its own for a test, with an admin token that it made itself: the commands have to find it.

use std::path::{Path, PathBuf};
use std::process::ExitStatus;

use sluicegate_testkit::server;
use tempfile::TempDir;

/// A running server. It ends with this.
pub(crate) struct Server {
    running: server::Server,
    folder: TempDir,
    admin: String,
    decision: String,
}

impl Server {
    /// Starts one with this policy, and waits until it takes requests.
    pub(crate) fn start(policy: &str) -> Self {
        Self::start_in(|_| policy.to_owned())
    }

    /// The same with a policy that names the folder it is in.
    pub(crate) fn start_in(policy: impl FnOnce(&Path) -> String) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let policy = policy(folder.path());
        let mut launch =
            server::Launch::bare(env!("CARGO_BIN_EXE_sluicegate"), folder.path()).policy(&policy);
        for port in ["--gateway", "--decision", "--admin"] {
            launch = launch.arg(port).arg("127.0.0.1:0");
        }
        let launch = launch.arg("--ready-file").arg(folder.path().join("ready.json"));
        let running = launch.arg("--data-dir").arg(folder.path().join("data")).start();
        let (admin, decision) = (running.admin(), running.decision());
        Self { running, folder, admin: format!("http://{admin}"), decision: format!("http://{decision}") }
    }

    pub(crate) fn admin(&self) -> &str {
        &self.admin
    }

    pub(crate) fn decision(&self) -> &str {
        &self.decision
    }

    /// The folder in which it was started.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn data_dir(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Asks it to end, and waits until it has.
    pub(crate) fn stop(mut self) -> ExitStatus {
        self.running.terminate();
        self.running.wait()
    }
}
