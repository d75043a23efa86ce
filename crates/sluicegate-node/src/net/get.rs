//! A GET from another server, on a connection of its own, with limits on its time and size. No redirects are followed.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, HOST};
use http::{Request, StatusCode, Uri};
use http_body_util::{BodyExt as _, Empty, LengthLimitError, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::dial::{Address, DialError, Offer, dial};

/// Why there is no answer that could be used.
#[derive(Debug)]
pub enum NotGot {
    /// The URL names no host that can be called.
    Url,
    /// There is no connection.
    Unreachable(std::io::Error),
    /// There was no answer in time.
    Late(Duration),
    /// The connection broke, or the answer is not HTTP.
    Broken(hyper::Error),
    /// It answered with another status than 200.
    Status(StatusCode),
    /// The answer is larger than allowed, or broke off.
    Body(&'static str),
}

impl fmt::Display for NotGot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Url => f.write_str("the URL names no host"),
            Self::Unreachable(error) => write!(f, "it cannot be reached: {error}"),
            Self::Late(wait) => write!(f, "it gave no answer within {} ms", wait.as_millis()),
            Self::Broken(error) => write!(f, "its answer cannot be read: {error}"),
            Self::Status(status) => write!(f, "it answered {status}"),
            Self::Body(why) => f.write_str(why),
        }
    }
}

/// The body of the answer, which has to be a 200 of at most so many bytes.
pub async fn get(url: &Uri, bytes_max: usize, wait: Duration) -> Result<Bytes, NotGot> {
    match timeout(wait, exchange(url, bytes_max, wait)).await {
        Ok(answered) => answered,
        Err(_) => Err(NotGot::Late(wait)),
    }
}

async fn exchange(url: &Uri, bytes_max: usize, wait: Duration) -> Result<Bytes, NotGot> {
    let (address, host) =
        (Address::of(url).ok_or(NotGot::Url)?, url.authority().ok_or(NotGot::Url)?.as_str());
    let path = url.path_and_query().map_or("/", |path| path.as_str());
    let request = Request::get(path).header(HOST, host).header(ACCEPT, "application/json");
    let request = request.body(Empty::<Bytes>::new()).map_err(|_| NotGot::Url)?;
    let (wire, _) = dial(&address, Offer::Http1, wait).await.map_err(|error| match error {
        DialError::Io(error) => NotGot::Unreachable(error),
        DialError::Late => NotGot::Late(wait),
    })?;
    let (mut send, connection) = http1::handshake(TokioIo::new(wire)).await.map_err(NotGot::Broken)?;
    // It ends with this call, whichever way that ends.
    let mut driving = JoinSet::new();
    driving.spawn(connection);
    let answer = send.send_request(request).await.map_err(NotGot::Broken)?;
    if answer.status() != StatusCode::OK {
        return Err(NotGot::Status(answer.status()));
    }
    let body = Limited::new(answer.into_body(), bytes_max).collect().await.map_err(|error| {
        NotGot::Body(if error.is::<LengthLimitError>() {
            "its answer is too large"
        } else {
            "its answer broke off"
        })
    })?;
    Ok(body.to_bytes())
}
