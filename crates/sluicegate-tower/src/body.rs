//! The body of an answer: the service's own, with what is in flight until it ends, or a denial.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::StatusCode;
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;
use sluicegate_core::grpc_status;

use crate::grpc::{Protocol, UploadFault};
use crate::guard::InFlight;

pin_project! {
    /// The body of an answer.
    #[derive(Debug)]
    pub struct GuardedBody<B> {
        #[pin]
        kind: Kind<B>,
        held: Option<InFlight>,
        protocol: Protocol,
        fault: Option<UploadFault>,
    }
}

pin_project! {
    #[project = KindProjection]
    #[derive(Debug)]
    enum Kind<B> {
        Inner { #[pin] body: B },
        Text { text: Option<Bytes> },
    }
}

impl<B> GuardedBody<B> {
    pub(crate) fn inner(
        body: B,
        held: Option<InFlight>,
        protocol: Protocol,
        fault: Option<UploadFault>,
    ) -> Self {
        Self { kind: Kind::Inner { body }, held, protocol, fault }
    }

    /// A body that is there already.
    pub fn text(text: Bytes) -> Self {
        let text = Some(text).filter(|text| !text.is_empty());
        Self { kind: Kind::Text { text }, held: None, protocol: Protocol::Http, fault: None }
    }
}

impl<B: Body<Data = Bytes>> Body for GuardedBody<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let this = self.project();
        let polled = match this.kind.project() {
            KindProjection::Inner { body } => body.poll_frame(context),
            KindProjection::Text { text } => Poll::Ready(text.take().map(|text| Ok(Frame::data(text)))),
        };
        if let Poll::Ready(Some(Ok(frame))) = &polled
            && *this.protocol == Protocol::Grpc
            && let (Some(trailers), Some(held)) = (frame.trailers_ref(), &this.held)
            && grpc_status::is_server_failure(trailers)
        {
            // The status of a gRPC call with an answer stands in its trailers.
            let is_callers = this.fault.as_ref().is_some_and(UploadFault::is_callers);
            held.answered(if is_callers {
                StatusCode::BAD_REQUEST
            } else {
                StatusCode::INTERNAL_SERVER_ERROR
            });
        }
        if let Poll::Ready(None | Some(Err(_))) = polled {
            // Not when the connection gets round to dropping the body: the slot is free with the last byte.
            this.held.take();
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        match &self.kind {
            Kind::Inner { body } => body.is_end_stream(),
            Kind::Text { text } => text.is_none(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.kind {
            Kind::Inner { body } => body.size_hint(),
            Kind::Text { text } => SizeHint::with_exact(text.as_ref().map_or(0, |text| text.len() as u64)),
        }
    }
}
