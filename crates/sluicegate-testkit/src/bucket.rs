//! A real server that speaks as S3 does (moto), with one bucket that keeps every version of what is written to it.
//!
//! It keeps objects in memory: one that is killed has lost all it ever said it had.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use crate::http::{Answer, Asked, Caller};
use crate::port::Port;
use crate::{python, wait};

/// The name of the bucket.
pub const BUCKET: &str = "usage-bucket";

const VERSIONED: &str = "<VersioningConfiguration xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">\
    <Status>Enabled</Status></VersioningConfiguration>";

/// A server with a bucket. It is killed when this is dropped.
pub struct BucketServer {
    child: Child,
    port: Port,
    folder: TempDir,
}

impl BucketServer {
    /// One with an empty bucket.
    pub fn start() -> Self {
        let (port, folder) = (Port::reserve(), tempfile::tempdir().expect("there is room"));
        let child = spawn(&port, &folder);
        let mut server = Self { child, port, folder };
        server.make_bucket();
        server
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.port.address()
    }

    /// SIGKILL: it ends between two of its instructions, and has forgotten everything.
    pub fn kill(&mut self) {
        self.child.kill().expect("it can be killed");
        self.child.wait().expect("it can be waited for");
    }

    /// Starts it again on the same port, with an empty bucket. One that runs is killed.
    pub fn restart(&mut self) {
        self.kill();
        self.child = spawn(&self.port, &self.folder);
        self.make_bucket();
    }

    /// How often each object was written, by its name.
    pub fn written(&self) -> BTreeMap<String, usize> {
        let answer = self.ask(&Asked::get(&format!("/{BUCKET}?versions&max-keys=1000")));
        let text = answer.text();
        assert_eq!(answer.status, 200, "{text}");
        let names = text.split("<Key>").skip(1).filter_map(|rest| rest.split("</Key>").next());
        let mut written = BTreeMap::new();
        names.for_each(|name| *written.entry(name.to_owned()).or_default() += 1);
        written
    }

    fn ask(&self, asked: &Asked) -> Answer {
        Caller::new(self.address()).send(asked).expect("a server that runs answers")
    }

    #[expect(clippy::panic, reason = "a server that does not start fails its test")]
    fn make_bucket(&mut self) {
        wait::until("the server of the bucket answers", || {
            if let Some(status) = self.child.try_wait().expect("it can be waited for") {
                panic!("the server of the bucket ended at once with {status}:\n{}", self.log());
            }
            Caller::new(self.address()).send(&Asked::get("/moto-api/")).ok()
        });
        let made = self.ask(&Asked::new("PUT", &format!("/{BUCKET}")).body(""));
        assert_eq!(made.status, 200, "{}", made.text());
        let versioned = self.ask(&Asked::new("PUT", &format!("/{BUCKET}?versioning")).body(VERSIONED));
        assert_eq!(versioned.status, 200, "{}", versioned.text());
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log.txt")).unwrap_or_default()
    }
}

impl Drop for BucketServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn spawn(port: &Port, folder: &TempDir) -> Child {
    let log = File::create(folder.path().join("log.txt")).expect("the folder is there");
    Command::new(python::program())
        .args(["-m", "moto.server", "-H", "127.0.0.1", "-p", &port.number().to_string()])
        .env_clear()
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()
        .expect("the program can be started")
}
