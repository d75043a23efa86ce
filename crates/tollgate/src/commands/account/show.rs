//! `tollgate account show`: an account, what its limits say now, and its keys.

use serde::Deserialize;
use serde_json::json;
use tollgate_core::rule::bound::grouped;

use super::path;
use super::record::AccountRecord;
use crate::admin_client::{AdminClient, Part, read};
use crate::cli::AccountShow;
use crate::commands::key::keys_table;
use crate::output::{self, Format};
use crate::service::about;
use crate::table::{self, cell};
use crate::wait_text::wait_text;

/// More keys are for `tollgate key list`.
const KEYS_MAX: usize = 100;

const LIMIT_COLUMNS: [&str; 6] = ["limit", "of key", "amount", "used", "remaining", "more in"];

/// What a limit says.
#[derive(Deserialize)]
struct LimitNow {
    name: String,
    limit: u64,
    used: u64,
    remaining: u64,
    reset_ms: u64,
    key: Option<String>,
}

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
    let limits = limits_table(&read::<Vec<LimitNow>>(limits["items"].take())?);
    let more = match keys.next {
        Some(_) => format!("There are more: tollgate key list {}\n", args.id),
        None => String::new(),
    };
    let keys = keys_table(keys.items, &args.id)?;
    output::print(&format!("{}\n{limits}\n{keys}{more}", read::<AccountRecord>(account)?.facts()))
}

fn limits_table(limits: &[LimitNow]) -> String {
    if limits.is_empty() {
        return "It has no limits.\n".to_owned();
    }
    let mut table = table::with_columns(LIMIT_COLUMNS);
    for limit in limits {
        table.add_row([
            cell(&limit.name),
            cell(limit.key.as_deref().unwrap_or("all share it")),
            grouped(limit.limit),
            grouped(limit.used),
            grouped(limit.remaining),
            wait_text(limit.reset_ms),
        ]);
    }
    table::text(&table)
}
