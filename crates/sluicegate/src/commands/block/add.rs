//! `sluicegate block add`: blocks a caller.

use serde_json::json;

use super::BLOCKS;
use super::record::BlockRecord;
use crate::admin_client::{AdminClient, read};
use crate::cli::BlockAdd;
use crate::output::{self, Format};
use crate::service::about;

pub(super) fn run(client: &AdminClient, args: &BlockAdd) -> anyhow::Result<()> {
    let who = if args.caller.starts_with("cl_") { "client" } else { "key" };
    let body = json!({(who): args.caller, "for": args.length, "reason": args.reason});
    let made = about(client.post(BLOCKS, &body), who, &args.caller)?;
    match client.format() {
        Format::Json => output::print_json(&made),
        Format::Text => output::print(&read::<BlockRecord>(made)?.facts()),
    }
}
