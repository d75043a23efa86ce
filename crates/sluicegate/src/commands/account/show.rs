//! `sluicegate account show`: an account, what its limits say now, and its keys.

use serde_json::json;

use super::limits::limits_table;
use super::path;
use super::record::AccountRecord;
use crate::admin_client::{AdminClient, Part, read};
use crate::cli::AccountShow;
use crate::commands::key::keys_table;
use crate::output::{self, Format};
use crate::service::about;

/// More keys are for `sluicegate key list`.
const KEYS_MAX: usize = 100;

pub(super) fn run(client: &AdminClient, args: &AccountShow) -> anyhow::Result<()> {
    let path = path(&args.id);
    let mut account = about(client.get(&path), "account", &args.id)?;
    let mut limits = client.get(&format!("{path}/limits"))?;
    let keys = client.list(&format!("{path}/keys"), &Part { limit: KEYS_MAX, cursor: None })?;
    if client.format() == Format::Json {
        account["limits"] = limits["items"].take();
        account["keys"] = json!(keys.items);
        return output::print_json(&account);
    }
    let limits = limits_table(limits["items"].take())?;
    let more = match keys.next {
        Some(_) => format!("There are more: sluicegate key list {}\n", args.id),
        None => String::new(),
    };
    let keys = keys_table(keys.items, &args.id)?;
    output::print(&format!("{}\n{limits}\n{keys}{more}", read::<AccountRecord>(account)?.facts()))
}
