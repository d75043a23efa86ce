//! Bodies: of a bounded size, of the right type, and JSON where they say so.

use std::time::Duration;

use axum::body::Body;
use axum::extract::{FromRequest, Request};
use bytes::Bytes;
use http::HeaderMap;
use http::header::CONTENT_TYPE;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use serde_json::{Map, Value};

use super::super::problem::{Error, Problem, ProblemEntry};

/// The most bytes a body may have: as much as a policy file.
pub(crate) const BODY_BYTES_MAX: usize = sluicegate_core::file::FILE_BYTES_MAX;

const JSON_TYPES: [&str; 1] = ["application/json"];
const CSV_TYPES: [&str; 2] = ["text/csv", "text/plain"];
const YAML_TYPES: [&str; 4] = ["application/yaml", "application/x-yaml", "text/yaml", "text/plain"];

/// The most bytes of a bill: a line for each hour of a month, of a thousand accounts.
const CSV_BYTES_MAX: usize = 64 << 20;

/// The most bytes of a body that holds a token.
const SHORT_BYTES_MAX: usize = 4 << 10;

/// JSON or a form, as it was written, and short.
pub(crate) struct ShortText(pub(crate) Bytes);

/// A JSON object.
pub(crate) struct JsonBody(pub(crate) Value);

/// A JSON object; nothing at all, or null, is one without members.
pub(crate) struct OptionalJsonBody(pub(crate) Value);

/// JSON as it was written, for those who tell lines and columns.
pub(crate) struct JsonText(pub(crate) Bytes);

/// Comma-separated values as they were written; nothing if there is no body.
pub(crate) struct CsvText(pub(crate) Bytes);

/// YAML as it was written.
pub(crate) struct YamlText(pub(crate) Bytes);

impl<S: Sync> FromRequest<S> for ShortText {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        expect_type(request.headers(), &JSON_TYPES)?;
        read_up_to(request.into_body(), SHORT_BYTES_MAX).await.map(Self)
    }
}

impl<S: Sync> FromRequest<S> for JsonBody {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        expect_type(request.headers(), &JSON_TYPES)?;
        json(&read(request.into_body()).await?).map(Self)
    }
}

impl<S: Sync> FromRequest<S> for OptionalJsonBody {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        let (parts, body) = request.into_parts();
        let bytes = read(body).await?;
        if bytes.is_empty() {
            return Ok(Self(Value::Object(Map::new())));
        }
        expect_type(&parts.headers, &JSON_TYPES)?;
        let value = json(&bytes)?;
        Ok(Self(if value.is_null() { Value::Object(Map::new()) } else { value }))
    }
}

impl<S: Sync> FromRequest<S> for JsonText {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        expect_type(request.headers(), &JSON_TYPES)?;
        let bytes = read(request.into_body()).await?;
        json(&bytes)?;
        // JSON has tabs between its words only. Readers of YAML, of which it is a part, want blanks there.
        let blanks: Vec<u8> = bytes.iter().map(|c| if *c == b'\t' { b' ' } else { *c }).collect();
        Ok(Self(blanks.into()))
    }
}

impl<S: Sync> FromRequest<S> for CsvText {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        let (parts, body) = request.into_parts();
        let bytes = read_up_to(body, CSV_BYTES_MAX).await?;
        if !bytes.is_empty() {
            expect_type(&parts.headers, &CSV_TYPES)?;
        }
        Ok(Self(bytes))
    }
}

impl<S: Sync> FromRequest<S> for YamlText {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        expect_type(request.headers(), &YAML_TYPES)?;
        read(request.into_body()).await.map(Self)
    }
}

fn expect_type(headers: &HeaderMap, wanted: &[&str]) -> Result<(), Problem> {
    let given = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = given.split(';').next().unwrap_or_default().trim();
    // Said of nothing, and what `curl -d` says of everything. Strangers are kept out by the token, or by the header
    // that goes with the cookie: no form can send either.
    if essence.is_empty() || essence.eq_ignore_ascii_case("application/x-www-form-urlencoded") {
        return Ok(());
    }
    if wanted.iter().any(|wanted| essence.eq_ignore_ascii_case(wanted)) {
        return Ok(());
    }
    let first = wanted.first().copied().unwrap_or_default();
    let detail = format!("Send the body with \"Content-Type: {first}\".");
    Err(Problem::new(Error::MediaType, detail).field("Content-Type"))
}

/// How long a body may take to arrive.
const BODY_WAIT_MAX: Duration = Duration::from_secs(30);

async fn read(body: Body) -> Result<Bytes, Problem> {
    read_up_to(body, BODY_BYTES_MAX).await
}

async fn read_up_to(body: Body, bytes_max: usize) -> Result<Bytes, Problem> {
    let whole = Limited::new(body, bytes_max).collect();
    let Ok(whole) = tokio::time::timeout(BODY_WAIT_MAX, whole).await else {
        return Err(Problem::new(Error::MalformedBody, "The body did not arrive in time."));
    };
    match whole {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => {
            let detail = format!("The body has more than {bytes_max} bytes.");
            Err(Problem::new(Error::BodyTooLarge, detail))
        }
        Err(_) => Err(Problem::new(Error::MalformedBody, "The body ended too early.")),
    }
}

pub(crate) fn json(bytes: &[u8]) -> Result<Value, Problem> {
    serde_json::from_slice(bytes).map_err(|error| {
        let (line, column) = (error.line().max(1), error.column().max(1));
        let whole = error.to_string();
        let message = whole.split(" at line ").next().unwrap_or_default().to_owned();
        let detail = format!("The body is not JSON: {message}, at line {line}, column {column}.");
        let entry = ProblemEntry { line, column, message, help: None, account: None };
        Problem::new(Error::MalformedBody, detail).problems(vec![entry])
    })
}
