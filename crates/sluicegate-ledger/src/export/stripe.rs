//! Meter events for Stripe's billing.
//!
//! Stripe forgets identifiers after a day. What may have been sent longer ago is compared with Stripe's own summary of
//! the meter before it is sent again.

use std::io::Write;

use serde::Serialize;

use super::Written;
use super::error::ExportError;
use super::id::id;
use super::names::NamedRow;
use crate::usage::Marks;

/// How meter events are named.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StripeEvents {
    /// The name of the meter's events.
    pub event_name: String,
    /// Under which name the meter looks for the customer. Its value is the id of the account.
    pub customer_key: String,
}

impl Default for StripeEvents {
    fn default() -> Self {
        Self { event_name: "sluicegate_usage".to_owned(), customer_key: "stripe_customer_id".to_owned() }
    }
}

#[derive(Serialize)]
struct Event<'r> {
    event_name: &'r str,
    identifier: String,
    timestamp: u32,
    payload: serde_json::Map<String, serde_json::Value>,
}

/// The time of an event is that of the charge, so that it counts in its period. A row without an account has nobody to
/// be billed, one of a test key is never billed, and one that comes to nothing is no event.
pub(super) fn write(
    out: &mut impl Write,
    node: &str,
    events: &StripeEvents,
    row: &NamedRow,
) -> Result<Written, ExportError> {
    let total = row.sums.total();
    let is_billed = total != 0 && !row.marks.contains(Marks::TEST);
    let Some(account) = row.account.as_ref().filter(|_| is_billed) else { return Ok(Written::LeftOut) };
    // Everything in it is text.
    let mut payload = serde_json::Map::new();
    payload.insert(events.customer_key.clone(), account.clone().into());
    payload.insert("value".to_owned(), total.to_string().into());
    for (name, value) in [("route", &row.route), ("tier", &row.tier)] {
        if let Some(value) = value {
            payload.insert(name.to_owned(), value.clone().into());
        }
    }
    payload.insert("unit".to_owned(), row.unit.as_str().into());
    payload.insert("env".to_owned(), row.marks.env().as_str().into());
    if row.charge.is_some() {
        payload.insert("recorded".to_owned(), row.start.to_string().into());
    }
    let event = Event {
        event_name: &events.event_name,
        identifier: id(node, row),
        timestamp: row.charge_start().start().as_secs(),
        payload,
    };
    serde_json::to_writer(&mut *out, &event)?;
    out.write_all(b"\n")?;
    Ok(Written::Yes)
}
