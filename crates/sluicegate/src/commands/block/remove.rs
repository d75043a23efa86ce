//! `sluicegate block remove`: lifts a block.

use super::BLOCKS;
use crate::admin_client::{AdminClient, segment};
use crate::cli::BlockRemove;
use crate::output::{self, Format};
use crate::service::about;

pub(super) fn run(client: &AdminClient, args: &BlockRemove) -> anyhow::Result<()> {
    about(client.delete(&format!("{BLOCKS}/{}", segment(&args.caller))), "caller", &args.caller)?;
    match client.format() {
        // The server says nothing more either.
        Format::Json => Ok(()),
        Format::Text => output::print(&format!("{} is not blocked any more.\n", args.caller)),
    }
}
