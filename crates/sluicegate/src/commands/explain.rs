//! `sluicegate explain`: why a request was answered as it was.

use serde::Deserialize;

use crate::admin_client::{AdminClient, read, segment};
use crate::cli::Explain;
use crate::exit::Exit;
use crate::output::{self, Format};
use crate::service::about;
use crate::table::{cell, facts, text, with_columns};
use crate::wait_text::wait_text;

pub(super) fn run(args: &Explain) -> anyhow::Result<Exit> {
    let client = AdminClient::open(&args.admin)?;
    client.conclude(show(&client, &args.id))
}

fn show(client: &AdminClient, id: &str) -> anyhow::Result<()> {
    let path = format!("/admin/v1/decisions/{}", segment(id));
    let explanation = about(client.get(&path), "decision", id)?;
    match client.format() {
        Format::Json => output::print_json(&explanation),
        Format::Text => output::print(&read::<Explanation>(explanation)?.text()),
    }
}

/// An explanation as the server gives it.
#[derive(Deserialize)]
struct Explanation {
    decision_id: String,
    at: String,
    front: String,
    status: u16,
    error: Option<String>,
    account: Option<String>,
    key: Option<String>,
    client: Option<String>,
    tier: Option<String>,
    policy_version: u64,
    route: Option<String>,
    method: String,
    path: String,
    cost: u64,
    mode: String,
    limits: Vec<Limit>,
    retry_at: Option<String>,
    cost_admitted: u64,
    sentence: String,
}

#[derive(Deserialize)]
struct Limit {
    name: String,
    limit: u64,
    before: State,
    after: State,
    reset_ms: u64,
    refused: bool,
}

#[derive(Deserialize)]
struct State {
    used: u64,
    remaining: u64,
}

impl Explanation {
    fn text(&self) -> String {
        let sentence = cell(&self.sentence);
        let facts = facts(&self.facts());
        if self.limits.is_empty() {
            return format!("{sentence}\n\n{facts}");
        }
        format!("{sentence}\n\n{facts}\n{}", self.limits())
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        let known = |value: &Option<String>| value.clone().unwrap_or_else(|| "not known".to_owned());
        let caller = match (&self.account, &self.key, &self.client) {
            (Some(account), Some(key), _) => format!("account {account}, key {key}"),
            (Some(account), None, _) => format!("account {account}"),
            (None, _, Some(client)) => format!("client {client}"),
            (None, _, None) => "not known".to_owned(),
        };
        let answer = match &self.error {
            Some(error) => format!("{} {error}", self.status),
            None => self.status.to_string(),
        };
        let admitted = match &self.retry_at {
            Some(at) => format!("from {at} on; at that moment a cost of up to {}", self.cost_admitted),
            None => format!("at that moment a cost of up to {}", self.cost_admitted),
        };
        vec![
            ("decision", self.decision_id.clone()),
            ("at", self.at.clone()),
            ("request", format!("{} {}, cost {}", self.method, self.path, self.cost)),
            ("answer", answer),
            ("caller", caller),
            ("tier", known(&self.tier)),
            ("route", self.route.clone().unwrap_or_else(|| "none".to_owned())),
            ("policy", format!("version {}", self.policy_version)),
            ("decided by", format!("{} ({})", self.front, self.mode)),
            ("admitted", admitted),
        ]
    }

    fn limits(&self) -> String {
        let mut table = with_columns(["limit", "of", "used before", "used after", "left", "resets in", ""]);
        for limit in &self.limits {
            table.add_row([
                cell(&limit.name),
                limit.limit.to_string(),
                limit.before.used.to_string(),
                limit.after.used.to_string(),
                limit.after.remaining.to_string(),
                wait_text(limit.reset_ms),
                (if limit.refused { "refused" } else { "" }).to_owned(),
            ]);
        }
        text(&table)
    }
}
