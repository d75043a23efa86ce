//! A real server in a folder of its own: started, told things by signals, and ended by its process id.

use std::ffi::OsString;
use std::fs::{self, File};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::faketime::{self, WallClock};
use crate::wait;

/// The token of the admin API of servers that tests start.
pub const ADMIN_TOKEN: &str = "sgadmin_of_the_tests_0123456789abcdef";

/// How a server is started.
#[derive(Clone, Debug)]
pub struct Launch {
    program: PathBuf,
    folder: PathBuf,
    args: Vec<OsString>,
    variables: Vec<(String, OsString)>,
}

impl Launch {
    /// `serve` of this program, on ports that the system chooses, with everything it leaves behind in this folder.
    pub fn new(program: &str, folder: &Path) -> Self {
        Self::on(["127.0.0.1:0"; 3].map(str::to_owned), program, folder)
    }

    /// The same on addresses that no other process and no other listener has: whoever is still connected to a server
    /// that was killed never reaches another in its place.
    pub fn apart(program: &str, folder: &Path) -> Self {
        let [.., third, second, first] = std::process::id().to_be_bytes();
        let address = |listener: u8| format!("127.{}.{second}.{first}:0", 16 + 4 * (third % 32) + listener);
        Self::on([address(1), address(2), address(3)], program, folder)
    }

    fn on(addresses: [String; 3], program: &str, folder: &Path) -> Self {
        let bare = Self::bare(program, folder).variable("SLUICEGATE_ADMIN_TOKEN", ADMIN_TOKEN);
        let ports = ["--gateway", "--decision", "--admin"].into_iter().zip(addresses);
        let bare = ports.fold(bare, |launch, (port, address)| launch.arg(port).arg(address));
        bare.arg("--ready-file").arg(folder.join("ready.json")).arg("--data-dir").arg(folder.join("data"))
    }

    /// `serve` without an argument or a variable.
    pub fn bare(program: &str, folder: &Path) -> Self {
        let (program, folder) = (program.into(), folder.to_owned());
        Self { program, folder, args: vec!["serve".into()], variables: Vec::new() }
    }

    /// With this policy, in the file `policy.yaml` of the folder.
    #[must_use]
    pub fn policy(self, text: &str) -> Self {
        let path = self.policy_path();
        fs::write(&path, text).expect("the policy can be written");
        self.arg("--config").arg(path)
    }

    /// Where the policy is.
    pub fn policy_path(&self) -> PathBuf {
        self.folder.join("policy.yaml")
    }

    /// With one more argument.
    #[must_use]
    pub fn arg(mut self, arg: impl Into<OsString>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// With one more variable. Of those of the tests it gets none.
    #[must_use]
    pub fn variable(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.variables.push((name.to_owned(), value.into()));
        self
    }

    /// With a clock that says this in UTC when it starts, and goes on from there: `2026-11-10 09:59:58`.
    #[must_use]
    pub fn clock(self, at: &str) -> Self {
        let told = self.variable("FAKETIME", format!("@{at}"));
        faketime::common().into_iter().fold(told, |launch, (name, value)| launch.variable(name, value))
    }

    /// With a wall clock that can be stepped while it runs.
    #[must_use]
    pub fn wall_clock(self, clock: &WallClock) -> Self {
        clock.variables().into_iter().fold(self, |launch, (name, value)| launch.variable(name, value))
    }

    /// Starts it and returns when it is ready. Fails with what it said if it ends before.
    pub fn start(&self) -> Server {
        let ready_path = self.folder.join("ready.json");
        let _ = fs::remove_file(&ready_path);
        let mut server = Server { child: self.spawn(), ready: Value::Null, folder: self.folder.clone() };
        server.ready = wait::until("the server is ready", || {
            if let Some(status) = server.child.try_wait().expect("it can be waited for") {
                complain(&format!("the server ended at once with {status}"), &self.folder);
            }
            let text = fs::read_to_string(&ready_path).ok()?;
            // One atomic write: a file that is there is whole.
            Some(serde_json::from_str(&text).expect("the ready file is JSON"))
        });
        server
    }

    /// Starts it and kills it after about this long, ready or not.
    pub fn start_and_kill(&self, about: Duration) {
        let mut server = Server { child: self.spawn(), ready: Value::Null, folder: self.folder.clone() };
        wait::pause(about);
        server.kill();
    }

    /// Runs it until it ends by itself.
    pub fn run(&self) -> Ended {
        let mut server = Server { child: self.spawn(), ready: Value::Null, folder: self.folder.clone() };
        let status = server.wait();
        Ended { status: status.code(), printed: server.printed(), said: server.said() }
    }

    fn spawn(&self) -> Child {
        let create = |name: &str| File::create(self.folder.join(name)).expect("the folder is there");
        Command::new(&self.program)
            .args(&self.args)
            .env_clear()
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .stdout(create("stdout.txt"))
            .stderr(create("stderr.txt"))
            .spawn()
            .expect("the program can be started")
    }
}

/// How a server ended that ran by itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ended {
    /// The exit status, unless a signal ended it.
    pub status: Option<i32>,
    /// What it printed.
    pub printed: String,
    /// What it said on standard error.
    pub said: String,
}

