//! `tollgate account set-tier`: gives an account another tier.

use serde_json::json;

use super::path;
use super::record::AccountRecord;
use crate::admin_client::{AdminClient, read};
use crate::cli::AccountSetTier;
use crate::output::{self, Format};
use crate::service::about;

pub(super) fn run(client: &AdminClient, args: &AccountSetTier) -> anyhow::Result<()> {
    let changed = about(
        client.put(&format!("{}/tier", path(&args.id)), &json!({"tier": args.tier})),
        "account",
        &args.id,
    )?;
    match client.format() {
        Format::Json => output::print_json(&changed),
        Format::Text => {
            let account: AccountRecord = read(changed)?;
            output::print(&format!(
                "{} is in the tier {}, from its next request on.\n",
                account.id, account.tier
            ))
        }
    }
}
