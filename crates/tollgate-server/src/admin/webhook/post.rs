//! One delivery: a POST on a connection of its own, with a limit on its time. No redirects: whoever signs says where
//! to.

use std::fmt;
use std::time::Duration;

use http::header::{CONTENT_TYPE, HOST, USER_AGENT};
use http::{Method, Request, StatusCode, Uri};
use http_body_util::Full;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tollgate_core::policy::HttpUrl;
use tollgate_core::time::Timestamp;

use super::message::Message;
use super::sign::SigningSecret;
use crate::dial::{Address, DialError, Offer, dial};

/// Why a message was not delivered, or may not have been.
#[derive(Debug)]
pub(super) enum NotDelivered {
    Url,
    Unreachable(std::io::Error),
    Late(Duration),
    Broken(hyper::Error),
    Status(StatusCode),
}

impl fmt::Display for NotDelivered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Url => f.write_str("`webhook` is no URL that can be called"),
            Self::Unreachable(error) => write!(f, "it cannot be reached: {error}"),
            Self::Late(wait) => write!(f, "it gave no answer within {} ms", wait.as_millis()),
            Self::Broken(error) => write!(f, "its answer cannot be read: {error}"),
            Self::Status(status) => write!(f, "it answered {}", status.as_u16()),
        }
    }
}

/// Sends a message. Only an answer of 2xx counts.
pub(super) async fn post(
    url: &HttpUrl,
    secret: &SigningSecret,
    message: &Message,
    now: Timestamp,
    wait: Duration,
) -> Result<(), NotDelivered> {
    let (to, request) = call(url, secret, message, now).ok_or(NotDelivered::Url)?;
    match timeout(wait, exchange(&to, request, wait)).await {
        Ok(Ok(status)) if status.is_success() => Ok(()),
        Ok(Ok(status)) => Err(NotDelivered::Status(status)),
        Ok(Err(error)) => Err(error),
        Err(_) => Err(NotDelivered::Late(wait)),
    }
}

fn call(
    url: &HttpUrl,
    secret: &SigningSecret,
    message: &Message,
    now: Timestamp,
) -> Option<(Address, Request<Full<bytes::Bytes>>)> {
    // What follows a `#` is for whoever reads the page.
    let uri: Uri = url.as_str().split('#').next()?.parse().ok()?;
    let to = Address::of(&uri)?;
    let request = Request::builder()
        .method(Method::POST)
        .uri(uri.path_and_query().map_or("/", |path| path.as_str()))
        .header(HOST, uri.authority()?.as_str())
        .header(CONTENT_TYPE, "application/json")
        .header(USER_AGENT, concat!("Tollgate/", env!("CARGO_PKG_VERSION")))
        .header("webhook-id", &message.id)
        .header("webhook-timestamp", now.as_secs())
        .header("webhook-signature", secret.sign(&message.id, now.as_secs(), &message.body))
        .body(Full::new(message.body.clone()))
        .ok()?;
    Some((to, request))
}

/// What it answers. Nobody reads more of it than the status.
async fn exchange(
    to: &Address,
    request: Request<Full<bytes::Bytes>>,
    wait: Duration,
) -> Result<StatusCode, NotDelivered> {
    let (wire, _) = dial(to, Offer::Http1, wait).await.map_err(|error| match error {
        DialError::Io(error) => NotDelivered::Unreachable(error),
        DialError::Late => NotDelivered::Late(wait),
    })?;
    let (mut send, connection) = http1::handshake(TokioIo::new(wire)).await.map_err(NotDelivered::Broken)?;
    // It ends with this call, whichever way that ends.
    let mut driving = JoinSet::new();
    driving.spawn(connection);
    let answer = send.send_request(request).await.map_err(NotDelivered::Broken)?;
    Ok(answer.status())
}
