//! How a call ends that does not end well: a code, and a sentence for people.

use std::borrow::Cow;

use http::{HeaderName, HeaderValue};
pub(super) use sluicegate_core::grpc_status::GrpcCode as Code;
use sluicegate_core::grpc_status::percent_encode;

use super::super::reply_body::{GRPC_STATUS, ReplyBody};
use super::{Reply, reply};

static GRPC_MESSAGE: HeaderName = HeaderName::from_static("grpc-message");

/// Why a call did not end well.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Status {
    code: Code,
    message: Cow<'static, str>,
}

impl Status {
    pub(super) fn new(code: Code, message: impl Into<Cow<'static, str>>) -> Self {
        Self { code, message: message.into() }
    }

    pub(super) fn code(&self) -> Code {
        self.code
    }

    /// The answer: nothing but its head.
    #[cold]
    pub(super) fn reply(&self) -> Reply {
        let mut reply = reply(ReplyBody::whole(bytes::Bytes::new()));
        let headers = reply.headers_mut();
        headers.insert(&GRPC_STATUS, HeaderValue::from(u16::from(self.code.number())));
        let mut message = String::with_capacity(self.message.len());
        percent_encode(&mut message, &self.message);
        if let Ok(message) = HeaderValue::try_from(message) {
            headers.insert(&GRPC_MESSAGE, message);
        }
        reply
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_fails_is_answered_by_its_head_alone() {
        let reply = Status::new(Code::NotFound, "gone").reply();
        assert_eq!(reply.status(), 200);
        assert_eq!(reply.headers()["grpc-status"], "5");
        assert_eq!(reply.headers()["grpc-message"], "gone");
        assert_eq!(reply.headers()["content-type"], "application/grpc");
        assert!(http_body::Body::is_end_stream(reply.body()));
    }
}
