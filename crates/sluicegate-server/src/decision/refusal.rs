//! The one table from what is wrong with a request to what is answered.

use http::HeaderValue;
use http::header::{ALLOW, RETRY_AFTER, WWW_AUTHENTICATE};
use sluicegate_engine::{Denial, FinishError, problem};

use super::json::Wrong;
use super::{Reply, reply};
use crate::access::Unauthorized;

/// Why no decision was made.
#[derive(Clone, Debug)]
pub(super) enum Refusal {
    /// The request is not what it should be.
    Invalid(Wrong),
    /// The body is larger than this.
    TooLarge { bytes_max: usize },
    /// The body is not said to be JSON.
    MediaType,
    /// The body broke off.
    BrokenOff,
    /// There is nothing at this path.
    NoSuchPath,
    /// There is, for other methods.
    Method { allow: &'static str },
    /// A permit was neither finished nor renewed.
    Finish(FinishError),
    /// The policy has no challenge, so nobody can pass it.
    NoSessions,
    /// The answer to the challenge is wrong.
    ChallengeFailed,
    /// Nobody knows whether it is right.
    CannotVerify,
    /// The address has sent too much, or was issued as many sessions as it gets for now.
    Limited(Denial),
    /// The request was sent by a page in a browser.
    CrossOrigin,
    /// The caller of the port has no credential for it.
    Unauthorized(Unauthorized),
    /// A call that needs what HTTP/1 does not have.
    GrpcNeedsHttp2,
}

impl From<Wrong> for Refusal {
    fn from(wrong: Wrong) -> Self {
        Self::Invalid(wrong)
    }
}

impl Refusal {
    /// The word in `error`.
    pub(super) fn error(&self) -> &'static str {
        match self {
            Self::Invalid(_) | Self::BrokenOff => "invalid_request",
            Self::TooLarge { .. } => "body_too_large",
            Self::MediaType => "unsupported_media_type",
            Self::NoSuchPath => "not_found",
            Self::Method { .. } => "method_not_allowed",
            Self::Finish(FinishError::Unknown) => "unknown_permit",
            Self::Finish(FinishError::TooLate | FinishError::Expired) => "permit_expired",
            Self::Finish(FinishError::Finished) => "permit_finished",
            Self::Finish(FinishError::Unavailable | FinishError::OtherNode) | Self::CannotVerify => {
                "unavailable"
            }
            Self::CrossOrigin => "cross_origin",
            Self::Unauthorized(Unauthorized::Missing | Unauthorized::Wrong) => "unauthorized",
            Self::Unauthorized(Unauthorized::TooMany) => "too_many_attempts",
            Self::Unauthorized(Unauthorized::Role) => "role_too_small",
            Self::NoSessions => "challenge_not_configured",
            Self::ChallengeFailed => "challenge_failed",
            Self::Limited(denial) => denial.error.as_str(),
            Self::GrpcNeedsHttp2 => "http_version_not_supported",
        }
    }

    /// The status it is answered with.
    pub(super) fn status(&self) -> u16 {
        match self {
            Self::Invalid(_) | Self::BrokenOff => 400,
            Self::Unauthorized(Unauthorized::Missing | Unauthorized::Wrong) => 401,
            Self::ChallengeFailed | Self::CrossOrigin | Self::Unauthorized(Unauthorized::Role) => 403,
            Self::NoSuchPath | Self::Finish(FinishError::Unknown) => 404,
            Self::Method { .. } => 405,
            Self::Finish(FinishError::Finished) => 409,
            Self::Finish(FinishError::TooLate | FinishError::Expired) => 410,
            Self::TooLarge { .. } => 413,
            Self::MediaType => 415,
            Self::Unauthorized(Unauthorized::TooMany) => 429,
            Self::NoSessions => 501,
            Self::Finish(FinishError::Unavailable | FinishError::OtherNode) | Self::CannotVerify => 503,
            Self::GrpcNeedsHttp2 => 505,
            Self::Limited(denial) => denial.status,
        }
    }

    /// The problem as a document.
    #[cold]
    pub(super) fn document(&self) -> String {
        let (error, status) = (self.error(), self.status());
        match self {
            Self::Invalid(Wrong { field: Some(field), detail }) => {
                problem::of_field(error, self.title(), status, field, detail)
            }
            Self::Limited(denial) => problem::of_limit(denial),
            _ => problem::plain(error, self.title(), status, &self.detail()),
        }
    }

