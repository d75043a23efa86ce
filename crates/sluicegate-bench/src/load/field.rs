//! Everyone who takes part in a suite: the servers that run, and what each is sent.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use anyhow::Result;

use super::contest::Contestant;
use super::cores::{Cores, Side};
use super::how::Load;
use super::script::{self, Wire};
use super::server::Server;

/// Servers and contestants; a server may stand behind several contestants. All end when this is dropped.
pub(crate) struct Field<'a> {
    pub(crate) cores: Cores,
    /// For scripts, logs and configurations.
    pub(crate) folder: &'a Path,
    pub(crate) contestants: Vec<Contestant>,
    servers: Vec<Server>,
}

/// A server that runs: where it listens, and its process group.
#[derive(Clone, Copy)]
pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    pub(crate) group: u32,
}

impl<'a> Field<'a> {
    pub(crate) fn new(cores: Cores, folder: &'a Path) -> Self {
        Self { cores, folder, contestants: Vec::new(), servers: Vec::new() }
    }

    /// Starts a program that listens at this address.
    pub(crate) fn start(
        &mut self,
        name: &str,
        program: &Command,
        side: Side,
        address: SocketAddr,
    ) -> Result<Running> {
        let log = self.folder.join(format!("{name}.log"));
        let mut server = Server::start(name, program, side, self.cores, log)?;
        server.wait_until_accepting(address)?;
        Ok(self.keep(server, address))
    }

    /// Takes a server that was started otherwise.
    pub(crate) fn keep(&mut self, server: Server, address: SocketAddr) -> Running {
        let group = server.pid();
        self.servers.push(server);
        Running { address, group }
    }

    /// A contestant: a server and what it is sent, with this many decisions in a request.
    pub(crate) fn enter(
        &mut self,
        name: &'static str,
        running: Running,
        requests: &[Wire],
        decisions: u32,
    ) -> Result<()> {
        let load = Load::Requests(script::write(self.folder, name, requests)?);
        self.enter_with(name, running, load, decisions);
        Ok(())
    }

    /// A contestant that is loaded in another way.
    pub(crate) fn enter_with(&mut self, name: &'static str, running: Running, load: Load, decisions: u32) {
        let Running { address, group } = running;
        self.contestants.push(Contestant { name, address, load, group, decisions });
    }

    /// What the servers said at last.
    pub(crate) fn logs(&self) -> String {
        self.servers.iter().map(Server::log_end).collect::<Vec<_>>().join("\n")
    }
}
