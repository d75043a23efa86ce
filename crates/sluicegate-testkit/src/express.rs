//! An Express application, run by Node: a framework that decides for itself which paths are the same.

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

/// The variable that names another folder of Express.
const VARIABLE: &str = "SLUICEGATE_EXPRESS";

/// Where `scripts/express` puts it, under the folder for caches.
const FOLDER: &str = "sluicegate/express/node_modules/express";

/// An application that runs. It ends when this is dropped.
#[derive(Debug)]
pub struct Express {
    child: Child,
    address: SocketAddr,
}

impl Express {
    /// Starts the application in this file, which gets the folder of Express and prints its port.
    #[track_caller]
    pub fn start(application: &Path) -> Self {
        let mut child = Command::new("node")
            .arg(application)
            .arg(folder())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("there is no node: run scripts/test, which needs Node 20 or later");
        let mut line = String::new();
        let printed = child.stdout.take().expect("it was asked for");
        BufReader::new(printed).read_line(&mut line).expect("it can be read");
        let told: Value = serde_json::from_str(&line).expect("the application prints its port");
        let port = told["port"].as_u64().and_then(|port| u16::try_from(port).ok()).expect("a port");
        Self { child, address: SocketAddr::from(([127, 0, 0, 1], port)) }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Express {
    fn drop(&mut self) {
        // It ends when its input does, and is waited for.
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

#[track_caller]
fn folder() -> PathBuf {
    #[expect(
        clippy::disallowed_methods,
        reason = "where programs lie is told by the environment of the tests"
    )]
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = variable("XDG_CACHE_HOME").or_else(|| variable("HOME").map(|home| home.join(".cache")));
    let folder = variable(VARIABLE).or_else(|| cache.map(|cache| cache.join(FOLDER)));
    folder.filter(|folder| folder.is_dir()).expect("there is no Express: run scripts/express")
}
