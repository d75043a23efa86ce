//! `sluicegate key revoke`: makes a key invalid, for good.

use super::path;
use crate::admin_client::AdminClient;
use crate::cli::KeyRevoke;
use crate::output::{self, Format};
use crate::service::about;

pub(super) fn run(client: &AdminClient, args: &KeyRevoke) -> anyhow::Result<()> {
    about(client.delete(&path(&args.id)), "key", &args.id)?;
    match client.format() {
        // The server says nothing more either.
        Format::Json => Ok(()),
        Format::Text => output::print(&format!("{} is revoked.\n", args.id)),
    }
}
