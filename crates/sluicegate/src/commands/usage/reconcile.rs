//! `sluicegate usage reconcile`: whether meters, files and bills agree with the ledger.

use std::fmt::Write as _;

use anyhow::Context as _;
use serde::Deserialize;
use serde_json::Value;

use super::{USAGE, query};
use crate::admin_client::{AdminClient, read};
use crate::cli::{Against, UsageReconcile};
use crate::exit::Exit;
use crate::http_client::Content;
use crate::output::{self, Format};
use crate::table::{self, cell};

#[derive(Deserialize)]
struct Reconciled {
    against: String,
    compared: u64,
    differences: Vec<Difference>,
    #[serde(default)]
    agreeing: Vec<Difference>,
    missing: Vec<String>,
    damaged: Vec<String>,
    drift: Drift,
    repaired: u64,
}

#[derive(Deserialize)]
struct Drift {
    accounts: u64,
    units: u64,
}

#[derive(Deserialize)]
struct Difference {
    account: Option<String>,
    hour: Option<String>,
    limit: Option<String>,
    key: Option<u32>,
    env: Option<String>,
    ledger: i64,
    other: i64,
}

pub(super) fn run(client: &AdminClient, args: &UsageReconcile) -> anyhow::Result<Exit> {
    let bill = match &args.bill {
        Some(path) => Some(std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?),
        None => None,
    };
    let against = args.against.unwrap_or(if bill.is_some() { Against::Bill } else { Against::Meters });
    let body = match bill {
        Some(bill) => bill,
        None => others(args)?.into_bytes(),
    };
    let [from, to] = args.period.parameters();
    let asked = query(&[
        ("against", Some(against.as_str())),
        ("account", args.account.as_deref()),
        from,
        to,
        ("repair", args.repair.then_some("true")),
        ("alone", args.alone.then_some("true")),
    ]);
    let content = if body.is_empty() { Content::Nothing } else { Content::Csv(&body) };
    let answer = client.post_long(&format!("{USAGE}/reconcile{asked}"), content)?;
    let reconciled: Reconciled = read(answer.clone())?;
    match client.format() {
        Format::Json => output::print_json(&answer)?,
        Format::Text => output::print(&reconciled.text())?,
    }
    Ok(reconciled.exit())
}

/// What the other nodes have recorded, as the server reads it.
fn others(args: &UsageReconcile) -> anyhow::Result<String> {
    let mut lines = String::new();
    for node in &args.node {
        let client = AdminClient::open(&args.admin.at(node.clone()))?;
        let asked = query(&[
            ("against", Some(Against::Meters.as_str())),
            ("account", args.account.as_deref()),
            ("all", Some("true")),
        ]);
        let answer: Value = client.post_long(&format!("{USAGE}/reconcile{asked}"), Content::Nothing)?;
        let theirs: Reconciled = read(answer)?;
        for count in theirs.differences.iter().chain(&theirs.agreeing) {
            let (Some(account), Some(limit)) = (&count.account, &count.limit) else { continue };
            let mut key = count.key.map(|key| key.to_string()).unwrap_or_default();
            if let Some(env) = &count.env {
                let _ = write!(key, ":{env}");
            }
            let _ = writeln!(lines, "{account},{limit},{key},{}", count.ledger);
        }
    }
    // Even if they recorded nothing: they were asked.
    let header = if args.node.is_empty() { "" } else { "account,limit,key,total\n" };
    Ok(format!("{header}{lines}"))
}

impl Reconciled {
    /// Whether everything agrees, or does now.
    fn exit(&self) -> Exit {
        let found = self.differences.len() + self.missing.len() + self.damaged.len();
        if self.repaired >= found as u64 { Exit::Done } else { Exit::Failed }
    }

    fn text(&self) -> String {
        let mut text = String::new();
        if !self.differences.is_empty() {
            let mut table = table::with_columns(["account", "hour", "quota", "ledger", &self.against]);
            for difference in &self.differences {
                table.add_row(difference.row());
            }
            text.push_str(&table::text(&table));
        }
        for hour in &self.missing {
            let _ = writeln!(text, "The file of {hour} is not there.");
        }
        for hour in &self.damaged {
            let _ = writeln!(text, "The file of {hour} is not what was sealed.");
        }
        let Self { against, compared, repaired, drift: Drift { accounts, units }, .. } = self;
        let what = match against.as_str() {
            "meters" => format!("Quotas compared: {compared}"),
            "sealed" => format!("Files compared: {compared}"),
            "records" => "The records were counted once more".to_owned(),
            _ => "The bill was compared".to_owned(),
        };
        let lost = self.missing.len() + self.damaged.len();
        let _ = match (self.differences.len(), lost, *repaired) {
            (0, 0, _) => writeln!(text, "{what}; no differences."),
            (0, lost, 0) => writeln!(text, "{what}; {lost} are missing or damaged."),
            (0, _, written) => writeln!(text, "{what}; {written} were written anew."),
            (found, _, 0) => {
                writeln!(text, "{what}; {found} differ, by {units} units of {accounts} accounts.")
            }
            (found, _, repaired) => writeln!(text, "{what}; {found} differed, {repaired} were set right."),
        };
        text
    }
}

impl Difference {
    fn row(&self) -> [String; 5] {
        let quota = self.limit.as_ref().map(|limit| match (self.key, &self.env) {
            (Some(key), _) => format!("{limit} of key {key}"),
            (None, Some(env)) => format!("{limit} of {env} keys"),
            (None, None) => limit.clone(),
        });
        [
            cell(self.account.as_deref().unwrap_or("(no key)")),
            self.hour.clone().unwrap_or_else(|| "all".to_owned()),
            quota.unwrap_or_default(),
            self.ledger.to_string(),
            self.other.to_string(),
        ]
    }
}
