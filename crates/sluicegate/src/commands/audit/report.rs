//! What `sluicegate audit verify` prints: what is proven, or the first thing that is not what it was.

use serde_json::{Value, json};
use sluicegate_core::time::Timestamp;
use sluicegate_ledger::chain::{FirstBad, Why};

use super::log::AuditLog;
use super::verify::{Failure, Proof};
use crate::output::{self, Format};
use crate::table::facts;

pub(super) fn proof(format: Format, proof: &Proof) -> anyhow::Result<()> {
    match format {
        Format::Json => output::print_json(&proof_json(proof)),
        Format::Text => {
            if let AuditLog::NotChecked { why } = &proof.audit {
                output::complain(&format!("warning: the audit log was not checked: {why}\n"));
            }
            output::print(&proof_text(proof))
        }
    }
}

fn proof_json(Proof { verified, audit }: &Proof) -> Value {
    let audit = match audit {
        AuditLog::Proven(proven) => json!({
            "checked": true, "entries": proven.signed, "newer": proven.newer,
            "last": proven.head.seq, "link": proven.head.link.to_string(),
        }),
        AuditLog::NotChecked { why } => json!({"checked": false, "why": why}),
    };
    json!({
        "valid": true,
        "segments": verified.segments,
        "pruned": verified.pruned,
        "records": verified.records,
        "incomplete": verified.incomplete,
        "rollups": verified.rows,
        "audit": audit,
        "public_key": verified.key.map(|key| key.to_string()),
        "signed_at": verified.checkpoint.map(|checkpoint| instant(checkpoint.at)),
    })
}

fn proof_text(Proof { verified, audit }: &Proof) -> String {
    let with = |count: u64, more: u64, what: &str| match more {
        0 => count.to_string(),
        more => format!("{count}, and {more} {what}"),
    };
    let audit = match audit {
        AuditLog::Proven(proven) => with(proven.signed, proven.newer, "newer than the checkpoint"),
        AuditLog::NotChecked { .. } => "not checked".to_owned(),
    };
    let none = || "nothing yet".to_owned();
    let table = facts(&[
        ("segments", with(verified.segments, verified.pruned, "that were removed when they were old")),
        ("records", with(verified.records, verified.incomplete, "that were never whole")),
        ("rows of usage", verified.rows.to_string()),
        ("audit entries", audit),
        ("public key", verified.key.map_or_else(none, |key| key.to_string())),
        ("signed at", verified.checkpoint.map_or_else(none, |checkpoint| instant(checkpoint.at))),
    ]);
    format!("Everything is what it was.\n{table}")
}

pub(super) fn failure(format: Format, failure: &Failure) -> anyhow::Result<()> {
    match (format, failure) {
        (Format::Json, Failure::Bad(bad)) => output::print_json(&bad_json(bad)),
        (Format::Json, Failure::Unread(error)) => {
            output::print_json(&json!({"valid": false, "problem": format!("{error:#}")}))
        }
        (Format::Text, Failure::Bad(bad)) => {
            output::complain(&format!("error: {bad}\n  {}\n", advice(bad)));
            Ok(())
        }
        (Format::Text, Failure::Unread(error)) => {
            output::complain(&format!("error: {error:#}\n"));
            Ok(())
        }
    }
}

fn bad_json(bad: &FirstBad) -> Value {
    json!({
        "valid": false,
        "file": bad.file.display().to_string(),
        "line": bad.line,
        "segment": bad.segment.map(|position| position.0),
        "record": bad.position.map(|position| position.0),
        "audit_entry": bad.entry,
        "hour": bad.hour.map(|hour| hour.to_string()),
        "problem": bad.to_string(),
        "advice": advice(bad),
    })
}

/// What to do about it.
fn advice(bad: &FirstBad) -> &'static str {
    match bad.why {
        Why::OtherKey { .. } => {
            "if the key is right, this is another history: compare it with a backup of the data directory"
        }
        Why::Sums | Why::Link => {
            "what it stands beside is proven; restore this file from a backup, so that changes can be named again"
        }
        Why::Rollup => {
            "the records are proven: `sluicegate usage reconcile --against records --repair --yes` counts them again, \
             as far back as they are kept; restore what is older from a backup"
        }
        Why::Cut => "a line that a crash cut off is taken away when the server starts; then verify again",
        _ => {
            "keep a copy of the data directory as it is, restore what is named from a backup, and verify again; usage \
             that was exported before is not touched by it"
        }
    }
}

fn instant(at: Timestamp) -> String {
    let instant = jiff::Timestamp::from_nanosecond(i128::from(at.as_nanos()));
    format!("{:.3}", instant.unwrap_or(jiff::Timestamp::UNIX_EPOCH))
}
