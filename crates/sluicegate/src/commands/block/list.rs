//! `sluicegate block list`: who is blocked.

use super::BLOCKS;
use super::record::{BlockRecord, COLUMNS};
use crate::admin_client::{AdminClient, Part, read};
use crate::cli::BlockList;
use crate::output::{self, Format};
use crate::table;

pub(super) fn run(client: &AdminClient, args: &BlockList) -> anyhow::Result<()> {
    let listed = client.list(BLOCKS, &Part::from(&args.part))?;
    if client.format() == Format::Json {
        return output::print_json(&listed.into_json());
    }
    let note = listed.note();
    if listed.items.is_empty() {
        return output::print("Nobody is blocked.\n");
    }
    let mut table = table::with_columns(COLUMNS);
    for item in listed.items {
        table.add_row(read::<BlockRecord>(item)?.row());
    }
    output::print(&format!("{}{note}", table::text(&table)))
}
