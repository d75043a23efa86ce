//! `sluicegate token list`: the tokens that are not revoked.

use serde_json::Value;

use super::PATH;
use super::record::{COLUMNS, TokenRecord};
use crate::admin_client::{AdminClient, read};
use crate::output::{self, Format};
use crate::table;

pub(super) fn run(client: &AdminClient) -> anyhow::Result<()> {
    let listed = client.get(PATH)?;
    if client.format() == Format::Json {
        return output::print_json(&listed);
    }
    let items = listed["items"].as_array().cloned().unwrap_or_default();
    output::print(&tokens_table(items)?)
}

fn tokens_table(tokens: Vec<Value>) -> anyhow::Result<String> {
    if tokens.is_empty() {
        return Ok(
            "There are no named tokens. Create one: sluicegate token create NAME --role ROLE\n".to_owned()
        );
    }
    let mut table = table::with_columns(COLUMNS);
    for token in tokens {
        table.add_row(read::<TokenRecord>(token)?.row());
    }
    Ok(table::text(&table))
}
