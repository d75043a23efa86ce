//! `POST /v1/sessions`: the place where a caller that passed a challenge gets its cookie.

use tollgate_engine::Engine;

use super::Reply;
use super::refusal::Refusal;

/// Nothing is issued yet: said as it is, whatever the policy says.
pub(super) fn post(engine: &Engine) -> Result<Reply, Refusal> {
    Err(match engine.policy().policy().identity.challenge {
        None => Refusal::NoSessions {
            error: "challenge_not_configured",
            detail: "The policy has no \"identity.challenge\", so there is no challenge to pass.",
        },
        Some(_) => Refusal::NoSessions {
            error: "not_implemented",
            detail: "This version verifies no challenges, though the policy has \"identity.challenge\".",
        },
    })
}
