//! `sluicegate client reset`: forgets what is held against a client.

use super::path;
use crate::admin_client::AdminClient;
use crate::cli::ClientReset;
use crate::output::{self, Format};
use crate::service::about;

pub(super) fn run(client: &AdminClient, args: &ClientReset) -> anyhow::Result<()> {
    about(client.delete(&format!("{}/reputation", path(&args.id))), "client", &args.id)?;
    match client.format() {
        // The server says nothing more either.
        Format::Json => Ok(()),
        Format::Text => output::print(&format!("Nothing is held against {} any more.\n", args.id)),
    }
}
