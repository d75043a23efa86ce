//! A server of its own for a test: started with the binary, told by its ready file, ended by a signal.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

use crate::run::command;

/// How often, and how many times, something is looked at that is about to happen: a minute in all.
const LOOK_EVERY: Duration = Duration::from_millis(20);
const LOOKS_MAX: u32 = 3_000;

/// A running server. It ends with this.
pub(crate) struct Server {
    child: Child,
    folder: TempDir,
    admin: String,
    decision: String,
}

impl Server {
    /// Starts one with this policy, and waits until it takes requests.
    pub(crate) fn start(policy: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).into_os_string().into_string().unwrap();
        fs::write(path("policy.yaml"), policy).unwrap();
        let (config, data, ready) = (path("policy.yaml"), path("data"), path("ready.json"));
        let mut serve = command(&["serve", "--config", &config, "--data-dir", &data, "--ready-file", &ready]);
        serve.args(["--gateway", "127.0.0.1:0", "--decision", "127.0.0.1:0", "--admin", "127.0.0.1:0"]);
        serve.stdout(File::create(path("stdout")).unwrap()).stderr(File::create(path("stderr")).unwrap());
        let mut child = serve.spawn().unwrap();
        let told = until(|| {
            let ended = child.try_wait().unwrap();
            assert_eq!(ended, None, "{}", fs::read_to_string(path("stderr")).unwrap());
            fs::read_to_string(&ready).ok()
        });
        let told: Value = serde_json::from_str(&told).unwrap();
        let url = |listener: &str| format!("http://{}", told[listener].as_str().unwrap());
        Self { child, admin: url("admin"), decision: url("decision"), folder }
    }

    pub(crate) fn admin(&self) -> &str {
        &self.admin
    }

    pub(crate) fn decision(&self) -> &str {
        &self.decision
    }

    /// The folder in which it was started: its data directory is `data` in it.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn data_dir(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Asks it to end, and waits until it has.
    pub(crate) fn stop(mut self) -> ExitStatus {
        let pid = Pid::from_raw(self.child.id().try_into().unwrap()).unwrap();
        kill_process(pid, Signal::TERM).unwrap();
        until(|| self.child.try_wait().unwrap())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // A test that failed does not leave it behind; one that was stopped is gone already.
        let _ = self.child.kill().and_then(|()| self.child.wait());
    }
}

/// Looks again and again until there is something to see.
fn until<T>(mut look: impl FnMut() -> Option<T>) -> T {
    for _ in 0..LOOKS_MAX {
        if let Some(seen) = look() {
            return seen;
        }
        #[expect(clippy::disallowed_methods, reason = "another process cannot be waited for by its clock")]
        std::thread::sleep(LOOK_EVERY);
    }
    panic!("it did not happen within {:?}", LOOK_EVERY * LOOKS_MAX);
}
