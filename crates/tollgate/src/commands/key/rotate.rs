//! `tollgate key rotate`: gives a key a new secret, and shows it this once.

use anyhow::Context as _;
use serde_json::json;

use super::path;
use super::record::NewSecret;
use crate::admin_client::{AdminClient, read};
use crate::cli::KeyRotate;
use crate::output::{self, Format};

pub(super) fn run(client: &AdminClient, args: &KeyRotate) -> anyhow::Result<()> {
    let mut body = json!({});
    if let Some(overlap) = &args.overlap {
        body["overlap"] = json!(overlap);
    }
    let rotated = client
        .post(&format!("{}/rotate", path(&args.id)), &body)
        .with_context(|| format!("key {}", args.id))?;
    match client.format() {
        Format::Json => output::print_json(&rotated),
        Format::Text => {
            let rotated: NewSecret = read(rotated)?;
            output::print(&format!("{}\n{}", rotated.record.facts(), rotated.once()))
        }
    }
}
