//! The body of an answer: bytes, or the messages of a call with the status behind them.

use std::convert::Infallible;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};
use http_body::{Body, Frame, SizeHint};
use tokio::sync::mpsc;

/// Where a call says how it went.
pub(super) static GRPC_STATUS: HeaderName = HeaderName::from_static("grpc-status");

/// The body of an answer.
#[derive(Debug)]
pub struct ReplyBody(Kind);

#[derive(Debug)]
enum Kind {
    /// Bytes, and that is all.
    Whole(Bytes),
    /// The one message of a call that went well.
    Message(Bytes),
    /// It was sent, but not that the call went well.
    Trailers,
    /// Messages as they come. When no more can come, the call went well.
    Stream(mpsc::Receiver<Part>),
    /// All was sent.
    Ended,
}

/// A part of a stream.
#[derive(Debug)]
pub(super) enum Part {
    /// A message, framed.
    Message(Bytes),
    /// The call ends with this status.
    End(u8),
}

impl ReplyBody {
    /// Bytes.
    pub(super) fn whole(bytes: Bytes) -> Self {
        Self(Kind::Whole(bytes))
    }

    /// A message, framed, of a call that went well.
    pub(super) fn message(framed: Bytes) -> Self {
        Self(Kind::Message(framed))
    }

    /// Messages as they come.
    pub(super) fn stream(parts: mpsc::Receiver<Part>) -> Self {
        Self(Kind::Stream(parts))
    }
}

impl Body for ReplyBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let (frame, then) = match mem::replace(&mut self.0, Kind::Ended) {
            Kind::Whole(bytes) if bytes.is_empty() => (None, Kind::Ended),
            Kind::Whole(bytes) => (Some(Frame::data(bytes)), Kind::Ended),
            Kind::Message(framed) => (Some(Frame::data(framed)), Kind::Trailers),
            Kind::Trailers => (Some(trailers(0)), Kind::Ended),
            Kind::Ended => (None, Kind::Ended),
            Kind::Stream(mut parts) => match parts.poll_recv(context) {
                Poll::Pending => {
                    self.0 = Kind::Stream(parts);
                    return Poll::Pending;
                }
                Poll::Ready(Some(Part::Message(framed))) => (Some(Frame::data(framed)), Kind::Stream(parts)),
                Poll::Ready(Some(Part::End(status))) => (Some(trailers(status)), Kind::Ended),
                Poll::Ready(None) => (Some(trailers(0)), Kind::Ended),
            },
        };
        self.0 = then;
        Poll::Ready(frame.map(Ok))
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            Kind::Whole(bytes) => bytes.is_empty(),
            Kind::Ended => true,
            Kind::Message(_) | Kind::Trailers | Kind::Stream(_) => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Kind::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Kind::Ended => SizeHint::with_exact(0),
            Kind::Message(_) | Kind::Trailers | Kind::Stream(_) => SizeHint::new(),
        }
    }
}

fn trailers(status: u8) -> Frame<Bytes> {
    let mut trailers = HeaderMap::with_capacity(1);
    trailers.insert(&GRPC_STATUS, HeaderValue::from(u16::from(status)));
    Frame::trailers(trailers)
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt as _;

    use super::*;

    async fn sent(mut body: ReplyBody) -> String {
        let mut said = String::new();
        while let Some(Ok(frame)) = body.frame().await {
            match frame.into_data() {
                Ok(data) => said.push_str(str::from_utf8(&data).unwrap()),
                Err(frame) => {
                    let trailers = frame.into_trailers().unwrap();
                    said.push_str(&format!("<{}>", trailers["grpc-status"].to_str().unwrap()));
                }
            }
        }
        assert!(body.is_end_stream());
        said
    }

    #[tokio::test]
    async fn a_body_of_http_is_bytes_of_known_length_and_nothing_else() {
        let body = ReplyBody::whole(Bytes::from_static(b"abc"));
        assert_eq!((body.size_hint().exact(), body.is_end_stream()), (Some(3), false));
        assert_eq!(sent(body).await, "abc");
        let empty = ReplyBody::whole(Bytes::new());
        assert_eq!((empty.size_hint().exact(), empty.is_end_stream()), (Some(0), true));
        assert_eq!(sent(empty).await, "");
    }

    #[tokio::test]
    async fn the_status_of_a_call_comes_behind_its_messages() {
        assert_eq!(sent(ReplyBody::message(Bytes::from_static(b"abc"))).await, "abc<0>");
        let (parts, received) = mpsc::channel(4);
        let body = ReplyBody::stream(received);
        parts.try_send(Part::Message(Bytes::from_static(b"a"))).unwrap();
        parts.try_send(Part::Message(Bytes::from_static(b"b"))).unwrap();
        parts.try_send(Part::End(14)).unwrap();
        assert_eq!(sent(body).await, "ab<14>");
        let (parts, received) = mpsc::channel(1);
        drop(parts);
        assert_eq!(sent(ReplyBody::stream(received)).await, "<0>", "who ends without a word ends well");
    }
}
