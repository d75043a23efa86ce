//! What whoever asks about a request that it holds is told of the decision: who called, what the limits say, and how a
//! denial is worded. The same for every proxy, whatever it speaks.

use bytes::Bytes;
use http::HeaderName;
use http::header::{CONTENT_TYPE, WWW_AUTHENTICATE};
use sluicegate_core::time::Timestamp;
use sluicegate_engine::{Decision, Denial, Engine, ErrorCode, problem};

/// One header: its name and its value.
pub(super) type Line = (&'static HeaderName, Bytes);

static ACCOUNT: HeaderName = HeaderName::from_static("x-sluicegate-account");
static TIER: HeaderName = HeaderName::from_static("x-sluicegate-tier");
static DECISION: HeaderName = HeaderName::from_static("x-sluicegate-decision");
static CHALLENGE: HeaderName = WWW_AUTHENTICATE;
static BODY_TYPE: HeaderName = CONTENT_TYPE;
/// What a denial really is, where its status cannot be told.
pub(super) static STATUS: HeaderName = HeaderName::from_static("x-sluicegate-status");

/// What the upstream is told of the caller begins with this, and is nobody else's to say.
pub(super) const OURS: &str = "x-sluicegate-";

/// Frees the place in flight that a request was given: nobody calls back when it has ended.
pub(super) fn free(engine: &Engine, decision: &mut Decision, now: Timestamp) {
    if let Some(permit) = decision.permit.take() {
        // Nothing is settled with it but its place, so that there is nothing to be recorded that could fail.
        let _ = engine.finish(&permit, None, None, now);
    }
}

/// Who it was, as far as there is anything to say.
pub(super) fn caller(decision: &Decision) -> [(&'static HeaderName, Option<Bytes>); 3] {
    let account = decision.account.as_ref().map(|account| copied(account.id.as_str()));
    let id = Some(copied(&decision.id.text()));
    [(&ACCOUNT, account), (&TIER, decision.tier().map(copied)), (&DECISION, id)]
}

/// What else a denial says, beside what the limits do.
pub(super) fn demand(denial: &Denial) -> Option<Line> {
    let asks_for_key = denial.error == ErrorCode::MissingKey;
    asks_for_key.then_some((&CHALLENGE, Bytes::from_static(b"Bearer")))
}

/// That a body is a problem document.
pub(super) fn problem_type() -> Line {
    (&BODY_TYPE, Bytes::from_static(problem::CONTENT_TYPE.as_bytes()))
}

fn copied(text: &str) -> Bytes {
    Bytes::copy_from_slice(text.as_bytes())
}
