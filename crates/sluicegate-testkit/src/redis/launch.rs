//! How a server is started: what stands in its configuration.

use std::fmt::Write as _;
use std::fs;

use super::server::{Secrets, Starting};
use super::{Engine, RedisServer};
use crate::faketime::WallClock;
use crate::port::Port;

/// What a server is told. Nothing is kept on disk unless it is asked for.
#[derive(Clone, Debug)]
pub struct RedisLaunch {
    engine: Engine,
    lines: Vec<String>,
    password: Option<String>,
    sentinel_password: Option<String>,
    tls: Option<Pem>,
    role: Role,
    wall_clock: Option<WallClock>,
}

/// What a server is there for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Role {
    Data,
    Sentinel,
}

/// A certificate and its key, as text.
#[derive(Clone, Debug)]
struct Pem {
    certificate: String,
    key: String,
}

impl RedisLaunch {
    /// A server that keeps data.
    pub fn new(engine: Engine) -> Self {
        let (password, sentinel_password) = (None, None);
        let (lines, wall_clock) = (Vec::new(), None);
        Self { engine, lines, password, sentinel_password, tls: None, role: Role::Data, wall_clock }
    }

    /// One that watches servers like this.
    pub(super) fn sentinel(&self) -> Self {
        let password = self.sentinel_password.clone();
        Self { role: Role::Sentinel, password, ..Self::new(self.engine) }
    }

    /// With one more line in its configuration. A later line overrides an earlier one.
    #[must_use]
    pub fn line(mut self, line: impl Into<String>) -> Self {
        self.lines.push(line.into());
        self
    }

    /// Only for those who know this password.
    #[must_use]
    pub fn password(mut self, password: &str) -> Self {
        self.password = Some(password.to_owned());
        self
    }

    /// The same for the sentinels that watch it.
    #[must_use]
    pub fn sentinel_password(mut self, password: &str) -> Self {
        self.sentinel_password = Some(password.to_owned());
        self
    }

    pub(super) fn known_password(&self) -> Option<&str> {
        self.password.as_deref()
    }

    /// Over TLS only, with this certificate and key in PEM. The Valkey of the tests is built without it.
    #[must_use]
    pub fn tls(mut self, certificate: &str, key: &str) -> Self {
        self.tls = Some(Pem { certificate: certificate.to_owned(), key: key.to_owned() });
        self
    }

    /// With a wall clock that can be stepped while it runs.
    #[must_use]
    pub fn wall_clock(mut self, clock: &WallClock) -> Self {
        self.wall_clock = Some(clock.clone());
        self
    }

    /// Every write is on disk before it is answered.
    #[must_use]
    pub fn append_only(self) -> Self {
        self.line("appendonly yes").line("appendfsync always")
    }

    /// Starts it and returns when it answers. Fails with its log if it ends before.
    pub fn start(&self) -> RedisServer {
        let folder = tempfile::tempdir().expect("there is room for a folder");
        let port = Port::reserve();
        if let Some(pem) = &self.tls {
            fs::write(folder.path().join("certificate.pem"), &pem.certificate).expect("it can be written");
            fs::write(folder.path().join("key.pem"), &pem.key).expect("it can be written");
        }
        let configuration = self.configuration(port.number());
        fs::write(folder.path().join("server.conf"), configuration).expect("it can be written");
        let args = if self.role == Role::Sentinel { &["--sentinel"][..] } else { &[] };
        let secrets = Secrets {
            password: self.password.clone(),
            scheme: if self.tls.is_some() { "rediss" } else { "redis" },
        };
        let variables = self.wall_clock.as_ref().map(WallClock::variables).unwrap_or_default();
        RedisServer::start(Starting { engine: self.engine, folder, port, args, secrets, variables })
    }

    fn configuration(&self, port: u16) -> String {
        // Relative names lie in the folder of the server, which is where it runs. The local socket is how the tests
        // ask the server things, whatever is done to its port.
        let mut text = "bind 127.0.0.1\nunixsocket control.sock\n".to_owned();
        let _ = match &self.tls {
            None => writeln!(text, "port {port}"),
            Some(_) => writeln!(
                text,
                "port 0\ntls-port {port}\ntls-cert-file certificate.pem\ntls-key-file key.pem\ntls-auth-clients no"
            ),
        };
        if self.role == Role::Data {
            text.push_str("save \"\"\nappendonly no\n");
            // Replicas are ready at once, and known to be after the first ping of their primary.
            text.push_str("repl-diskless-sync-delay 0\nrepl-ping-replica-period 1\n");
        }
        if let Some(password) = &self.password {
            let _ = writeln!(text, "requirepass {password}");
            if self.role == Role::Data {
                let _ = writeln!(text, "masterauth {password}");
            }
        }
        for line in &self.lines {
            let _ = writeln!(text, "{line}");
        }
        text
    }
}
