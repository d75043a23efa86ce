//! `sluicegate key rotate`: gives a key a new secret, and shows it this once.

use serde_json::json;

use super::path;
use super::record::NewSecret;
use crate::admin_client::{AdminClient, read};
use crate::cli::KeyRotate;
use crate::output::{self, Format};
use crate::service::about;

pub(super) fn run(client: &AdminClient, args: &KeyRotate) -> anyhow::Result<()> {
    let mut body = json!({});
    if let Some(overlap) = &args.overlap {
        body["overlap"] = json!(overlap);
    }
    let rotated = about(client.post(&format!("{}/rotate", path(&args.id)), &body), "key", &args.id)?;
    match client.format() {
        Format::Json => output::print_json(&rotated),
        Format::Text => {
            let rotated: NewSecret = read(rotated)?;
            output::print(&format!("{}\n{}", rotated.record.facts(), rotated.once()))
        }
    }
}
