//! `sluicegate account set-tier`: gives an account another tier, or says what that would come to.

use serde_json::json;

use super::limits::limits_table;
use super::path;
use super::record::AccountRecord;
use crate::admin_client::{AdminClient, read};
use crate::cli::AccountSetTier;
use crate::output::{self, Format};
use crate::service::about;

pub(super) fn run(client: &AdminClient, args: &AccountSetTier) -> anyhow::Result<()> {
    let query = if args.preview { "?preview=true" } else { "" };
    let target = format!("{}/tier{query}", path(&args.id));
    let mut changed = about(client.put(&target, &json!({"tier": args.tier})), "account", &args.id)?;
    if client.format() == Format::Json {
        return output::print_json(&changed);
    }
    let limits = match changed["limits"]["items"].take() {
        serde_json::Value::Null => String::new(),
        items => format!("\n{}", limits_table(items)?),
    };
    let AccountRecord { id, tier, .. } = read(changed)?;
    let said = if args.preview {
        format!("{id} would be in the tier {tier}. Nothing was changed.")
    } else {
        format!("{id} is in the tier {tier}, from its next request on.")
    };
    output::print(&format!("{said}\n{limits}"))
}
