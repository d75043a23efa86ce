//! The body of an answer that goes on for as long as somebody reads it.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame};
use tokio::sync::mpsc;

/// Frames, as they come.
pub(super) struct EventBody(mpsc::Receiver<Bytes>);

impl EventBody {
    pub(super) fn new(frames: mpsc::Receiver<Bytes>) -> Self {
        Self(frames)
    }
}

impl Body for EventBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(context).map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes))))
    }
}
