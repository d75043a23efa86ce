//! Everything that can be answered but success: one table from error to status, one shape of document.

use axum::response::{IntoResponse, Response};
use http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderValue, StatusCode};
use serde::Serialize;
use sluicegate_core::file;
use sluicegate_core::time::Nanos;
use sluicegate_engine::abuse::BlockError;
use sluicegate_engine::problem;
use sluicegate_node::log_gate::LogGate;
use sluicegate_store::directory::{FieldError, ReadError, RedisError, StoreError, What, WriteError};
use sluicegate_store::redis::Away;
use utoipa::ToSchema;

/// What can go wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Error {
    MalformedBody,
    InvalidQuery,
    Unauthorized,
    CrossSite,
    RoleTooSmall,
    TokenExists,
    TooManyTokens,
    NotFound,
    MethodNotAllowed,
    AlreadyExists,
    KeyRevoked,
    KeyExpired,
    TooManyKeys,
    ClockPlausible,
    StoreNotAdopted,
    BodyTooLarge,
    MediaType,
    InvalidField,
    UndefinedTier,
    InvalidTier,
    TooManyAttempts,
    Internal,
    Unavailable,
}

impl Error {
    /// The status, the word for programs and the words for people.
    const fn row(self) -> (StatusCode, &'static str, &'static str) {
        use StatusCode as S;
        match self {
            Self::MalformedBody => (S::BAD_REQUEST, "malformed_body", "The body cannot be read"),
            Self::InvalidQuery => (S::BAD_REQUEST, "invalid_query", "A query parameter is wrong"),
            Self::Unauthorized => (S::UNAUTHORIZED, "unauthorized", "A token is needed"),
            Self::RoleTooSmall => (S::FORBIDDEN, "role_too_small", "The role of the token is too small"),
            Self::TokenExists => (S::CONFLICT, "already_exists", "The name is taken"),
            Self::TooManyTokens => (S::CONFLICT, "too_many_tokens", "There are too many tokens"),
            Self::CrossSite => (S::FORBIDDEN, "cross_site", "The request does not come from the dashboard"),
            Self::NotFound => (S::NOT_FOUND, "not_found", "There is no such thing"),
            Self::MethodNotAllowed => {
                (S::METHOD_NOT_ALLOWED, "method_not_allowed", "This cannot be done here")
            }
            Self::AlreadyExists => (S::CONFLICT, "already_exists", "The id is taken"),
            Self::KeyRevoked => (S::CONFLICT, "key_revoked", "The key is revoked"),
            Self::KeyExpired => (S::CONFLICT, "key_expired", "The key has expired"),
            Self::TooManyKeys => (S::CONFLICT, "too_many_keys", "The account has made too many keys"),
            Self::ClockPlausible => (S::CONFLICT, "clock_plausible", "No clock is held"),
            Self::StoreNotAdopted => {
                (S::CONFLICT, "store_not_adopted", "The store is not the one that this node knows")
            }
            Self::BodyTooLarge => (S::PAYLOAD_TOO_LARGE, "body_too_large", "The body is too large"),
            Self::MediaType => {
                (S::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", "The body has the wrong type")
            }
            Self::InvalidField => (S::UNPROCESSABLE_ENTITY, "invalid_field", "A field is wrong"),
            Self::UndefinedTier => (S::UNPROCESSABLE_ENTITY, "undefined_tier", "The tier is not defined"),
            Self::InvalidTier => (S::UNPROCESSABLE_ENTITY, "invalid_tier", "The tier has problems"),
            Self::TooManyAttempts => (S::TOO_MANY_REQUESTS, "too_many_attempts", "Too many wrong tokens"),
            Self::Internal => (S::INTERNAL_SERVER_ERROR, "internal", "Something went wrong here"),
            Self::Unavailable => (S::SERVICE_UNAVAILABLE, "unavailable", "This cannot be done now"),
        }
    }
}

/// An answer that says no.
#[derive(Debug)]
pub(crate) struct Problem {
    error: Error,
    detail: String,
    field: Option<String>,
    problems: Vec<ProblemEntry>,
    retry_after: Option<Nanos>,
}

/// One thing that is wrong with a text, and where.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
pub(crate) struct ProblemEntry {
    /// The line, counted from 1.
    #[schema(minimum = 1, example = 3)]
    pub(crate) line: usize,
    /// The column, in characters, counted from 1.
    #[schema(minimum = 1, example = 5)]
    pub(crate) column: usize,
    /// What is wrong.
    #[schema(example = "unknown key `rtae`")]
    pub(crate) message: String,
    /// What to write instead.
    #[schema(required, example = "did you mean `rate`?")]
    pub(crate) help: Option<String>,
    /// The account whose negotiated limits have the problem: the place is one in their body.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = "acme")]
    pub(crate) account: Option<String>,
}

impl ProblemEntry {
    /// The problem as programs read it.
    pub(crate) fn of(problem: &file::Problem) -> Self {
        Self {
            line: problem.place.line,
            column: problem.place.column,
            message: problem.message.clone(),
            help: problem.help.clone(),
            account: None,
        }
    }
}

impl Problem {
    pub(crate) fn new(error: Error, detail: impl Into<String>) -> Self {
        Self { error, detail: detail.into(), field: None, problems: Vec::new(), retry_after: None }
    }

    /// Nothing is there.
    pub(crate) fn not_found(what: What) -> Self {
        WriteError::NotFound(what).into()
    }

