//! A POST to another server, on a connection of its own, with a limit on its time. No redirects are followed.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::Full;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::dial::{Address, DialError, Offer, dial};

/// Why there is no answer. What was sent may have been read all the same.
#[derive(Debug)]
pub enum NotPosted {
    /// There is no connection.
    Unreachable(std::io::Error),
    /// There was no answer in time.
    Late(Duration),
    /// The connection broke, or the answer is not HTTP.
    Broken(hyper::Error),
}

impl fmt::Display for NotPosted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable(error) => write!(f, "it cannot be reached: {error}"),
            Self::Late(wait) => write!(f, "it gave no answer within {} ms", wait.as_millis()),
            Self::Broken(error) => write!(f, "its answer cannot be read: {error}"),
        }
    }
}

/// What it answers. Nobody reads more of it than the status.
pub async fn post(
    to: &Address,
    request: Request<Full<Bytes>>,
    wait: Duration,
) -> Result<StatusCode, NotPosted> {
    match timeout(wait, exchange(to, request, wait)).await {
        Ok(answered) => answered,
        Err(_) => Err(NotPosted::Late(wait)),
    }
}

async fn exchange(
    to: &Address,
    request: Request<Full<Bytes>>,
    wait: Duration,
) -> Result<StatusCode, NotPosted> {
    let (wire, _) = dial(to, Offer::Http1, wait).await.map_err(|error| match error {
        DialError::Io(error) => NotPosted::Unreachable(error),
        DialError::Late => NotPosted::Late(wait),
    })?;
    let (mut send, connection) = http1::handshake(TokioIo::new(wire)).await.map_err(NotPosted::Broken)?;
    // It ends with this call, whichever way that ends.
    let mut driving = JoinSet::new();
    driving.spawn(connection);
    let answer = send.send_request(request).await.map_err(NotPosted::Broken)?;
    Ok(answer.status())
}
