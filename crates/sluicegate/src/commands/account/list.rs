//! `sluicegate account list`: the accounts, in the order in which they were made.

use super::ACCOUNTS;
use super::record::{AccountRecord, COLUMNS};
use crate::admin_client::{AdminClient, Part, read};
use crate::cli::AccountList;
use crate::output::{self, Format};
use crate::table;

pub(super) fn run(client: &AdminClient, args: &AccountList) -> anyhow::Result<()> {
    let listed = client.list(ACCOUNTS, &Part::from(&args.part))?;
    if client.format() == Format::Json {
        return output::print_json(&listed.into_json());
    }
    let note = listed.note();
    if listed.items.is_empty() {
        return output::print(
            "There are no accounts. Make one: sluicegate account create NAME --tier TIER\n",
        );
    }
    let mut table = table::with_columns(COLUMNS);
    for item in listed.items {
        table.add_row(read::<AccountRecord>(item)?.row());
    }
    output::print(&format!("{}{note}", table::text(&table)))
}
