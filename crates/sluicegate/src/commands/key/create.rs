//! `sluicegate key create`: makes a key, and shows it this once.

use serde_json::json;

use super::path_of_account;
use super::record::NewSecret;
use super::update::restrict;
use crate::admin_client::{AdminClient, read};
use crate::cli::KeyCreate;
use crate::output::{self, Format};
use crate::service::about;

pub(super) fn run(client: &AdminClient, args: &KeyCreate) -> anyhow::Result<()> {
    let mut body = json!({"name": args.name, "env": args.env.as_str(), "scopes": args.scopes});
    if let Some(end) = &args.expires_at {
        body["expires_at"] = json!(end);
    }
    if let Some(members) = body.as_object_mut() {
        restrict(members, &args.restrictions);
    }
    let made = about(client.post(&path_of_account(&args.account), &body), "account", &args.account)?;
    match client.format() {
        Format::Json => output::print_json(&made),
        Format::Text => {
            let made: NewSecret = read(made)?;
            output::print(&format!("{}\n{}", made.record.facts(), made.once()))
        }
    }
}
