//! Asking whether an answer to a challenge is right: the siteverify protocol, which Turnstile and its likes speak.
//!
//! One call on a connection of its own, with a limit on its time and on the size of what comes back. No redirects, no
//! second tries: an answer counts once, and the first try may have been it.

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, HOST};
use http::{Method, Request, StatusCode, Uri};
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use sluicegate_core::policy::Challenge;
use tokio::task::JoinSet;
use tokio::time::timeout;

use sluicegate_node::net::{Address, DialError, Offer, dial};
use sluicegate_node::secret_source::{NoSecret, secret_at};

/// From the first byte of the call to the last of its answer. Someone waits in front of a page for it.
const CALL_TIME_MAX: Duration = Duration::from_secs(5);
/// A verdict has a few hundred bytes.
const ANSWER_BYTES_MAX: usize = 64 * 1_024;
/// What says that we are at fault, or the verifier, and not whoever answered the challenge.
const NOT_THE_CALLERS: [&str; 4] =
    ["missing-input-secret", "invalid-input-secret", "bad-request", "internal-error"];

/// What became of an answer to a challenge.
#[derive(Debug)]
pub(super) enum Verdict {
    /// It is right.
    Passed,
    /// It is wrong, too old, or was used before.
    Failed,
    /// Nobody knows.
    Unknown(Why),
}

/// Why nobody knows whether an answer is right.
#[derive(Debug)]
pub(super) enum Why {
    NoSecret(NoSecret),
    Url,
    Unreachable(std::io::Error),
    Late,
    Broken(hyper::Error),
    TooLarge,
    NoVerdict(StatusCode),
    Refused(String),
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSecret(error) => error.fmt(f),
            Self::Url => f.write_str("`verify_url` is no URL that can be called"),
            Self::Unreachable(error) => write!(f, "the verifier cannot be reached: {error}"),
            Self::Late => write!(f, "the verifier gave no answer within {} seconds", CALL_TIME_MAX.as_secs()),
            Self::Broken(error) => write!(f, "the answer of the verifier cannot be read: {error}"),
            Self::TooLarge => f.write_str("the answer of the verifier is larger than any verdict"),
            Self::NoVerdict(status) => {
                write!(f, "the answer of the verifier, {}, is no verdict", status.as_u16())
            }
            Self::Refused(codes) => write!(f, "the verifier refused to say: {codes}"),
        }
    }
}

/// Whether this answer to the challenge is right.
pub(super) async fn verify(challenge: &Challenge, response: &str, address: Option<IpAddr>) -> Verdict {
    let source = challenge.secret.clone();
    // A file may be slow, or no file at all.
    let secret = async { tokio::task::spawn_blocking(move || secret_at(&source)).await.ok() };
    let asked = async {
        let secret = secret.await.ok_or(Why::Late)?.map_err(Why::NoSecret)?;
        let (to, request) = call(challenge, &secret, response, address).ok_or(Why::Url)?;
        let (status, body) = exchange(&to, request).await?;
        Ok(judge(status, &body))
    };
    match timeout(CALL_TIME_MAX, asked).await {
        Ok(Ok(verdict)) => verdict,
        Ok(Err(why)) => Verdict::Unknown(why),
        Err(_) => Verdict::Unknown(Why::Late),
    }
}

/// Where to call, and what to say there.
fn call(
    challenge: &Challenge,
    secret: &str,
    response: &str,
    address: Option<IpAddr>,
) -> Option<(Address, Request<Full<Bytes>>)> {
    // What follows a `#` is for whoever reads the page.
    let url = challenge.verify_url.as_str().split('#').next()?;
    let uri: Uri = url.parse().ok()?;
    let to = Address::of(&uri)?;
    let mut form = String::with_capacity(256 + response.len());
    push_pair(&mut form, "secret", secret);
    push_pair(&mut form, "response", response);
    if let Some(address) = address {
        push_pair(&mut form, "remoteip", &address.to_string());
    }
    let request = Request::builder()
        .method(Method::POST)
        .uri(uri.path_and_query().map_or("/", |path| path.as_str()))
        .header(HOST, uri.authority()?.as_str())
        .header(ACCEPT, "application/json")
        .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
        .body(Full::new(Bytes::from(form)))
        .ok()?;
    Some((to, request))
}

/// A field of a form.
fn push_pair(form: &mut String, name: &str, value: &str) {
    if !form.is_empty() {
        form.push('&');
    }
    form.push_str(name);
    form.push('=');
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            form.push(char::from(byte));
        } else {
            let digit = |value: u8| char::from(b"0123456789ABCDEF"[usize::from(value & 0xf)]);
            form.extend(['%', digit(byte >> 4), digit(byte)]);
        }
    }
}

