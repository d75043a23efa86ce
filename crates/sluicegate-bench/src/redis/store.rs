//! The server that all contestants use: one redis-server on a core of its own, and what it says about its work.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};

use super::socket::Socket;
use super::wire;
use crate::load::cores::{Cores, Side};
use crate::load::server::{Server, free_address};

/// The server. It ends when this is dropped.
pub(super) struct Store {
    pub(super) address: SocketAddr,
    control: Socket,
    _server: Server,
}

impl Store {
    pub(super) async fn start(cores: Cores, folder: &Path) -> Result<Self> {
        let found = Command::new("redis-server").arg("--version").output();
        ensure!(found.is_ok(), "redis-server is not installed: `apt install redis-server`");
        let address = free_address()?;
        let mut program = Command::new("redis-server");
        program.args(["--bind", "127.0.0.1", "--port", &address.port().to_string()]);
        // Nothing is written to disk meanwhile.
        program.args(["--save", "", "--appendonly", "no", "--dir"]).arg(folder);
        let log = folder.join("redis-server.log");
        let mut server = Server::start("redis-server", &program, Side::Server, cores, log)?;
        server.wait_until_accepting(address)?;
        Ok(Self { address, control: Socket::connect(address).await?, _server: server })
    }

    /// The name under which the server keeps a script.
    pub(super) async fn load(&mut self, script: &str) -> Result<String> {
        let reply = self.control.ask(&wire::command(&["SCRIPT", "LOAD", script])).await?;
        let name = wire::value(reply).context("a script has a name")?;
        Ok(String::from_utf8(name.to_vec())?)
    }

    /// Processor time of the server so far, as it says itself.
    pub(super) async fn cpu(&mut self) -> Result<Duration> {
        let reply = self.control.ask(&wire::command(&["INFO", "cpu"])).await?;
        cpu_of(&String::from_utf8_lossy(reply)).context("the server does not say how long it worked")
    }
}

fn cpu_of(info: &str) -> Option<Duration> {
    let seconds = |field: &str| {
        let value = info.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'))?;
        value.trim().parse::<f64>().ok()
    };
    Duration::try_from_secs_f64(seconds("used_cpu_user")? + seconds("used_cpu_sys")?).ok()
}

#[cfg(test)]
mod tests {
    use super::cpu_of;
    use std::time::Duration;

    #[test]
    fn processor_time_is_that_of_the_server_and_of_the_system_for_it() {
        let info =
            "$9\r\n# CPU\r\nused_cpu_sys:1.500000\r\nused_cpu_user:0.250000\r\nused_cpu_sys_children:9\r\n";
        assert_eq!(cpu_of(info), Some(Duration::from_millis(1_750)));
        assert_eq!(cpu_of("# CPU"), None);
    }
}
