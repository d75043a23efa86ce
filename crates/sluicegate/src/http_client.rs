//! One call to a running server and its answer: blocking, on a connection of its own, with a limit on time and size.
//!
//! Deliberately absent: pools, redirects, retries. A command makes a handful of calls and ends.

mod connect;
mod download;
mod endpoint;

use std::fmt;
use std::io;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::time::timeout;

pub(crate) use download::{Download, download};
pub(crate) use endpoint::Endpoint;

/// Who does not answer within this is not there.
const CONNECT_TIME_MAX: Duration = Duration::from_secs(5);
/// A call, from its first byte to the last of its answer.
const CALL_TIME_MAX: Duration = Duration::from_secs(30);
/// One that reads all that was ever recorded.
const LONG_CALL_TIME_MAX: Duration = Duration::from_secs(3_600);
/// A page of a thousand accounts, each with negotiated limits, is smaller.
const ANSWER_BYTES_MAX: usize = 64 << 20;

/// What is asked of a server.
pub(crate) struct Call<'c> {
    pub(crate) method: Method,
    /// Below the path of the endpoint, with its query.
    pub(crate) path: &'c str,
    /// What stands behind `Authorization: Bearer`.
    pub(crate) token: Option<&'c HeaderValue>,
    pub(crate) body: Content<'c>,
    pub(crate) patience: Patience,
}

/// What is sent along.
#[derive(Clone, Copy)]
pub(crate) enum Content<'c> {
    Nothing,
    Json(&'c Value),
    Csv(&'c [u8]),
}

/// How long an answer is waited for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Patience {
    Usual,
    /// The server has much to read before it can answer.
    Long,
}

impl Patience {
    const fn limit(self) -> Duration {
        match self {
            Self::Usual => CALL_TIME_MAX,
            Self::Long => LONG_CALL_TIME_MAX,
        }
    }
}

/// What it answered.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    /// The body, null where there is none.
    pub(crate) body: Value,
}

/// Why there is no answer.
#[derive(Debug)]
pub(crate) enum CallError {
    /// Nobody is there, or nobody that speaks TLS as we do.
    Unreachable(io::Error),
    /// It took too long.
    Late(Duration),
    /// It is larger than any that is expected.
    TooLarge,
    /// It broke off, or is not HTTP.
    Broken(String),
    /// It is not JSON.
    NotJson(StatusCode),
    /// What was asked cannot be written as a request.
    Unwritable(String),
    /// What came cannot be kept here.
    Unwritten(io::Error),
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // The system's own words carry numbers; the kind says the same for people.
            Self::Unreachable(error) => match error.kind() {
                io::ErrorKind::ConnectionRefused | io::ErrorKind::TimedOut => error.kind().fmt(f),
                _ => error.fmt(f),
            },
            Self::Late(limit) => write!(f, "no answer within {} seconds", limit.as_secs()),
            Self::TooLarge => write!(f, "the answer is larger than {} MiB", ANSWER_BYTES_MAX >> 20),
            Self::Broken(why) => write!(f, "the answer cannot be read: {why}"),
            Self::NotJson(status) => write!(f, "the answer, {}, is not JSON", status.as_u16()),
            Self::Unwritable(why) => write!(f, "this cannot be asked: {why}"),
            Self::Unwritten(error) => write!(f, "what came cannot be written: {error}"),
        }
    }
}

impl std::error::Error for CallError {}

/// Makes the call, on a runtime that lives as long as it.
pub(crate) fn call(endpoint: &Endpoint, call: &Call<'_>) -> Result<Answer, CallError> {
    let request = request(endpoint, call)?;
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(CallError::Unreachable)?;
    let answered = runtime.block_on(async {
        let limit = call.patience.limit();
        timeout(limit, exchange(endpoint, request)).await.unwrap_or(Err(CallError::Late(limit)))
    });
    // A name that is still being looked up does not keep the process.
    runtime.shutdown_background();
    answered
}

fn request(endpoint: &Endpoint, call: &Call<'_>) -> Result<Request<Full<Bytes>>, CallError> {
    let (body, kind) = match call.body {
        Content::Nothing => (Bytes::new(), None),
        Content::Json(value) => (Bytes::from(value.to_string()), Some("application/json")),
        Content::Csv(text) => (Bytes::copy_from_slice(text), Some("text/csv")),
    };
    let mut request = Request::builder()
        .method(call.method.clone())
        .uri(format!("{}{}", endpoint.prefix(), call.path))
        .header(HOST, endpoint.authority())
        .header(ACCEPT, "application/json");
    if let Some(token) = call.token {
        request = request.header(AUTHORIZATION, token);
    }
    if let Some(kind) = kind {
        request = request.header(CONTENT_TYPE, kind);
    }
    request.body(Full::new(body)).map_err(|error| CallError::Unwritable(error.to_string()))
}

async fn exchange(endpoint: &Endpoint, request: Request<Full<Bytes>>) -> Result<Answer, CallError> {
    let (head, body) = send(endpoint, request).await?.into_parts();
    let bytes = match Limited::new(body, ANSWER_BYTES_MAX).collect().await {
        Ok(collected) => collected.to_bytes(),
        Err(error) if error.is::<LengthLimitError>() => return Err(CallError::TooLarge),
        Err(error) => return Err(CallError::Broken(error.to_string())),
    };
    if bytes.is_empty() {
        return Ok(Answer { status: head.status, body: Value::Null });
    }
    let body = serde_json::from_slice(&bytes).map_err(|_| CallError::NotJson(head.status))?;
    Ok(Answer { status: head.status, body })
}

/// Sends the request on a connection of its own.
async fn send(endpoint: &Endpoint, request: Request<Full<Bytes>>) -> Result<Response<Incoming>, CallError> {
    let wire = match timeout(CONNECT_TIME_MAX, connect::connect(endpoint)).await {
        Ok(connected) => connected.map_err(CallError::Unreachable)?,
        Err(_) => return Err(CallError::Late(CONNECT_TIME_MAX)),
    };
    let (mut sender, connection) = http1::handshake(TokioIo::new(wire)).await.map_err(broken)?;
    // It ends with the runtime.
    tokio::spawn(connection);
    sender.send_request(request).await.map_err(broken)
}

#[expect(clippy::needless_pass_by_value, reason = "it is what map_err gives")]
fn broken(error: hyper::Error) -> CallError {
    CallError::Broken(error.to_string())
}
