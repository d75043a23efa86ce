//! The ready file: where a server listens, told in one atomic write once it does.

use std::io::Write as _;
use std::net::SocketAddr;
use std::path::Path;

use anyhow::Context as _;
use serde::Serialize;

/// Where a server listens.
#[derive(Clone, Copy, Serialize, Debug)]
pub(super) struct Addresses {
    pub(super) gateway: SocketAddr,
    pub(super) decision: SocketAddr,
    pub(super) admin: SocketAddr,
    /// Only where somebody wanted it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) resp: Option<SocketAddr>,
}

#[derive(Serialize)]
struct Ready {
    #[serde(flatten)]
    addresses: Addresses,
    pid: u32,
}

/// Writes the file.
pub(super) fn write(path: &Path, addresses: Addresses) -> anyhow::Result<()> {
    let text = serde_json::to_string(&Ready { addresses, pid: std::process::id() })?;
    let mut unfinished = path.as_os_str().to_owned();
    unfinished.push(".new");
    let written = std::fs::File::create(&unfinished)
        .and_then(|mut file| file.write_all(format!("{text}\n").as_bytes()).and_then(|()| file.sync_all()))
        .and_then(|()| std::fs::rename(&unfinished, path));
    written.with_context(|| format!("cannot write the ready file {}", path.display()))
}
