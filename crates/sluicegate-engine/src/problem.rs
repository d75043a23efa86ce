//! Denials as problem documents.

pub use sluicegate_core::problem::{CONTENT_TYPE, Denied, denied, of_field, plain, undecided, write_text};

use crate::decision::{Decision, Denial};

/// The document for a denied decision.
pub fn of_denial(decision: &Decision, denial: &Denial) -> String {
    document(denial, decision.tier(), Some(&decision.id.text()))
}

/// The document for a limit that belongs to nobody's plan, and refuses.
pub fn of_limit(denial: &Denial) -> String {
    document(denial, None, None)
}

fn document(denial: &Denial, tier: Option<&str>, decision_id: Option<&str>) -> String {
    denied(&Denied {
        error: denial.error,
        status: denial.status,
        tier,
        limit: denial.limit.as_ref().map(|limit| limit.as_str()),
        retry_after_ms: denial.retry_after.as_millis_ceil(),
        decision_id,
    })
}
