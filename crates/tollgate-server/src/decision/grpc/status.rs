//! How a call ends that does not end well: a code, and a sentence for people.

use std::borrow::Cow;

use http::{HeaderName, HeaderValue};

use super::super::reply_body::{GRPC_STATUS, ReplyBody};
use super::{Reply, reply};

static GRPC_MESSAGE: HeaderName = HeaderName::from_static("grpc-message");

/// The codes that are answered here, with their numbers on the wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(super) enum Code {
    Ok = 0,
    Cancelled = 1,
    InvalidArgument = 3,
    NotFound = 5,
    PermissionDenied = 7,
    ResourceExhausted = 8,
    FailedPrecondition = 9,
    Unimplemented = 12,
    Unavailable = 14,
    Unauthenticated = 16,
}

impl Code {
    /// Its number.
    pub(super) const fn number(self) -> u8 {
        self as u8
    }
}

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
        if let Ok(message) = HeaderValue::try_from(encoded(&self.message)) {
            headers.insert(&GRPC_MESSAGE, message);
        }
        reply
    }
}

/// A sentence as headers can carry it: what is not visible ASCII is percent-encoded.
fn encoded(message: &str) -> String {
    let mut text = String::with_capacity(message.len());
    for byte in message.bytes() {
        if matches!(byte, b' '..=b'~') && byte != b'%' {
            text.push(char::from(byte));
        } else {
            let digit = |value: u8| char::from(b"0123456789ABCDEF"[usize::from(value & 0xf)]);
            text.extend(['%', digit(byte >> 4), digit(byte)]);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_survives_as_a_header() {
        assert_eq!(encoded("a limit of 3"), "a limit of 3");
        assert_eq!(encoded("50% \u{fc}ber\n"), "50%25 %C3%BCber%0A");
    }

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
