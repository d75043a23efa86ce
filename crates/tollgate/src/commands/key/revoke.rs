//! `tollgate key revoke`: makes a key invalid, for good.

use anyhow::Context as _;

use super::path;
use crate::admin_client::AdminClient;
use crate::cli::KeyRevoke;
use crate::output::{self, Format};

pub(super) fn run(client: &AdminClient, args: &KeyRevoke) -> anyhow::Result<()> {
    client.delete(&path(&args.id)).with_context(|| format!("key {}", args.id))?;
    match client.format() {
        // The server says nothing more either.
        Format::Json => Ok(()),
        Format::Text => output::print(&format!("{} is revoked.\n", args.id)),
    }
}
