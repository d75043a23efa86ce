//! One server that runs: asked, stopped, killed and started again, by its process id.

use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use tempfile::TempDir;

use super::{Client, Engine, RedisLaunch, Reply};
use crate::port::Port;
use crate::{faketime, wait};

/// Nothing that is asked of a server on this machine takes longer, unless it is stuck.
const PATIENCE: Duration = Duration::from_secs(20);

/// What it takes to start one.
pub(super) struct Starting {
    pub(super) engine: Engine,
    pub(super) folder: TempDir,
    pub(super) port: Port,
    pub(super) args: &'static [&'static str],
    pub(super) secrets: Secrets,
    pub(super) variables: Vec<(&'static str, OsString)>,
}

/// What those who connect must know.
pub(super) struct Secrets {
    pub(super) password: Option<String>,
    pub(super) scheme: &'static str,
}

/// A server in a folder of its own. It is killed when this is dropped.
pub struct RedisServer {
    child: Child,
    state: State,
    starting: Starting,
}

/// What its process does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Runs,
    Paused,
    Ended,
}

impl RedisServer {
    /// One that keeps nothing on disk, without a password.
    pub fn new(engine: Engine) -> Self {
        RedisLaunch::new(engine).start()
    }

    pub(super) fn start(starting: Starting) -> Self {
        let child = spawn(&starting);
        let mut server = Self { child, state: State::Runs, starting };
        server.wait_until_ready();
        server
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.starting.port.address()
    }

    /// Where it listens, as a URL. A password stands elsewhere.
    pub fn url(&self) -> String {
        format!("{}://{}", self.starting.secrets.scheme, self.address())
    }

    /// Who serves.
    pub fn engine(&self) -> Engine {
        self.starting.engine
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Its folder: the configuration, the log, and what it keeps on disk.
    pub fn folder(&self) -> &Path {
        self.starting.folder.path()
    }

    /// Whether it answers: it was neither paused nor killed.
    pub fn is_running(&self) -> bool {
        self.state == State::Runs
    }

    /// What it wrote to its log so far.
    pub fn log(&self) -> String {
        fs::read_to_string(self.log_path()).unwrap_or_default()
    }

    fn log_path(&self) -> PathBuf {
        self.folder().join("log.txt")
    }

    /// A connection that does not take the way over its port: it needs no TLS, and is signed in already.
    pub fn control(&self) -> io::Result<Client> {
        let mut client = Client::connect_local(&self.folder().join("control.sock"), PATIENCE)?;
        if let Some(password) = &self.starting.secrets.password {
            client.ask(&["AUTH", password])?;
        }
        Ok(client)
    }

    /// Asks it something. An answer that tells of an error is an answer.
    #[track_caller]
    pub fn ask<W: AsRef<[u8]>>(&self, words: &[W]) -> Reply {
        let reply = self.control().and_then(|mut client| client.ask(words));
        reply.expect("a server that runs answers")
    }

    /// Returns when so many replicas have everything that was written so far. `key` is one that this server may write.
    #[track_caller]
    pub fn wait_until_copied(&self, replicas: i64, key: &str) {
        // Only what the same connection has written is waited for; it is copied behind everything before it.
        let copied = self.control().and_then(|mut client| {
            client.ask(&["SET", key, "copied"])?;
            client.ask(&["WAIT", &replicas.to_string(), "10000"])
        });
        let copied = copied.expect("a server that runs answers");
        assert!(matches!(copied, Reply::Number(copies) if copies >= replicas), "{copied:?}");
    }

    /// One field of its `INFO`, or nothing.
    #[track_caller]
    pub fn info(&self, field: &str) -> String {
        let info = self.whole_info();
        let value = info.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
        value.unwrap_or_default().to_owned()
    }

    /// How many replicas are sent every write. One that is only connected may still be given what was there before.
    pub(super) fn replicas_online(&self) -> usize {
        let info = self.whole_info();
        info.lines().filter(|line| line.starts_with("slave") && line.contains("state=online")).count()
    }

    #[track_caller]
    fn whole_info(&self) -> String {
        // Who makes a server a replica ends all of its connections, and may do so right now.
        let ask = || self.control().and_then(|mut client| client.ask(&["INFO", "everything"]));
        ask().or_else(|_| ask()).expect("a server that runs answers").text()
    }

    /// SIGSTOP: its sockets stay, and nothing is answered. Returns when it has stopped.
    pub fn pause(&mut self) {
        self.signal(Signal::STOP);
        let stopped = WaitIdOptions::STOPPED | WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        waitid(WaitId::Pid(Pid::from_child(&self.child)), stopped).expect("it can be waited for");
        self.state = State::Paused;
    }

    /// SIGCONT: it goes on where it was.
    pub fn resume(&mut self) {
        self.signal(Signal::CONT);
        self.state = State::Runs;
    }

    /// SIGKILL: it ends between two of its instructions.
    pub fn kill(&mut self) {
        self.child.kill().expect("it can be killed");
        self.child.wait().expect("it can be waited for");
        faketime::clear_up(self.pid());
        self.state = State::Ended;
    }

    /// SIGTERM: it ends in good order.
    pub fn terminate(&mut self) {
        self.signal(Signal::TERM);
        wait::until("the server ends", || self.child.try_wait().expect("it can be waited for"));
        self.state = State::Ended;
    }

    /// Starts it again on the same port and in the same folder. One that runs is killed.
    pub fn restart(&mut self) {
        if self.state != State::Ended {
            self.kill();
        }
        self.child = spawn(&self.starting);
        self.state = State::Runs;
        self.wait_until_ready();
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("it can be told");
    }

    #[expect(clippy::panic, reason = "a server that does not start fails its test")]
    fn wait_until_ready(&mut self) {
        wait::until("the server answers", || {
            if let Some(status) = self.child.try_wait().expect("it can be waited for") {
                let name = self.engine().name();
                panic!("{name} ended at once with {status}:\n{}", tail(&self.log()));
            }
            // While it reads what it kept, it answers with an error.
            let reply = self.control().and_then(|mut client| client.ask(&["PING"])).ok()?;
            (reply.text() == "PONG").then_some(())
        });
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        faketime::clear_up(self.pid());
        if std::thread::panicking() {
            eprintln!("{} at {}:\n{}", self.engine().name(), self.address(), tail(&self.log()));
        }
    }
}

fn spawn(starting: &Starting) -> Child {
    let folder = starting.folder.path();
    let log = OpenOptions::new().create(true).append(true).open(folder.join("log.txt"));
    let log = log.expect("the folder is there");
    Command::new(starting.engine.program())
        .arg("server.conf")
        .args(starting.args)
        .env_clear()
        .envs(starting.variables.iter().map(|(name, value)| (name, value)))
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(log.try_clone().expect("a file has many handles"))
        .stderr(log)
        .spawn()
        .expect("the program can be started")
}

/// The last lines of a log.
fn tail(log: &str) -> String {
    let lines: Vec<&str> = log.lines().collect();
    lines[lines.len().saturating_sub(30)..].join("\n")
}