    /// The answer.
    #[cold]
    pub(super) fn reply(&self) -> Reply {
        let mut reply = reply::problem(self.status(), self.document());
        match self {
            Self::Method { allow } => {
                reply.headers_mut().insert(ALLOW, HeaderValue::from_static(allow));
            }
            Self::Finish(FinishError::Unavailable | FinishError::OtherNode) | Self::CannotVerify => {
                reply.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
            }
            Self::Limited(denial) => {
                let secs = denial.retry_after.as_secs_ceil().max(1);
                reply.headers_mut().insert(RETRY_AFTER, HeaderValue::from(secs));
            }
            Self::Unauthorized(Unauthorized::TooMany) => {
                reply.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("2"));
            }
            Self::Unauthorized(Unauthorized::Missing | Unauthorized::Wrong) => {
                reply.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            _ => {}
        }
        reply
    }

    fn title(&self) -> &'static str {
        match self {
            Self::Invalid(_) | Self::BrokenOff => "The request is not valid",
            Self::TooLarge { .. } => "The body is too large",
            Self::MediaType => "The body must be JSON",
            Self::NoSuchPath => "There is nothing here",
            Self::Method { .. } => "Not with this method",
            Self::Finish(FinishError::Unknown) => "No such permit",
            Self::Finish(FinishError::TooLate | FinishError::Expired) => "The permit has expired",
            Self::Finish(FinishError::Finished) => "The permit is finished",
            Self::Finish(FinishError::Unavailable) => "Cannot record",
            Self::Finish(FinishError::OtherNode) => "Another node has this permit",
            Self::CrossOrigin => "Not from a browser",
            Self::Unauthorized(Unauthorized::Missing | Unauthorized::Wrong) => "A token is needed",
            Self::Unauthorized(Unauthorized::TooMany) => "Too many wrong tokens",
            Self::Unauthorized(Unauthorized::Role) => "The role of the token is not decide",
            Self::NoSessions => "No sessions are issued",
            Self::ChallengeFailed => "The challenge was not passed",
            Self::CannotVerify => "Cannot verify",
            Self::GrpcNeedsHttp2 => "gRPC needs HTTP/2",
            Self::Limited(denial) => denial.error.title(),
        }
    }

    fn detail(&self) -> String {
        match self {
            Self::Invalid(Wrong { detail, .. }) => detail.clone(),
            Self::BrokenOff => "The body broke off before its end.".to_owned(),
            Self::TooLarge { bytes_max } => format!("The body may have at most {bytes_max} bytes."),
            Self::MediaType => "Send the body with \"Content-Type: application/json\".".to_owned(),
            Self::NoSuchPath => "The decision API has /v1/check, /v1/check/batch, /v1/finish, /v1/renew, \
                 /v1/forward-auth, /v1/sessions and /health."
                .to_owned(),
            Self::Method { allow } => format!("Here the method is {allow}."),
            Self::Finish(error) => sentence(&error.to_string()),
            Self::CrossOrigin => "The request has an Origin: a page in a browser sent it.".to_owned(),
            Self::Unauthorized(why) => unauthorized(*why).to_owned(),
            Self::NoSessions => {
                "The policy has no \"identity.challenge\", so there is no challenge to pass.".to_owned()
            }
            Self::ChallengeFailed => {
                "The answer to the challenge is wrong, too old, or was used before: show a new one."
                    .to_owned()
            }
            Self::CannotVerify => {
                "It cannot be verified at the moment whether the challenge was passed.".to_owned()
            }
            Self::GrpcNeedsHttp2 => "Call over HTTP/2, in the clear or under TLS.".to_owned(),
            Self::Limited(denial) => denial.error.detail().to_owned(),
        }
    }
}

fn unauthorized(why: Unauthorized) -> &'static str {
    match why {
        Unauthorized::Missing => {
            "Send a token with the role decide as \"Authorization: Bearer <token>\", or as \"X-Sluicegate-Token\"."
        }
        Unauthorized::Wrong => "The token is wrong, expired or revoked.",
        Unauthorized::TooMany => "Too many wrong tokens were sent from this address.",
        Unauthorized::Role => "Create a token with \"sluicegate token create NAME --role decide\".",
    }
}

/// Errors are written to stand within a sentence; here they are one.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| format!("{}{}.", first.to_uppercase(), letters.as_str()))
}
