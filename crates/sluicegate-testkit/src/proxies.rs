//! Real proxies, each in a folder of its own with a port of its own, as people put them before their services.

mod program;

use std::fs::{self, File};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

pub use program::ProxyProgram;

use crate::port::Port;
use crate::wait;

/// A proxy that runs. It is killed when this is dropped.
pub struct Proxy {
    program: ProxyProgram,
    child: Child,
    port: Port,
    folder: TempDir,
}

impl Proxy {
    /// Starts it with these files, name and text, in its folder; one of them is its configuration, by the name that
    /// [`ProxyProgram::configuration`] says. Returns when it listens on the port that the configuration names for
    /// callers. Fails with its log if it ends before.
    pub fn start(program: ProxyProgram, files: &[(String, String)], port: Port) -> Self {
        let folder = tempfile::tempdir().expect("there is room for a folder");
        for (name, text) in files {
            fs::write(folder.path().join(name), text).expect("it can be written");
        }
        let child = spawn(program, &folder);
        let mut proxy = Self { program, child, port, folder };
        proxy.wait_until_it_listens();
        proxy
    }

    /// Where callers connect.
    pub fn address(&self) -> SocketAddr {
        self.port.address()
    }

    /// What it wrote to its log so far.
    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log.txt")).unwrap_or_default()
    }

    #[expect(clippy::panic, reason = "a proxy that does not start fails its test")]
    fn wait_until_it_listens(&mut self) {
        wait::until("the proxy listens", || {
            if let Some(status) = self.child.try_wait().expect("it can be waited for") {
                panic!("{} ended at once with {status}:\n{}", self.program.name(), self.log());
            }
            TcpStream::connect(self.address()).ok()
        });
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            let log = self.log();
            let lines: Vec<&str> = log.lines().collect();
            let last = lines[lines.len().saturating_sub(40)..].join("\n");
            eprintln!("{} at {}:\n{last}", self.program.name(), self.address());
        }
    }
}

fn spawn(program: ProxyProgram, folder: &TempDir) -> Child {
    let log = File::create(folder.path().join("log.txt")).expect("the folder is there");
    Command::new(program.path())
        .args(program.args())
        .env_clear()
        // Where some of them keep what they know.
        .env("HOME", folder.path())
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(log.try_clone().expect("a file has many handles"))
        .stderr(log)
        .spawn()
        .expect("the program can be started")
}
