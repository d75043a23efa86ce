//! The proxies of the suite `gateway`, started before one upstream.

use std::net::SocketAddr;
use std::process::Command;
use std::time::Duration;

use anyhow::Result;

use super::{BARE, DIRECT, HAPROXY, NGINX, OURS, others};
use crate::load::build;
use crate::load::cores::Side;
use crate::load::field::{Field, Running};
use crate::load::options::LoadOptions;
use crate::load::script::Wire;
use crate::load::server::free_address;
use crate::load::sluicegate::{Sluicegate, TWO_LIMITS, make_keys};
use crate::report::note;

/// Callers, sent in turn.
const CALLERS: u32 = 1_000;
const PATH: &str = "/reports";
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Starts everyone who is wanted.
pub(super) async fn start(field: &mut Field<'_>, options: &LoadOptions) -> Result<()> {
    let (program, peer) = (build::sluicegate(options)?, build::peer(options)?);
    let upstream = free_address()?;
    let mut behind = Command::new(&peer);
    behind.arg("upstream").arg("--port").arg(upstream.port().to_string());
    let direct = field.start(DIRECT, &behind, Side::Clients, upstream)?;

    let sluicegate = Sluicegate { program, folder: field.folder.to_owned(), upstream: Some(upstream) };
    let (server, addresses) = sluicegate.start(field.cores, LOOK_EVERY)?;
    let ours = field.keep(server, addresses.gateway);
    let keys = make_keys(addresses, TWO_LIMITS, CALLERS).await?;

    enter(field, DIRECT, direct, &keys)?;
    enter(field, OURS, ours, &keys)?;
    if options.wants(BARE) {
        let address = free_address()?;
        let mut program = Command::new(&peer);
        program.arg("bare-proxy").arg("--port").arg(address.port().to_string());
        program.arg("--upstream").arg(upstream.to_string());
        begin(field, BARE, address, &program, &keys)?;
    }
    if options.wants(NGINX) && found("nginx", "nginx-light") {
        let address = free_address()?;
        begin(field, NGINX, address, &others::nginx(field.folder, address, upstream)?, &keys)?;
    }
    if options.wants(HAPROXY) && found("haproxy", "haproxy") {
        let address = free_address()?;
        begin(field, HAPROXY, address, &others::haproxy(field.folder, address, upstream)?, &keys)?;
    }
    Ok(())
}

fn begin(
    field: &mut Field<'_>,
    name: &'static str,
    address: SocketAddr,
    program: &Command,
    keys: &[String],
) -> Result<()> {
    let running = field.start(name, program, Side::Server, address)?;
    enter(field, name, running, keys)
}

/// Everyone is sent the same requests, with keys that only some look at.
fn enter(field: &mut Field<'_>, name: &'static str, running: Running, keys: &[String]) -> Result<()> {
    let requests: Vec<Wire> = keys.iter().map(|key| Wire::get(running.address, PATH, key)).collect();
    field.enter(name, running, &requests, 1)
}

/// A proxy that is not installed is left out.
fn found(program: &str, package: &str) -> bool {
    let found = build::is_installed(program, "-v");
    if !found {
        note(&format!("{program} is left out, it is not installed: `apt install {package}`"));
    }
    found
}
