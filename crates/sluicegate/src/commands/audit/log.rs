//! The audit log, wherever it is: its entries, one after the other, against what was signed and seen of them.

use std::path::Path;

use anyhow::Context as _;
use serde::Deserialize;
use serde_json::Value;
use sluicegate_ledger::Ledger;
use sluicegate_ledger::chain::AuditVerified;
use sluicegate_ledger::chain::audit::{Entry, Head};
use sluicegate_store::database::{AuditFile, LogPlace};

use super::verify::Failure;
use crate::admin_client::{AdminClient, Part, read};
use crate::cli::AuditVerify;

/// How many entries are read at once.
const ROWS: u16 = 1_000;

/// What is known of the audit log.
pub(super) enum AuditLog {
    /// It is what it was.
    Proven(AuditVerified),
    /// It is in a store that nodes share, and the server that would show it does not.
    NotChecked {
        /// Why not.
        why: String,
    },
}

/// Checks the log of the server with this data directory.
pub(super) fn check(args: &AuditVerify, ledger: &Path, signed: Head) -> Result<AuditLog, Failure> {
    let path = args.data_dir.join("sluicegate.db");
    let file = AuditFile::open(&path).context("the audit log cannot be read")?;
    match file.place().context("the audit log cannot be read")? {
        LogPlace::Here => check_file(&file, &path, ledger, signed),
        LogPlace::Shared => check_shared(args, ledger, signed),
    }
}

fn check_file(file: &AuditFile, path: &Path, ledger: &Path, signed: Head) -> Result<AuditLog, Failure> {
    let mut check = Ledger::check_audit(ledger, path, signed)?;
    let mut last = 0;
    loop {
        let entries = file.after(last, ROWS).with_context(|| path.display().to_string())?;
        let Some(newest) = entries.last() else { break };
        last = newest.seq;
        for entry in &entries {
            check.entry(&entry.entry(), entry.link.as_ref())?;
        }
    }
    Ok(AuditLog::Proven(check.end()?))
}

/// An entry as the server shows it.
#[derive(Deserialize)]
struct Shown {
    seq: u64,
    at: String,
    who: String,
    action: String,
    target: String,
    before: Option<Value>,
    after: Option<Value>,
}

fn check_shared(args: &AuditVerify, ledger: &Path, signed: Head) -> Result<AuditLog, Failure> {
    // Before the entries are asked for: what was seen until now is among them.
    let url = args.admin();
    let mut check = Ledger::check_audit(ledger, Path::new(&format!("{}", url.admin_url)), signed)?;
    let everything = Part { limit: usize::MAX, cursor: None };
    let listed = AdminClient::open(&url).and_then(|client| client.list("/admin/v1/audit", &everything));
    let listed = match listed {
        Ok(listed) => listed,
        Err(error) => return Ok(AuditLog::NotChecked { why: format!("{error:#}") }),
    };
    // The newest comes first.
    for item in listed.items.into_iter().rev() {
        let shown: Shown = read(item)?;
        let at: jiff::Timestamp = shown.at.parse().context("an audit entry has no time that can be read")?;
        let (before, after) = (shown.before.map(|it| it.to_string()), shown.after.map(|it| it.to_string()));
        let entry = Entry {
            seq: shown.seq,
            at: u64::try_from(at.as_nanosecond()).unwrap_or_default(),
            who: &shown.who,
            action: &shown.action,
            target: &shown.target,
            before: before.as_deref(),
            after: after.as_deref(),
        };
        check.entry(&entry, None)?;
    }
    Ok(AuditLog::Proven(check.end()?))
}
