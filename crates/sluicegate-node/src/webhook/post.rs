//! One delivery: the message, signed.

use std::fmt;
use std::time::Duration;

use http::header::{CONTENT_TYPE, HOST, USER_AGENT};
use http::{Method, Request, StatusCode, Uri};
use http_body_util::Full;
use sluicegate_core::policy::HttpUrl;
use sluicegate_core::time::Timestamp;

use super::message::Message;
use super::sign::SigningSecret;
use crate::net::{self, Address, NotPosted};

/// Why a message was not delivered, or may not have been.
#[derive(Debug)]
pub(super) enum NotDelivered {
    Url,
    NotPosted(NotPosted),
    Status(StatusCode),
}

impl fmt::Display for NotDelivered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Url => f.write_str("`webhook` is no URL that can be called"),
            Self::NotPosted(error) => error.fmt(f),
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
    match net::post(&to, request, wait).await {
        Ok(status) if status.is_success() => Ok(()),
        Ok(status) => Err(NotDelivered::Status(status)),
        Err(error) => Err(NotDelivered::NotPosted(error)),
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
        .header(USER_AGENT, concat!("Sluicegate/", env!("CARGO_PKG_VERSION")))
        .header("webhook-id", &message.id)
        .header("webhook-timestamp", now.as_secs())
        .header("webhook-signature", secret.sign(&message.id, now.as_secs(), &message.body))
        .body(Full::new(message.body.clone()))
        .ok()?;
    Some((to, request))
}
