//! The JSON of requests and responses.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use serde::{Deserialize, Serialize};

use super::check::{Caller, Check, Finish, Visitor};
use super::error::{CallError, Cause, Problem};
use super::response::{Decision, Finished, LimitStatus, Permit, Renewed};
use crate::limits::{Limits, Mode};

#[derive(Serialize)]
struct CheckBody<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    service_token: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    client: Option<ClientBody<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    method: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cost: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    idempotency_key: Option<&'a str>,
    #[serde(skip_serializing_if = "is_false")]
    hold: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    hold_for: Option<String>,
    #[serde(skip_serializing_if = "is_false")]
    peek: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde requires a reference")]
fn is_false(flag: &bool) -> bool {
    !flag
}

#[derive(Serialize)]
struct ClientBody<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    ip: Option<IpAddr>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cookie: Option<&'a str>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    headers: &'a BTreeMap<String, String>,
}

/// Callers with a key are not identified by headers.
static NO_HEADERS: BTreeMap<String, String> = BTreeMap::new();

impl<'a> From<&'a Check> for CheckBody<'a> {
    fn from(check: &'a Check) -> Self {
        let from = || check.address.map(|ip| ClientBody { ip: Some(ip), cookie: None, headers: &NO_HEADERS });
        let (key, service_token, client) = match &check.caller {
            Caller::Key(key) => (Some(key.as_str()), None, from()),
            Caller::ServiceToken(token) => (None, Some(token.as_str()), from()),
            Caller::Visitor(Visitor { ip, cookie, headers }) => {
                let ip = check.address.or(*ip);
                (None, None, Some(ClientBody { ip, cookie: cookie.as_deref(), headers }))
            }
        };
        Self {
            key,
            service_token,
            client,
            method: check.method.as_ref().map(http::Method::as_str),
            path: check.path.as_deref(),
            cost: check.cost,
            idempotency_key: check.idempotency_key.as_deref(),
            hold: check.hold,
            hold_for: check.hold_for.map(span),
            peek: check.peek,
        }
    }
}

#[derive(Serialize)]
struct BatchBody<'a> {
    checks: Vec<CheckBody<'a>>,
}

#[derive(Serialize)]
struct FinishBody<'a> {
    permit: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cost: Option<u64>,
}

#[derive(Serialize)]
struct RenewBody<'a> {
    permit: &'a str,
    hold_for: String,
}

/// A duration as the server reads it: whole seconds, rounded up.
fn span(span: Duration) -> String {
    format!("{}s", span.as_secs() + u64::from(span.subsec_nanos() > 0))
}

pub(super) fn check(check: &Check) -> Result<Vec<u8>, CallError> {
    bytes(&CheckBody::from(check))
}

pub(super) fn batch<'a>(checks: impl Iterator<Item = &'a Check>) -> Result<Vec<u8>, CallError> {
    bytes(&BatchBody { checks: checks.map(CheckBody::from).collect() })
}

pub(super) fn finish(finish: &Finish) -> Result<Vec<u8>, CallError> {
    let status = finish.status.map(|status| status.as_u16());
    bytes(&FinishBody { permit: finish.permit.as_str(), status, cost: finish.cost })
}

pub(super) fn renew(permit: &Permit, hold_for: Duration) -> Result<Vec<u8>, CallError> {
    bytes(&RenewBody { permit: permit.as_str(), hold_for: span(hold_for) })
}

fn bytes(body: &impl Serialize) -> Result<Vec<u8>, CallError> {
    serde_json::to_vec(body).map_err(unreadable)
}

