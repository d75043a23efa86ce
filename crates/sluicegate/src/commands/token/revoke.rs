//! `sluicegate token revoke`: makes a token invalid, for good.

use super::PATH;
use crate::admin_client::{AdminClient, segment};
use crate::cli::TokenRevoke;
use crate::output::{self, Format};
use crate::service::about;

pub(super) fn run(client: &AdminClient, args: &TokenRevoke) -> anyhow::Result<()> {
    about(client.delete(&format!("{PATH}/{}", segment(&args.id))), "token", &args.id)?;
    match client.format() {
        // The server says nothing more either.
        Format::Json => Ok(()),
        Format::Text => output::print(&format!("{} is revoked.\n", args.id)),
    }
}
