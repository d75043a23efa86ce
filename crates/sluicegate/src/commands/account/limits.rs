//! What the limits of an account say, as the server tells it, and as people see it.

use serde::Deserialize;
use serde_json::Value;
use sluicegate_core::rule::bound::grouped;

use crate::admin_client::read;
use crate::table::{self, cell};
use crate::wait_text::wait_text;

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

/// The table of the items that the server told.
pub(super) fn limits_table(items: Value) -> anyhow::Result<String> {
    let limits: Vec<LimitNow> = read(items)?;
    if limits.is_empty() {
        return Ok("It has no limits.\n".to_owned());
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
    Ok(table::text(&table))
}
