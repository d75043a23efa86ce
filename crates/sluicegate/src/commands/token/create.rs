//! `sluicegate token create`: creates a token, and shows it this once.

use serde_json::json;

use super::PATH;
use super::record::NewToken;
use crate::admin_client::{AdminClient, read};
use crate::cli::TokenCreate;
use crate::output::{self, Format};

pub(super) fn run(client: &AdminClient, args: &TokenCreate) -> anyhow::Result<()> {
    let may: Vec<_> = args.may.iter().map(|may| may.as_str()).collect();
    let mut body = json!({"name": args.name, "role": args.role.as_str(), "may": may});
    if let Some(end) = &args.expires_at {
        body["expires_at"] = json!(end);
    }
    let made = client.post(PATH, &body)?;
    match client.format() {
        Format::Json => output::print_json(&made),
        Format::Text => output::print(&read::<NewToken>(made)?.text()),
    }
}
