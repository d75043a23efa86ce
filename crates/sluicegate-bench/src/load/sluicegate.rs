//! `sluicegate serve` as a contestant: its policy, its accounts, its addresses.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result};
use serde::Deserialize;
use serde_json::json;
use tokio::task::JoinSet;

use super::caller::Caller;
use super::cores::{Cores, Side};
use super::server::Server;

/// A rate and a monthly quota, both so large that nobody is refused.
pub(crate) const TWO_LIMITS: &str = "two-limits";
/// The same and eight more.
pub(crate) const TEN_LIMITS: &str = "ten-limits";

/// Everything that is on by default stays on: the ledger, all families of headers, both limits.
const POLICY: &str = "\
tiers:
  two-limits: {rate: 1_000_000, burst: 1_000_000_000, quota: 9_000_000_000_000}
  ten-limits:
    rate: 1_000_000
    burst: 1_000_000_000
    quota: 9_000_000_000_000
    limits:
      two-minutes: {algorithm: fixed_window, limit: 1_000_000_000/2m}
      three-minutes: {algorithm: fixed_window, limit: 2_000_000_000/3m}
      four-minutes: {algorithm: fixed_window, limit: 3_000_000_000/4m}
      five-minutes: {algorithm: fixed_window, limit: 4_000_000_000/5m}
      six-minutes: {algorithm: fixed_window, limit: 5_000_000_000/6m}
      seven-minutes: {algorithm: fixed_window, limit: 6_000_000_000/7m}
      eight-minutes: {algorithm: fixed_window, limit: 7_000_000_000/8m}
      nine-minutes: {algorithm: fixed_window, limit: 8_000_000_000/9m}
";

pub(crate) const ADMIN_TOKEN: &str = "admin-token-of-a-benchmark";

/// Accounts that are made at a time: their writes share transactions.
const MAKERS: usize = 64;

/// Where a sluicegate listens: its ready file.
#[derive(Clone, Copy, Deserialize)]
pub(crate) struct Addresses {
    pub(crate) gateway: SocketAddr,
    pub(crate) decision: SocketAddr,
    pub(crate) admin: SocketAddr,
    /// Where it takes commands as Redis does.
    pub(crate) resp: SocketAddr,
}

/// How a sluicegate is started, again and again on the same data.
pub(crate) struct Sluicegate {
    pub(crate) program: PathBuf,
    pub(crate) folder: PathBuf,
    pub(crate) upstream: Option<SocketAddr>,
}

impl Sluicegate {
    pub(crate) fn data_dir(&self) -> PathBuf {
        self.folder.join("data")
    }

    /// Starts it and waits until its ready file is there, looked for this often.
    pub(crate) fn start(&self, cores: Cores, look_every: Duration) -> Result<(Server, Addresses)> {
        self.start_with(POLICY, cores, look_every)
    }

    /// The same with another policy.
    pub(crate) fn start_with(
        &self,
        text: &str,
        cores: Cores,
        look_every: Duration,
    ) -> Result<(Server, Addresses)> {
        let (policy, ready) = (self.folder.join("policy.yaml"), self.folder.join("ready.json"));
        std::fs::write(&policy, text).context("cannot write the policy")?;
        let _ = std::fs::remove_file(&ready);
        let mut command = Command::new(&self.program);
        command.arg("serve").arg("--config").arg(&policy).arg("--data-dir").arg(self.data_dir());
        for listener in ["--gateway", "--decision", "--admin", "--resp"] {
            command.args([listener, "127.0.0.1:0"]);
        }
        command.arg("--ready-file").arg(&ready);
        if let Some(upstream) = self.upstream {
            command.arg("--upstream").arg(format!("http://{upstream}"));
        }
        command.env("SLUICEGATE_ADMIN_TOKEN", ADMIN_TOKEN).env_remove("SLUICEGATE_SECRET");
        let log = self.folder.join("sluicegate.log");
        let mut server = Server::start("sluicegate", &command, Side::Server, cores, log)?;
        let addresses = server.wait_for(look_every, || read_ready(&ready))?;
        Ok((server, addresses))
    }
}

/// What the ready file says, once it is there.
fn read_ready(path: &Path) -> Result<Option<Addresses>> {
    match std::fs::read(path) {
        Ok(bytes) => serde_json::from_slice(&bytes).map(Some).context("the ready file is not as promised"),
        Err(_) => Ok(None),
    }
}

/// Makes accounts of a tier with a key each, through the admin API. Their keys.
pub(crate) async fn make_keys(addresses: Addresses, tier: &str, count: u32) -> Result<Vec<String>> {
    let admin = Caller::new(addresses.admin, Some(ADMIN_TOKEN.to_owned()));
    let mut keys = Vec::with_capacity(count as usize);
    let mut making = JoinSet::new();
    for _ in 0..count {
        if making.len() >= MAKERS
            && let Some(made) = making.join_next().await
        {
            keys.push(made??);
        }
        making.spawn(make_key(admin.clone(), tier.to_owned()));
    }
    while let Some(made) = making.join_next().await {
        keys.push(made??);
    }
    Ok(keys)
}

async fn make_key(admin: Caller, tier: String) -> Result<String> {
    let account = admin.post("/admin/v1/accounts", &json!({"name": "bench", "tier": tier})).await?;
    let account = account["id"].as_str().context("an account without an id")?;
    let key = admin.post(&format!("/admin/v1/accounts/{account}/keys"), &json!({"name": "bench"})).await?;
    Ok(key["key"].as_str().context("a key without its secret")?.to_owned())
}
