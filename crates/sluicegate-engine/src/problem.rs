//! Denials as problem documents.

pub use sluicegate_core::problem::{CONTENT_TYPE, Denied, denied, of_field, plain, undecided, write_text};

use sluicegate_core::problem::{denied_because, detail};

use crate::decision::{Decision, Denial};

/// What a caller can do that shares the limits of its address with too many others.
const WAY_OUT: &str = "Too many callers come from this address, so they share its limits for a while. \
                       A caller with a session or an API key has limits of its own.";

/// The document for a denied decision.
pub fn of_denial(decision: &Decision, denial: &Denial) -> String {
    let id = decision.id.text();
    denied_because(&body_of(denial, decision.tier(), Some(&id)), &detail_of(decision, denial))
}

/// What the caller of a denied decision can do about it.
pub fn detail_of(decision: &Decision, denial: &Denial) -> String {
    let mut text = detail(denial.error, denial.limit.as_ref().map(|limit| limit.as_str()));
    if decision.standing.squeezed && denial.limit.is_some() {
        text.push(' ');
        text.push_str(WAY_OUT);
    }
    text
}

/// The document for a limit that belongs to nobody's plan, and refuses.
pub fn of_limit(denial: &Denial) -> String {
    denied(&body_of(denial, None, None))
}

fn body_of<'a>(denial: &'a Denial, tier: Option<&'a str>, decision_id: Option<&'a str>) -> Denied<'a> {
    Denied {
        error: denial.error,
        status: denial.status,
        tier,
        limit: denial.limit.as_ref().map(|limit| limit.as_str()),
        retry_after_ms: denial.retry_after.as_millis_ceil(),
        decision_id,
    }
}
