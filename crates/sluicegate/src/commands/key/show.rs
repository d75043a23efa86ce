//! `sluicegate key show`: what is known of a key.

use super::path;
use super::record::KeyRecord;
use crate::admin_client::{AdminClient, read};
use crate::cli::KeyShow;
use crate::output::{self, Format};
use crate::service::about;

pub(super) fn run(client: &AdminClient, args: &KeyShow) -> anyhow::Result<()> {
    let key = about(client.get(&path(&args.id)), "key", &args.id)?;
    match client.format() {
        Format::Json => output::print_json(&key),
        Format::Text => output::print(&read::<KeyRecord>(key)?.facts()),
    }
}
