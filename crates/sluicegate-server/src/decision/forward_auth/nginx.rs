//! Refusals as nginx understands them.
//!
//! Its `auth_request` knows 401 and 403, and throws the body of the answer away. So what is really answered stands in
//! headers, which `auth_request_set` can read: the status, the error, and the whole problem document.

use std::fmt::Write as _;

use http::{HeaderName, HeaderValue, Response, StatusCode};
use http_body_util::BodyExt as _;

use super::Reply;
use crate::decision::ReplyBody;
use crate::decision::outcome::STATUS;

const ERROR: HeaderName = HeaderName::from_static("x-sluicegate-error");
const PROBLEM: HeaderName = HeaderName::from_static("x-sluicegate-problem");

/// The same refusal for nginx.
pub(super) async fn refusal(reply: Reply, error: &'static str) -> Reply {
    let (mut head, body) = reply.into_parts();
    let document = match body.collect().await {
        Ok(collected) => collected.to_bytes(),
        Err(never) => match never {},
    };
    head.headers.insert(&STATUS, HeaderValue::from(head.status.as_u16()));
    head.headers.insert(ERROR, HeaderValue::from_static(error));
    if let Ok(problem) = HeaderValue::try_from(ascii(&String::from_utf8_lossy(&document))) {
        head.headers.insert(PROBLEM, problem);
    }
    if head.status != StatusCode::UNAUTHORIZED {
        head.status = StatusCode::FORBIDDEN;
    }
    Response::from_parts(head, ReplyBody::whole(document))
}

/// The same JSON in letters that a header may carry: all others stand in strings, where they can be escaped.
fn ascii(document: &str) -> String {
    let mut text = String::with_capacity(document.len());
    for letter in document.chars() {
        if matches!(letter, ' '..='~') {
            text.push(letter);
        } else {
            for unit in letter.encode_utf16(&mut [0; 2]) {
                let _ = write!(text, "\\u{unit:04x}");
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_the_same_in_a_header() {
        for document in [r#"{"tier":"gold \"x\" \\"}"#, r#"{"tier":"größe 💶"}"#, "{\"tier\":\"\u{7f}\"}"]
        {
            let text = ascii(document);
            assert!(HeaderValue::try_from(&text).is_ok() && text.is_ascii(), "{text}");
            let [was, is] =
                [document, &text].map(|json| serde_json::from_str::<serde_json::Value>(json).unwrap());
            assert_eq!(was, is);
        }
        assert_eq!(ascii(r#"{"tier":"pro"}"#), r#"{"tier":"pro"}"#);
    }
}
