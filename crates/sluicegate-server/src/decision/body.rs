//! The body of a request: read whole, never more of it than it may have.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, ORIGIN};
use http::{HeaderMap, HeaderValue, Request};
use http_body::Body;
use tokio::time::timeout;

use super::refusal::Refusal;

/// How long the next piece of a body may take: whoever says that there is one sends it.
const PIECE_WAIT_MAX: Duration = Duration::from_secs(30);

/// Reads the JSON body of a request. One that comes in one piece is not copied.
pub(super) async fn read<B>(request: &mut Request<B>, bytes_max: usize) -> Result<Bytes, Refusal>
where
    B: Body<Data = Bytes> + Unpin,
{
    expect_json(request.headers())?;
    read_whole(request, bytes_max).await
}

/// Reads the body of a request that may also be a form.
pub(super) async fn read_form<B>(request: &mut Request<B>, bytes_max: usize) -> Result<Bytes, Refusal>
where
    B: Body<Data = Bytes> + Unpin,
{
    match request.headers().get(CONTENT_TYPE).map(essence) {
        Some(given) if given.eq_ignore_ascii_case(FORM) => {}
        None => {}
        Some(_) => expect_type(request.headers())?,
    }
    read_whole(request, bytes_max).await
}

async fn read_whole<B>(request: &mut Request<B>, bytes_max: usize) -> Result<Bytes, Refusal>
where
    B: Body<Data = Bytes> + Unpin,
{
    let body = request.body_mut();
    // What says to be too large is refused unread.
    if body.size_hint().lower() > bytes_max as u64 {
        return Err(Refusal::TooLarge { bytes_max });
    }
    let first = piece(body).await?.unwrap_or_default();
    if first.len() <= bytes_max && body.is_end_stream() {
        return Ok(first);
    }
    let mut whole = Vec::from(first);
    loop {
        if whole.len() > bytes_max {
            return Err(Refusal::TooLarge { bytes_max });
        }
        match piece(body).await? {
            Some(more) => whole.extend_from_slice(&more),
            None => return Ok(whole.into()),
        }
    }
}

/// The next piece of data; nothing at the end. Trailers say nothing here.
pub(super) async fn piece<B>(body: &mut B) -> Result<Option<Bytes>, Refusal>
where
    B: Body<Data = Bytes> + Unpin,
{
    loop {
        let mut frame = pin!(poll_fn(|context| Pin::new(&mut *body).poll_frame(context)));
        // What has come already needs nobody to look at a clock.
        let frame = match poll_fn(|context| Poll::Ready(frame.as_mut().poll(context))).await {
            Poll::Ready(frame) => frame,
            Poll::Pending => timeout(PIECE_WAIT_MAX, frame).await.map_err(|_| Refusal::BrokenOff)?,
        };
        match frame {
            None => return Ok(None),
            Some(Ok(frame)) => match frame.into_data() {
                Ok(data) => return Ok(Some(data)),
                Err(_trailers) => {}
            },
            Some(Err(_)) => return Err(Refusal::BrokenOff),
        }
    }
}

/// What forms are, and what `curl -d` says of every body.
const FORM: &[u8] = b"application/x-www-form-urlencoded";

/// Refuses what a page of another origin could have a browser send: it cannot send JSON without asking first, and it
/// cannot leave out its origin.
fn expect_json(headers: &HeaderMap) -> Result<(), Refusal> {
    if headers.contains_key(ORIGIN) {
        return Err(Refusal::CrossOrigin);
    }
    expect_type(headers)
}

fn expect_type(headers: &HeaderMap) -> Result<(), Refusal> {
    let is_json = headers
        .get(CONTENT_TYPE)
        .is_some_and(|given| essence(given).eq_ignore_ascii_case(b"application/json"));
    if is_json { Ok(()) } else { Err(Refusal::MediaType) }
}

fn essence(given: &HeaderValue) -> &[u8] {
    given.as_bytes().split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii()
}