/// A server that runs. It is killed when this is dropped.
#[derive(Debug)]
pub struct Server {
    child: Child,
    ready: Value,
    folder: PathBuf,
}

impl Server {
    /// Where callers connect.
    pub fn gateway(&self) -> SocketAddr {
        self.address("gateway")
    }

    /// Where decisions are asked for.
    pub fn decision(&self) -> SocketAddr {
        self.address("decision")
    }

    /// Where the admin API is.
    pub fn admin(&self) -> SocketAddr {
        self.address("admin")
    }

    /// Where clients of Redis ask, if anywhere.
    pub fn resp(&self) -> SocketAddr {
        self.address("resp")
    }

    fn address(&self, name: &str) -> SocketAddr {
        let text = self.ready[name].as_str().unwrap_or_default();
        text.parse().expect("the ready file has the address")
    }

    /// What stands in its ready file.
    pub fn ready(&self) -> &Value {
        &self.ready
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What it printed so far.
    pub fn printed(&self) -> String {
        fs::read_to_string(self.folder.join("stdout.txt")).unwrap_or_default()
    }

    /// What it said on standard error so far.
    pub fn said(&self) -> String {
        fs::read_to_string(self.folder.join("stderr.txt")).unwrap_or_default()
    }

    /// Whether it has not ended.
    pub fn is_running(&mut self) -> bool {
        self.child.try_wait().expect("it can be waited for").is_none()
    }

    /// Asks it to end.
    pub fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    /// Asks it to read its policy again.
    pub fn hang_up(&self) {
        self.signal(Signal::HUP);
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("it can be told");
    }

    /// Waits for its end.
    pub fn wait(&mut self) -> ExitStatus {
        wait::until("the server ends", || self.child.try_wait().expect("it can be waited for"))
    }

    /// SIGKILL: it ends between two of its instructions.
    pub fn kill(&mut self) {
        self.child.kill().expect("it can be killed");
        self.child.wait().expect("it can be waited for");
        faketime::clear_up(self.pid());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        faketime::clear_up(self.pid());
        if std::thread::panicking() {
            eprintln!("{}", tail(&self.said()));
        }
    }
}

#[expect(clippy::panic, reason = "a server that does not start fails its test")]
fn complain(what: &str, folder: &Path) -> ! {
    let said = fs::read_to_string(folder.join("stderr.txt")).unwrap_or_default();
    panic!("{what}:\n{}", tail(&said));
}

/// The last lines of what was said.
fn tail(said: &str) -> String {
    let lines: Vec<&str> = said.lines().collect();
    lines[lines.len().saturating_sub(40)..].join("\n")
}
