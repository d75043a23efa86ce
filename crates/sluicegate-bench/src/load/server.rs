//! A server as a child process: started on a free port, ended by its pid, its log kept for when it fails.

use std::fs::File;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use super::cores::{Cores, Side};
use crate::timing::{pause, stopwatch};

const START_MAX: Duration = Duration::from_secs(30);
const END_MAX: Duration = Duration::from_secs(40);
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// As much of a log as helps.
const LOG_LINES_MAX: usize = 30;

/// A running server. It ends when this is dropped.
pub(crate) struct Server {
    name: String,
    child: Child,
    log: PathBuf,
}

/// A port of the loopback address that nobody has.
pub(crate) fn free_address() -> Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no free port")?;
    listener.local_addr().context("no free port")
}

/// The program behind `setpriv`, where there is one: Linux then ends it when its parent ends.
fn mortal(pinned: &Command) -> Command {
    let setpriv = Command::new("setpriv").arg("--version").output();
    if !setpriv.is_ok_and(|output| output.status.success()) {
        return Command::new(pinned.get_program());
    }
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "TERM"]).arg(pinned.get_program());
    command
}

impl Server {
    /// Starts a program in a process group of its own, which ends with this process whatever ends this one.
    pub(crate) fn start(
        name: &str,
        program: &Command,
        side: Side,
        cores: Cores,
        log: PathBuf,
    ) -> Result<Self> {
        let pinned = cores.command(side, program.get_program());
        let mut command = mortal(&pinned);
        command.args(pinned.get_args()).args(program.get_args());
        for (name, value) in program.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        let file = File::create(&log).with_context(|| format!("cannot write {}", log.display()))?;
        command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file).process_group(0);
        let child = command.spawn().with_context(|| format!("cannot start {name}"))?;
        Ok(Self { name: name.to_owned(), child, log })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits until `ready` gives something, or fails with the server's log.
    pub(crate) fn wait_for<T>(
        &mut self,
        every: Duration,
        mut ready: impl FnMut() -> Result<Option<T>>,
    ) -> Result<T> {
        let watch = stopwatch();
        loop {
            if let Some(found) = ready()? {
                return Ok(found);
            }
            if let Some(status) = self.child.try_wait()? {
                bail!("{} has ended with {status}:\n{}", self.name, self.log_end());
            }
            if watch.elapsed() > START_MAX {
                bail!("{} does not get ready:\n{}", self.name, self.log_end());
            }
            pause(every);
        }
    }

    /// Waits until it accepts connections.
    pub(crate) fn wait_until_accepting(&mut self, address: SocketAddr) -> Result<()> {
        self.wait_for(LOOK_EVERY, || Ok(TcpStream::connect(address).ok().map(drop)))
    }

    /// The last lines that it wrote.
    pub(crate) fn log_end(&self) -> String {
        let text = std::fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(LOG_LINES_MAX)..].join("\n")
    }

    /// Asks it to end and waits; one that does not is killed.
    pub(crate) fn end(&mut self) {
        let Some(pid) = Pid::from_raw(self.child.id().cast_signed()) else { return };
        if !matches!(self.child.try_wait(), Ok(None)) {
            return;
        }
        let _ = kill_process(pid, Signal::TERM);
        let watch = stopwatch();
        while matches!(self.child.try_wait(), Ok(None)) {
            if watch.elapsed() > END_MAX {
                let _ = kill_process_group(pid, Signal::KILL);
                let _ = self.child.wait();
                return;
            }
            pause(LOOK_EVERY);
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::{Server, free_address};
    use crate::load::cores::{Cores, Side};
    use std::process::Command;

    fn shell(script: &str, folder: &tempfile::TempDir) -> Server {
        let mut program = Command::new("sh");
        program.args(["-c", script]);
        Server::start("sh", &program, Side::Server, Cores::Shared, folder.path().join("log")).unwrap()
    }

    #[test]
    fn a_server_that_ends_at_once_is_shown_with_its_log() {
        let folder = tempfile::tempdir().unwrap();
        let mut server = shell("echo no such flag; exit 3", &folder);
        let error = server.wait_until_accepting(free_address().unwrap()).unwrap_err().to_string();
        assert!(error.contains("exit status: 3") && error.ends_with("no such flag"), "{error}");
    }

    #[test]
    fn a_server_ends_when_it_is_asked_to() {
        let folder = tempfile::tempdir().unwrap();
        let mut server = shell("exec sleep 600", &folder);
        let pid = server.pid();
        server.end();
        assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists());
    }
}