#[derive(Deserialize)]
struct DecisionBody {
    allowed: bool,
    status: u16,
    error: Option<String>,
    decision_id: String,
    tier: Option<String>,
    account: Option<String>,
    #[serde(default)]
    retry_after_ms: u64,
    limit: Option<String>,
    #[serde(default)]
    limits: Vec<LimitBody>,
    permit: Option<String>,
    permit_expires_ms: Option<u64>,
    mode: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct LimitBody {
    name: String,
    limit: u64,
    remaining: u64,
    reset_ms: u64,
}

#[derive(Deserialize)]
struct ResultsBody {
    results: Vec<DecisionBody>,
}

#[derive(Deserialize)]
struct FinishedBody {
    reserved: u64,
    settled: u64,
}

#[derive(Deserialize)]
struct RenewedBody {
    permit: String,
    permit_expires_ms: u64,
}

#[derive(Deserialize, Default)]
struct ProblemBody {
    error: Option<String>,
    detail: Option<String>,
    field: Option<String>,
}

pub(super) fn read_decision(bytes: &[u8]) -> Result<Decision, CallError> {
    decision(serde_json::from_slice(bytes).map_err(unreadable)?)
}

/// Parses one decision per check. Any other number is an error: decisions could not be matched to checks.
pub(super) fn read_decisions(bytes: &[u8], checks: usize) -> Result<Vec<Decision>, CallError> {
    let body: ResultsBody = serde_json::from_slice(bytes).map_err(unreadable)?;
    if body.results.len() != checks {
        return Err(unreadable(format!("{} results for {checks} checks", body.results.len())));
    }
    body.results.into_iter().map(decision).collect()
}

pub(super) fn read_finished(bytes: &[u8]) -> Result<Finished, CallError> {
    let body: FinishedBody = serde_json::from_slice(bytes).map_err(unreadable)?;
    Ok(Finished { reserved: body.reserved, settled: body.settled })
}

pub(super) fn read_renewed(bytes: &[u8]) -> Result<Renewed, CallError> {
    let body: RenewedBody = serde_json::from_slice(bytes).map_err(unreadable)?;
    Ok(Renewed { permit: Permit::new(body.permit), permit_expires_ms: body.permit_expires_ms })
}

pub(super) fn read_problem(status: StatusCode, headers: &HeaderMap, bytes: &[u8]) -> Problem {
    let ProblemBody { error, detail, field } = serde_json::from_slice(bytes).unwrap_or_default();
    let limits = Limits::from_headers(headers);
    // Sluicegate sends seconds. A date from another server is only useful with its own clock.
    let retry_after = limits.retry_after.map(|time| time.wait(limits.date.unwrap_or(std::time::UNIX_EPOCH)));
    Problem { status, error, detail, field, retry_after: retry_after.filter(|wait| *wait > Duration::ZERO) }
}

fn decision(body: DecisionBody) -> Result<Decision, CallError> {
    Ok(Decision {
        allowed: body.allowed,
        status: StatusCode::from_u16(body.status).map_err(unreadable)?,
        error: body.error,
        decision_id: body.decision_id,
        tier: body.tier,
        account: body.account,
        retry_after_ms: body.retry_after_ms,
        limit: body.limit,
        limits: body.limits.into_iter().map(LimitStatus::from).collect(),
        permit: body.permit.map(Permit::new),
        permit_expires_ms: body.permit_expires_ms,
        mode: match body.mode.as_deref() {
            Some("degraded") => Mode::Degraded,
            _ => Mode::Normal,
        },
        headers: body.headers.iter().map(header).collect::<Result<_, _>>()?,
    })
}

impl From<LimitBody> for LimitStatus {
    fn from(body: LimitBody) -> Self {
        Self { name: body.name, limit: body.limit, remaining: body.remaining, reset_ms: body.reset_ms }
    }
}

fn header((name, value): (&String, &String)) -> Result<(HeaderName, HeaderValue), CallError> {
    let name = HeaderName::from_bytes(name.as_bytes()).map_err(unreadable)?;
    Ok((name, HeaderValue::from_str(value).map_err(unreadable)?))
}

fn unreadable(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> CallError {
    CallError::Unreadable(Cause::new(error))
}
