//! `sluicegate client show`: what is held against a client.

use serde::Deserialize;

use super::path;
use crate::admin_client::{AdminClient, read};
use crate::cli::ClientShow;
use crate::commands::block::record::BlockRecord;
use crate::output::{self, Format};
use crate::service::about;
use crate::table::facts;

/// A client as the server tells it.
#[derive(Deserialize)]
struct ClientRecord {
    id: String,
    tier: String,
    reputation: Option<Reputation>,
    strikes: Option<Strikes>,
    block: Option<BlockRecord>,
    pressure: Option<Pressure>,
}

#[derive(Deserialize)]
struct Reputation {
    score: u64,
    bucket: String,
    limits_percent: u64,
}

#[derive(Deserialize)]
struct Strikes {
    count: u64,
    limit: u64,
}

#[derive(Deserialize)]
struct Pressure {
    until: Option<String>,
    address: String,
}

pub(super) fn run(client: &AdminClient, args: &ClientShow) -> anyhow::Result<()> {
    let shown = about(client.get(&path(&args.id)), "client", &args.id)?;
    match client.format() {
        Format::Json => output::print_json(&shown),
        Format::Text => output::print(&read::<ClientRecord>(shown)?.facts()),
    }
}

impl ClientRecord {
    fn facts(&self) -> String {
        let none = || "not kept".to_owned();
        let reputation = self.reputation.as_ref().map_or_else(none, |known| {
            let Reputation { score, bucket, limits_percent } = known;
            format!("{score} of 100 ({bucket}): {limits_percent}% of its limits")
        });
        let strikes = self.strikes.as_ref().map_or_else(none, |known| {
            let Strikes { count, limit } = known;
            format!("{count} of {limit} before it is blocked")
        });
        let blocked =
            self.block.as_ref().map_or_else(|| "no".to_owned(), |block| format!("until {}", block.until));
        let pressure = self.pressure.as_ref().map_or_else(
            || "not known".to_owned(),
            |Pressure { until, address }| match until {
                Some(until) => format!("address {address} is squeezed until {until}"),
                None => format!("address {address} is not squeezed"),
            },
        );
        facts(&[
            ("client", self.id.clone()),
            ("tier", self.tier.clone()),
            ("reputation", reputation),
            ("refusals", strikes),
            ("blocked", blocked),
            ("pressure", pressure),
        ])
    }
}
