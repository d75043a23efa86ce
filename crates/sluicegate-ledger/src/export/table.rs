//! Rows as comma-separated values, and as JSON objects with the same names.

use std::io::Write;

use serde::Serialize;

use super::error::ExportError;
use super::names::NamedRow;
use crate::usage::Marks;

/// One row. The order of the fields is that of the columns.
#[derive(Serialize)]
struct Line<'r> {
    hour: String,
    account: Option<&'r str>,
    key: Option<&'r str>,
    route: Option<&'r str>,
    tier: Option<&'r str>,
    late: bool,
    degraded: bool,
    requests: i128,
    charged: i128,
    corrected: i128,
    refunded: i128,
    total: i128,
    overage: i128,
    start: String,
    unit: &'static str,
    env: &'static str,
    charge_start: String,
}

/// The names of the columns.
const COLUMNS: [&str; 17] = [
    "hour",
    "account",
    "key",
    "route",
    "tier",
    "late",
    "degraded",
    "requests",
    "charged",
    "corrected",
    "refunded",
    "total",
    "overage",
    "start",
    "unit",
    "env",
    "charge_start",
];

impl<'r> Line<'r> {
    fn new(row: &'r NamedRow) -> Self {
        let NamedRow { start, charge: _, serial: _, account, key, route, tier, unit, marks, sums } = row;
        Self {
            hour: start.hour().to_string(),
            account: account.as_deref(),
            key: key.as_deref(),
            route: route.as_deref(),
            tier: tier.as_deref(),
            late: marks.contains(Marks::LATE),
            degraded: marks.contains(Marks::DEGRADED),
            requests: sums.requests,
            charged: sums.charged,
            corrected: sums.corrected,
            refunded: sums.refunded,
            total: sums.total(),
            overage: sums.net_overage(),
            start: start.to_string(),
            unit: unit.as_str(),
            env: marks.env().as_str(),
            charge_start: row.charge_start().to_string(),
        }
    }
}

/// With the header, which is there even if no row is.
pub(super) fn begin_csv<W: Write>(out: W) -> Result<csv::Writer<W>, ExportError> {
    let mut csv = csv::WriterBuilder::new().has_headers(false).from_writer(out);
    csv.write_record(COLUMNS)?;
    Ok(csv)
}

pub(super) fn write_csv<W: Write>(csv: &mut csv::Writer<W>, row: &NamedRow) -> Result<(), ExportError> {
    let line = Line::new(row);
    let numbers = [line.requests, line.charged, line.corrected, line.refunded, line.total, line.overage];
    for text in [Some(&*line.hour), line.account, line.key, line.route, line.tier] {
        csv.write_field(text.unwrap_or_default())?;
    }
    for flag in [line.late, line.degraded] {
        csv.write_field(if flag { "true" } else { "false" })?;
    }
    for number in numbers {
        csv.write_field(number.to_string())?;
    }
    for text in [&*line.start, line.unit, line.env, &*line.charge_start] {
        csv.write_field(text)?;
    }
    Ok(csv.write_record(None::<&[u8]>)?)
}

pub(super) fn write_json(out: &mut impl Write, row: &NamedRow) -> Result<(), ExportError> {
    serde_json::to_writer(&mut *out, &Line::new(row))?;
    Ok(out.write_all(b"\n")?)
}
