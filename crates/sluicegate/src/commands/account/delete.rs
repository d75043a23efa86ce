//! `sluicegate account delete`: deletes an account and revokes its keys.

use super::path;
use crate::admin_client::AdminClient;
use crate::cli::AccountDelete;
use crate::output::{self, Format};
use crate::service::about;

pub(super) fn run(client: &AdminClient, args: &AccountDelete) -> anyhow::Result<()> {
    about(client.delete(&path(&args.id)), "account", &args.id)?;
    match client.format() {
        // The server says nothing more either.
        Format::Json => Ok(()),
        Format::Text => output::print(&format!("{} is deleted, and its keys are revoked.\n", args.id)),
    }
}