async fn exchange(to: &Address, request: Request<Full<Bytes>>) -> Result<(StatusCode, Bytes), Why> {
    let (wire, _) = dial(to, Offer::Http1, CALL_TIME_MAX).await.map_err(|error| match error {
        DialError::Io(error) => Why::Unreachable(error),
        DialError::Late => Why::Late,
    })?;
    let (mut send, connection) = http1::handshake(TokioIo::new(wire)).await.map_err(Why::Broken)?;
    // It ends with this call, whichever way that ends.
    let mut driving = JoinSet::new();
    driving.spawn(connection);
    let (head, body) = send.send_request(request).await.map_err(Why::Broken)?.into_parts();
    match Limited::new(body, ANSWER_BYTES_MAX).collect().await {
        Ok(collected) => Ok((head.status, collected.to_bytes())),
        Err(error) if error.is::<LengthLimitError>() => Err(Why::TooLarge),
        Err(error) => match error.downcast::<hyper::Error>() {
            Ok(error) => Err(Why::Broken(*error)),
            Err(_) => Err(Why::NoVerdict(head.status)),
        },
    }
}

/// What the answer of the verifier says. Only one that is clear counts.
fn judge(status: StatusCode, body: &[u8]) -> Verdict {
    let answer: Value = serde_json::from_slice(body).unwrap_or_default();
    match answer.get("success") {
        Some(Value::Bool(true)) if status.is_success() => Verdict::Passed,
        Some(Value::Bool(false)) => {
            let codes = answer.get("error-codes").and_then(Value::as_array);
            let mut codes = codes.into_iter().flatten().filter_map(Value::as_str);
            match codes.find(|code| NOT_THE_CALLERS.contains(code)) {
                Some(code) => Verdict::Unknown(Why::Refused(code.to_owned())),
                None => Verdict::Failed,
            }
        }
        _ => Verdict::Unknown(Why::NoVerdict(status)),
    }
}

#[cfg(test)]
mod tests {
    use sluicegate_core::policy::{HttpUrl, SecretSource};

    use super::*;

    fn judged(status: u16, body: &str) -> &'static str {
        match judge(StatusCode::from_u16(status).unwrap(), body.as_bytes()) {
            Verdict::Passed => "passed",
            Verdict::Failed => "failed",
            Verdict::Unknown(_) => "unknown",
        }
    }

    #[test]
    fn only_a_clear_yes_is_one() {
        assert_eq!(judged(200, r#"{"success":true,"challenge_ts":"…","hostname":"a.example"}"#), "passed");
        for no in [
            r#"{"success":false}"#,
            r#"{"success":false,"error-codes":["timeout-or-duplicate"]}"#,
            r#"{"success":false,"error-codes":["invalid-input-response"]}"#,
            r#"{"success":false,"error-codes":"bad-request"}"#,
        ] {
            assert_eq!(judged(200, no), "failed", "{no}");
        }
        for unclear in [
            "",
            "null",
            "true",
            "[]",
            "{}",
            r#"{"success":"true"}"#,
            r#"{"success":1}"#,
            r#"{"success":null}"#,
            r#"[{"success":true}]"#,
            r#"{"success":true"#,
            "<html>success: true</html>",
            r#"{"success":false,"error-codes":["invalid-input-secret"]}"#,
            r#"{"success":false,"error-codes":["x","internal-error"]}"#,
        ] {
            assert_eq!(judged(200, unclear), "unknown", "{unclear}");
        }
        for status in [302, 400, 500] {
            assert_eq!(judged(status, r#"{"success":true}"#), "unknown");
        }
        assert_eq!(judged(400, r#"{"success":false}"#), "failed");
    }

    #[test]
    fn what_is_asked_cannot_be_changed_by_what_callers_send() {
        let challenge = Challenge {
            verify_url: HttpUrl::parse("https://a.example:8443/siteverify?x=1#y").unwrap(),
            secret: SecretSource::Variable("X".to_owned()),
        };
        let (to, request) = call(&challenge, "s&t", "a&secret=b\r\nü", Some([192, 0, 2, 1].into())).unwrap();
        assert_eq!((to.host.as_str(), to.port), ("a.example", 8443));
        assert!(matches!(to.security, sluicegate_node::net::Security::Tls(_)));
        assert_eq!(request.uri(), "/siteverify?x=1");
        assert_eq!(request.headers()["host"], "a.example:8443");
        let mut body = request.into_body();
        let form = std::pin::Pin::new(&mut body);
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        let std::task::Poll::Ready(Some(Ok(frame))) = http_body::Body::poll_frame(form, &mut context) else {
            panic!("the form is there at once");
        };
        assert_eq!(
            frame.into_data().unwrap(),
            "secret=s%26t&response=a%26secret%3Db%0D%0A%C3%BC&remoteip=192.0.2.1"
        );
    }
}
