//! CloudEvents 1.0 in JSON, in the shape that OpenMeter takes: who in `subject`, how much in `data`.

use std::io::Write;

use serde::Serialize;

use super::error::ExportError;
use super::id::id;
use super::names::NamedRow;
use crate::usage::Marks;

/// The type of events that may be billed.
const TYPE: &str = "sluicegate.usage";
/// The type of events of test keys: a meter that counts the other type does not bill them.
const TYPE_TEST: &str = "sluicegate.usage.test";
/// Who used it, if nobody can be named: `subject` may not be empty.
const ANONYMOUS: &str = "anonymous";

#[derive(Serialize)]
struct Event<'r> {
    specversion: &'static str,
    id: String,
    source: String,
    r#type: &'static str,
    time: String,
    subject: &'r str,
    datacontenttype: &'static str,
    data: Data<'r>,
}

/// Amounts are text: a number in JSON may lose its last digits on the way.
#[derive(Serialize)]
struct Data<'r> {
    total: String,
    overage: String,
    requests: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<&'r str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    route: Option<&'r str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tier: Option<&'r str>,
    unit: &'static str,
    env: &'static str,
    late: bool,
    degraded: bool,
    /// The quarter in which it was recorded, where that is not the one of the charge, which is the time of the event.
    #[serde(skip_serializing_if = "Option::is_none")]
    recorded: Option<String>,
}

pub(super) fn write(out: &mut impl Write, node: &str, row: &NamedRow) -> Result<(), ExportError> {
    let event = Event {
        specversion: "1.0",
        id: id(node, row),
        source: format!("/sluicegate/{node}"),
        r#type: if row.marks.contains(Marks::TEST) { TYPE_TEST } else { TYPE },
        time: row.charge_start().to_string(),
        subject: row.account.as_deref().unwrap_or(ANONYMOUS),
        datacontenttype: "application/json",
        data: Data {
            total: row.sums.total().to_string(),
            overage: row.sums.net_overage().to_string(),
            requests: row.sums.requests.to_string(),
            key: row.key.as_deref(),
            route: row.route.as_deref(),
            tier: row.tier.as_deref(),
            unit: row.unit.as_str(),
            env: row.marks.env().as_str(),
            late: row.marks.contains(Marks::LATE),
            degraded: row.marks.contains(Marks::DEGRADED),
            recorded: row.charge.map(|_| row.start.to_string()),
        },
    };
    serde_json::to_writer(&mut *out, &event)?;
    Ok(out.write_all(b"\n")?)
}