    /// Names the field, parameter or header that is wrong.
    pub(crate) fn field(mut self, field: impl Into<String>) -> Self {
        self.field = Some(field.into());
        self
    }

    /// Lists what is wrong with a text.
    pub(crate) fn problems(mut self, problems: Vec<ProblemEntry>) -> Self {
        self.problems = problems;
        self
    }

    /// Says when to come back.
    pub(crate) fn retry_after(mut self, wait: Nanos) -> Self {
        self.retry_after = Some(wait);
        self
    }

    fn document(&self) -> String {
        let (status, error, title) = self.error.row();
        let document = match &self.field {
            Some(field) => problem::of_field(error, title, status.as_u16(), field, &self.detail),
            None => problem::plain(error, title, status.as_u16(), &self.detail),
        };
        // As text: a document that is parsed and written again may lose the order of its members.
        match (document.strip_suffix('}'), serde_json::to_string(&self.problems)) {
            (Some(start), Ok(problems)) if !self.problems.is_empty() => {
                format!("{start},\"problems\":{problems}}}")
            }
            _ => document,
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let document = self.document();
        let (status, ..) = self.error.row();
        let mut response = (status, document).into_response();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(problem::CONTENT_TYPE));
        if self.error == Error::Unauthorized {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if let Some(wait) = self.retry_after {
            headers.insert(RETRY_AFTER, HeaderValue::from(wait.as_secs_ceil()));
        }
        response
    }
}

/// A sentence out of half of one: `"tier" is not …`.
pub(crate) fn sentence(field: &str, problem: &str) -> String {
    let end = if problem.ends_with('?') { "" } else { "." };
    format!("\"{field}\" {problem}{end}")
}

impl From<FieldError> for Problem {
    fn from(error: FieldError) -> Self {
        Self::new(Error::InvalidField, sentence(error.field, &error.problem)).field(error.field)
    }
}

impl From<Away> for Problem {
    fn from(away: Away) -> Self {
        Self::new(Error::Unavailable, format!("The meters cannot be asked now: {away}."))
            .retry_after(Nanos::from_secs(1))
    }
}

impl From<BlockError> for Problem {
    fn from(error: BlockError) -> Self {
        let why = match &error {
            BlockError::Share(error) => format!("Other nodes cannot be told now: {error}."),
            BlockError::Database(error) => format!("It cannot be written down now: {error}."),
        };
        Self::new(Error::Unavailable, why).retry_after(Nanos::from_secs(1))
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        static GATE: LogGate = LogGate::new();
        GATE.log(|left_out| tracing::error!(%error, left_out, "the directory cannot be used"));
        if matches!(error, StoreError::NotAdopted(_)) {
            return Self::new(Error::StoreNotAdopted, capitalised(&error));
        }
        let problem = Self::new(Error::Unavailable, capitalised(&error));
        match error {
            // Who tries again without looking may do it twice.
            StoreError::Redis(RedisError::Unanswered) => problem,
            StoreError::NotAdopted(_) | StoreError::Mismatch(_) => problem,
            StoreError::Redis(_) | StoreError::Database(_) => problem.retry_after(Nanos::from_secs(1)),
        }
    }
}

impl From<ReadError> for Problem {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::NotFound(what) => Self::not_found(what),
            ReadError::Unavailable(error) => error.into(),
        }
    }
}

impl From<WriteError> for Problem {
    fn from(error: WriteError) -> Self {
        let kind = match &error {
            WriteError::NotFound(_) => Error::NotFound,
            WriteError::Exists(_) => return Self::new(Error::AlreadyExists, capitalised(&error)).field("id"),
            WriteError::Revoked => Error::KeyRevoked,
            WriteError::Expired => Error::KeyExpired,
            WriteError::TooManyKeys => Error::TooManyKeys,
            WriteError::TokenExists(_) => {
                return Self::new(Error::TokenExists, capitalised(&error)).field("name");
            }
            WriteError::TooManyTokens => Error::TooManyTokens,
            WriteError::NoRandomness => Error::Unavailable,
            WriteError::Field(field) => return field.clone().into(),
            WriteError::Unavailable(error) => return error.clone().into(),
        };
        Self::new(kind, capitalised(&error))
    }
}

/// An error as a sentence.
fn capitalised(error: &dyn std::fmt::Display) -> String {
    let text = error.to_string();
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", letters.as_str())
}

/// The document of every answer that is not a success (RFC 9457).
#[derive(ToSchema)]
#[schema(as = Problem)]
#[expect(dead_code, reason = "it describes what the engine's writer of problems writes")]
pub(crate) struct ProblemDocument {
    /// Names the kind of problem.
    #[schema(example = "urn:sluicegate:error:invalid_field")]
    r#type: String,
    /// The kind in words.
    #[schema(example = "A field is wrong")]
    title: String,
    /// The status of the answer.
    #[schema(minimum = 400, maximum = 599, example = 422)]
    status: u16,
    /// What happened, and what to do about it.
    #[schema(example = "\"billing_day\" is not a day from 1 to 31.")]
    detail: String,
    /// The kind, for programs.
    #[schema(example = "invalid_field")]
    error: String,
    /// Which field, parameter or header is wrong, where it is one.
    #[schema(nullable = false, example = "billing_day")]
    field: Option<String>,
    /// What is wrong with a text, and where.
    #[schema(nullable = false)]
    problems: Option<Vec<ProblemEntry>>,
}
