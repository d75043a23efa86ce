//! The one table from the HTTP status of a refusal to the gRPC status that says the same.

use std::fmt::Write as _;

use http::HeaderMap;
use http::header::CONTENT_TYPE;

/// What the content types of gRPC start with.
const MEDIA_TYPE: &str = "application/grpc";

/// The longest wait that a client is told to wait by itself. Beyond it the call would seem to hang: its caller is told
/// at once instead.
const PUSHBACK_MAX_MS: u64 = 30_000;

/// The pushback that forbids a retry.
const NO_RETRY: i32 = -1;

/// The gRPC statuses that are answered, with their numbers on the wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum GrpcCode {
    /// The call succeeded.
    Ok = 0,
    /// The caller ended the call.
    Cancelled = 1,
    /// None of the others.
    Unknown = 2,
    /// The request is malformed.
    InvalidArgument = 3,
    /// It took too long. The work may have been done.
    DeadlineExceeded = 4,
    /// There is no such thing.
    NotFound = 5,
    /// The caller is known, and may not.
    PermissionDenied = 7,
    /// A limit or a quota is spent, or the request is too large.
    ResourceExhausted = 8,
    /// Refused until the caller changes something.
    FailedPrecondition = 9,
    /// There is no such method.
    Unimplemented = 12,
    /// The service cannot be reached at the moment.
    Unavailable = 14,
    /// The caller shows no valid credential.
    Unauthenticated = 16,
}

impl GrpcCode {
    /// The code for a refusal with this HTTP status.
    ///
    /// 504 and 408 are `DEADLINE_EXCEEDED` and not `UNAVAILABLE`: the upstream may have done the work, and clients
    /// commonly retry `UNAVAILABLE` by themselves.
    pub const fn of_http(status: u16) -> Self {
        match status {
            400 => Self::InvalidArgument,
            401 => Self::Unauthenticated,
            403 => Self::PermissionDenied,
            404 | 405 => Self::Unimplemented,
            402 | 429 | 413 | 414 | 431 => Self::ResourceExhausted,
            408 | 504 => Self::DeadlineExceeded,
            422 => Self::FailedPrecondition,
            502 | 503 => Self::Unavailable,
            _ => Self::Unknown,
        }
    }

    /// Its number.
    pub const fn number(self) -> u8 {
        self as u8
    }
}

/// Whether a status that a service answers says that the service itself has failed: UNKNOWN, INTERNAL, UNAVAILABLE or
/// DATA_LOSS. What the caller did wrong, or did not wait for, is none of these.
pub fn is_server_failure(headers: &HeaderMap) -> bool {
    let status = headers.get("grpc-status").map(http::HeaderValue::as_bytes);
    matches!(status, Some(b"2" | b"13" | b"14" | b"15"))
}

/// The media type of a gRPC call, without its parameters; nothing if these are the headers of another request.
///
/// gRPC-Web counts: there, too, the status of an answer without a body stands among its headers.
pub fn media_type(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(CONTENT_TYPE)?.to_str().ok()?;
    let media_type = value.split(';').next()?.trim();
    let prefix = media_type.get(..MEDIA_TYPE.len())?;
    let has_prefix = prefix.eq_ignore_ascii_case(MEDIA_TYPE);
    let subtype_ends = matches!(media_type.as_bytes().get(MEDIA_TYPE.len()), None | Some(b'+' | b'-'));
    (has_prefix && subtype_ends).then_some(media_type)
}

/// The value of `grpc-message` for a refusal: its error code, and what a problem document has as `detail`.
pub fn message(error: &str, detail: &str) -> String {
    let mut text = String::with_capacity(error.len() + 2 + detail.len());
    for part in [error, ": ", detail] {
        percent_encode(&mut text, part);
    }
    text
}

/// Appends text as `grpc-message` carries it: all but printable ASCII is percent-encoded, and so is `%`.
pub fn percent_encode(encoded: &mut String, text: &str) {
    for byte in text.bytes() {
        if matches!(byte, b' '..=b'~') && byte != b'%' {
            encoded.push(char::from(byte));
        } else {
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
}

/// The value of `grpc-retry-pushback-ms`, by which clients with a retry policy know when to retry: nothing leaves it
/// to their own backoff, a negative number forbids it.
pub fn retry_pushback_ms(status: u16, retry_after_ms: u64) -> Option<i32> {
    match (retry_after_ms, status) {
        (1..=PUSHBACK_MAX_MS, _) => i32::try_from(retry_after_ms).ok(),
        (0, 429 | 502 | 503 | 504) => None,
        _ => Some(NO_RETRY),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_service_did_wrong_is_its_failure() {
        let is_failure = |status: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert("grpc-status", http::HeaderValue::from_static(status));
            is_server_failure(&headers)
        };
        let failures: Vec<&str> =
            ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15", "16"]
                .into_iter()
                .filter(|status| is_failure(status))
                .collect();
        assert_eq!(failures, ["2", "13", "14", "15"]);
        assert!(!is_server_failure(&HeaderMap::new()));
    }
    use crate::answer::ErrorCode;

    #[test]
    fn every_refusal_has_a_code_of_its_own_kind() {
        for error in ErrorCode::all() {
            let expected = match error.status() {
                402 | 429 => 8,
                401 => 16,
                403 => 7,
                503 => 14,
                400 => 3,
                422 => 9,
                status => panic!("{} is answered with {status}", error.as_str()),
            };
            assert_eq!(GrpcCode::of_http(error.status()).number(), expected, "{}", error.as_str());
        }
        for (status, expected) in [(502, 14), (504, 4), (408, 4), (413, 8), (405, 12), (500, 2), (418, 2)] {
            assert_eq!(GrpcCode::of_http(status).number(), expected, "{status}");
        }
    }

    #[test]
    fn grpc_is_told_by_the_whole_media_type() {
        let media_type_of = |value: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(CONTENT_TYPE, http::HeaderValue::from_static(value));
            media_type(&headers).map(str::to_owned)
        };
        for value in [
            "application/grpc",
            "application/grpc+proto",
            "Application/gRPC+json",
            "application/grpc-web",
            "application/grpc-web-text+proto",
        ] {
            assert_eq!(media_type_of(value).as_deref(), Some(value));
        }
        assert_eq!(media_type_of("application/grpc; charset=x").as_deref(), Some("application/grpc"));
        for value in ["application/json", "application/grpcx", "application/grp", "", "text/application/grpc"]
        {
            assert_eq!(media_type_of(value), None, "{value}");
        }
        assert_eq!(media_type(&HeaderMap::new()), None);
    }

    #[test]
    fn a_message_survives_as_a_header() {
        assert_eq!(message("rate_limited", "a limit of 3"), "rate_limited: a limit of 3");
        assert_eq!(message("x", "50% \u{fc}ber\n"), "x: 50%25 %C3%BCber%0A");
    }

    #[test]
    fn a_client_retries_by_itself_where_a_short_wait_helps() {
        assert_eq!(retry_pushback_ms(429, 1_500), Some(1_500));
        assert_eq!(retry_pushback_ms(503, 30_000), Some(30_000));
        assert_eq!(retry_pushback_ms(429, 30_001), Some(-1), "it would seem to hang");
        assert_eq!(retry_pushback_ms(402, u64::MAX), Some(-1));
        assert_eq!(retry_pushback_ms(502, 0), None, "its own backoff");
        assert_eq!(retry_pushback_ms(403, 0), Some(-1));
    }
}
