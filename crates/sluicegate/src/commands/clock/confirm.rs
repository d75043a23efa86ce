//! `sluicegate clock confirm`: the clock that leapt ahead is right.

use serde::Deserialize;
use serde_json::json;

use crate::admin_client::{AdminClient, read};
use crate::output::{self, Format};

/// The answer, as far as a person is told.
#[derive(Deserialize)]
struct Confirmed {
    now: String,
}

pub(super) fn run(client: &AdminClient) -> anyhow::Result<()> {
    let answer = client.post("/admin/v1/clock/confirm", &json!({}))?;
    match client.format() {
        Format::Json => output::print_json(&answer),
        Format::Text => {
            let Confirmed { now } = read(answer)?;
            output::print(&format!("The clock is followed: it is {now}.\n"))
        }
    }
}
