//! `sluicegate key list`: the keys of an account, in the order in which they were made.

use serde_json::Value;

use super::path_of_account;
use super::record::{COLUMNS, KeyRecord};
use crate::admin_client::{AdminClient, Part, read};
use crate::cli::KeyList;
use crate::output::{self, Format};
use crate::service::about;
use crate::table;

pub(super) fn run(client: &AdminClient, args: &KeyList) -> anyhow::Result<()> {
    let listed = about(
        client.list(&path_of_account(&args.account), &Part::from(&args.part)),
        "account",
        &args.account,
    )?;
    if client.format() == Format::Json {
        return output::print_json(&listed.into_json());
    }
    let note = listed.note();
    output::print(&format!("{}{note}", keys_table(listed.items, &args.account)?))
}

/// The keys of an account for people.
pub(in crate::commands) fn keys_table(keys: Vec<Value>, account: &str) -> anyhow::Result<String> {
    if keys.is_empty() {
        return Ok(format!("It has no keys. Make one: sluicegate key create {account} --name NAME\n"));
    }
    let mut table = table::with_columns(COLUMNS);
    for key in keys {
        table.add_row(read::<KeyRecord>(key)?.row());
    }
    Ok(table::text(&table))
}
