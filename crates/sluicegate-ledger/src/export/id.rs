//! The id of an event: it follows from what the event is about, so the same event has the same id every time.

use std::fmt::Write;

use super::names::NamedRow;
use crate::usage::Marks;

/// From this serial on, serials are unique over all stores.
const UNIQUE_FROM: u64 = 1 << 32;

/// Of rows that were rolled up by the hour. Their ids stay what they were.
const CONTEXT_HOURLY: &str = "sluicegate 2026 usage event v1";
const CONTEXT: &str = "sluicegate 2026 usage event v2";
/// Of rows whose charge was made in another quarter.
const CONTEXT_CHARGE: &str = "sluicegate 2026 usage event v3";

/// 35 characters, which fit every system known to take them.
pub(super) fn id(node: &str, row: &NamedRow) -> String {
    let mark = |mark: Marks| u8::from(row.marks.contains(mark));
    let is_hourly = row.marks.contains(Marks::HOURLY);
    let mut hasher = blake3::Hasher::new_derive_key(match row.charge {
        _ if is_hourly => CONTEXT_HOURLY,
        None => CONTEXT,
        Some(_) => CONTEXT_CHARGE,
    });
    if is_hourly {
        hasher.update(&row.start.hour().number().to_le_bytes());
    } else {
        hasher.update(&row.start.number().to_le_bytes());
        if let Some(charge) = row.charge {
            hasher.update(&charge.number().to_le_bytes());
        }
        hasher.update(&[row.unit.number(), mark(Marks::TEST)]);
    }
    hasher.update(&[mark(Marks::LATE), mark(Marks::DEGRADED)]);
    // With its length before each name, so that no two rows have the same bytes.
    for name in
        [Some(node), row.account.as_deref(), row.key.as_deref(), row.route.as_deref(), row.tier.as_deref()]
    {
        hasher.update(&[u8::from(name.is_some())]);
        let name = name.unwrap_or_default();
        hasher.update(&(name.len() as u64).to_le_bytes());
        hasher.update(name.as_bytes());
    }
    // Two accounts may have had the same name in the same hour. Smaller serials are those of earlier versions, whose
    // events have ids without it.
    if row.serial >= UNIQUE_FROM {
        hasher.update(&row.serial.to_le_bytes());
    }
    let mut id = String::from("sg_");
    for byte in &hasher.finalize().as_bytes()[..16] {
        // Writing to a string does not fail.
        let _ = write!(id, "{byte:02x}");
    }
    id
}
