//! A decision as the server tells it, and as people see it.

use serde::Deserialize;
use sluicegate_core::rule::bound::grouped;

use crate::table::{self, cell, facts};
use crate::wait_text::wait_text;

/// A decision.
#[derive(Deserialize)]
pub(super) struct Decided {
    allowed: bool,
    status: u16,
    error: Option<String>,
    decision_id: String,
    tier: Option<String>,
    account: Option<String>,
    retry_after_ms: u64,
    limits: Vec<LimitNow>,
    mode: String,
}

/// What a limit says after it.
#[derive(Deserialize)]
struct LimitNow {
    name: String,
    limit: u64,
    remaining: u64,
    reset_ms: u64,
}

/// Whether the request may pass.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Verdict {
    /// It may.
    Admitted,
    /// It may not.
    Denied,
}

const LIMIT_COLUMNS: [&str; 4] = ["limit", "amount", "remaining", "more in"];

impl Decided {
    pub(super) fn verdict(&self) -> Verdict {
        if self.allowed { Verdict::Admitted } else { Verdict::Denied }
    }

    /// The decision, and below it the limits.
    pub(super) fn text(&self) -> String {
        let allowed = match self.verdict() {
            Verdict::Admitted => "yes",
            Verdict::Denied => "no",
        };
        let mut known = vec![("allowed", allowed.to_owned()), ("status", self.status.to_string())];
        let some = [("error", &self.error), ("tier", &self.tier), ("account", &self.account)];
        known.extend(some.into_iter().filter_map(|(name, value)| Some((name, value.clone()?))));
        if self.retry_after_ms > 0 {
            known.push(("retry after", wait_text(self.retry_after_ms)));
        }
        if self.mode != "normal" {
            known.push(("mode", self.mode.clone()));
        }
        known.push(("decision", self.decision_id.clone()));
        format!("{}{}", facts(&known), self.limits_text())
    }

    fn limits_text(&self) -> String {
        if self.limits.is_empty() {
            return String::new();
        }
        let mut table = table::with_columns(LIMIT_COLUMNS);
        for limit in &self.limits {
            table.add_row([
                cell(&limit.name),
                grouped(limit.limit),
                grouped(limit.remaining),
                wait_text(limit.reset_ms),
            ]);
        }
        format!("\n{}", table::text(&table))
    }
}
