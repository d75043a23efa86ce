//! `sluicegate account create`: makes an account.

use serde_json::json;

use super::ACCOUNTS;
use super::record::AccountRecord;
use crate::admin_client::{AdminClient, read};
use crate::cli::AccountCreate;
use crate::output::{self, Format};

pub(super) fn run(client: &AdminClient, args: &AccountCreate) -> anyhow::Result<()> {
    let mut body = json!({"name": args.name, "tier": args.tier});
    if let Some(id) = &args.id {
        body["id"] = json!(id);
    }
    if let Some(day) = args.billing_day {
        body["billing_day"] = json!(day);
    }
    if let Some(zone) = &args.timezone {
        body["timezone"] = json!(zone);
    }
    let made = client.post(ACCOUNTS, &body)?;
    match client.format() {
        Format::Json => output::print_json(&made),
        Format::Text => {
            let account: AccountRecord = read(made)?;
            output::print(&format!(
                "{}\nA key for it: sluicegate key create {} --name NAME\n",
                account.facts(),
                account.id
            ))
        }
    }
}
