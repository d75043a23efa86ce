//! Which core the server under test has, and which the clients have.

use std::ffi::OsStr;
use std::process::Command;

use crate::report::note;

/// Where processes run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cores {
    /// Core by core: the server under test alone on one, everything else on another.
    Apart { server: usize, clients: usize },
    /// There are not two cores: the figures say less.
    Shared,
}

/// On which side a process stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// What is measured.
    Server,
    /// The load generator, and the upstream behind proxies.
    Clients,
}

impl Cores {
    /// The first and the last core that this process may use, and what that means for the reader.
    pub(crate) fn choose() -> Self {
        let ids = core_affinity::get_core_ids().unwrap_or_default();
        match (ids.first(), ids.last()) {
            (Some(first), Some(last)) if first.id != last.id => {
                let (server, clients) = (first.id, last.id);
                note(&format!(
                    "the server under test has core {server} to itself, clients and upstreams have core {clients}"
                ));
                Self::Apart { server, clients }
            }
            _ => {
                note("there is one core only: servers and clients share it");
                Self::Shared
            }
        }
    }

    /// The command that runs a program on its side.
    pub(crate) fn command(self, side: Side, program: impl AsRef<OsStr>) -> Command {
        let Self::Apart { server, clients } = self else {
            return Command::new(program);
        };
        let core = match side {
            Side::Server => server,
            Side::Clients => clients,
        };
        let mut command = Command::new("taskset");
        command.arg("-c").arg(core.to_string()).arg(program);
        command
    }
}

#[cfg(test)]
mod tests {
    use super::{Cores, Side};

    #[test]
    fn the_server_and_the_clients_have_a_core_each() {
        let cores = Cores::Apart { server: 0, clients: 3 };
        let words = |side| format!("{:?}", cores.command(side, "wrk"));
        assert_eq!(words(Side::Server), r#""taskset" "-c" "0" "wrk""#);
        assert_eq!(words(Side::Clients), r#""taskset" "-c" "3" "wrk""#);
        assert_eq!(format!("{:?}", Cores::Shared.command(Side::Server, "wrk")), r#""wrk""#);
    }
}
