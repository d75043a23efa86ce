//! The answer to a check: the fields of `POST /v1/check`, without the headers.

use sluicegate_engine::{Answer, Decision, HandedPermit};

use super::super::reply::Reply;

pub(super) fn write(decision: &Decision, permit: Option<&HandedPermit>, reply: &mut Reply<'_>) {
    let denial = match &decision.answer {
        Answer::Admitted => None,
        Answer::Denied(denial) => Some(denial),
    };
    reply.map(if permit.is_some() { 11 } else { 10 });
    reply.text("allowed");
    reply.boolean(denial.is_none());
    reply.text("status");
    reply.integer(denial.map_or(200, |denial| denial.status.into()));
    reply.text("error");
    reply.text_or_null(denial.map(|denial| denial.error.as_str()));
    reply.text("decision_id");
    reply.text(&decision.id.text());
    reply.text("tier");
    reply.text_or_null(decision.tier());
    reply.text("account");
    reply.text_or_null(decision.account.as_ref().map(|account| account.id.as_str()));
    reply.text("retry_after_ms");
    reply.unsigned(denial.map_or(0, |denial| denial.retry_after.as_millis_ceil()));
    reply.text("permit");
    match permit {
        None => reply.null(),
        Some(permit) => {
            reply.text(&permit.text);
            reply.text("permit_expires_ms");
            reply.unsigned(permit.lives.as_millis_ceil());
        }
    }
    reply.text("mode");
    reply.text(decision.mode.as_str());
    reply.text("limits");
    reply.array(decision.limits.len());
    for limit in &decision.limits {
        reply.array(4);
        reply.text(limit.name.as_str());
        reply.unsigned(limit.limit);
        reply.unsigned(limit.remaining);
        reply.unsigned(limit.reset.as_millis_ceil());
    }
}
