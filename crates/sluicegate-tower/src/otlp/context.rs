//! The context of a trace, as the header `traceparent` carries it.

use http::header::{HeaderMap, HeaderName, HeaderValue};

const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
const TRACESTATE: HeaderName = HeaderName::from_static("tracestate");

/// The length of the header in the version that we write.
const LENGTH: usize = 55;

/// Whether somebody keeps the spans of a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Sampled {
    Yes,
    No,
}

/// A trace, and a span in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct TraceContext {
    pub(super) trace: u128,
    pub(super) span: u64,
    pub(super) sampled: Sampled,
}

impl TraceContext {
    /// What a caller says. Whoever says it twice, or in a way that nobody understands, has said nothing.
    pub(super) fn of(headers: &HeaderMap) -> Option<Self> {
        let mut values = headers.get_all(TRACEPARENT).iter();
        match (values.next(), values.next()) {
            (Some(value), None) => Self::parse(value.as_bytes()),
            _ => None,
        }
    }

    fn parse(text: &[u8]) -> Option<Self> {
        let (head, more) = text.split_at_checked(LENGTH)?;
        let version = hex(&head[..2])?;
        let separated = [head[2], head[35], head[52]] == [b'-'; 3];
        // Later versions may say more behind it.
        let ends = if version == 0 { more.is_empty() } else { more.is_empty() || more[0] == b'-' };
        if version == 0xff || !separated || !ends {
            return None;
        }
        let trace = hex(&head[3..35]).filter(|trace| *trace != 0)?;
        let span = u64::try_from(hex(&head[36..52])?).ok().filter(|span| *span != 0)?;
        let sampled = if hex(&head[53..55])? & 1 == 1 { Sampled::Yes } else { Sampled::No };
        Some(Self { trace, span, sampled })
    }

    /// Has the upstream go on with it. What others say about another trace is not passed on.
    pub(super) fn pass_on(self, headers: &mut HeaderMap, parent: Option<Self>) {
        let Self { trace, span, sampled } = self;
        let flags = u8::from(sampled == Sampled::Yes);
        if let Ok(value) = HeaderValue::try_from(format!("00-{trace:032x}-{span:016x}-{flags:02x}")) {
            headers.insert(TRACEPARENT, value);
        }
        if parent.is_none() {
            headers.remove(TRACESTATE);
        }
    }
}

/// Digits in lower case, as the standard wants them.
fn hex(digits: &[u8]) -> Option<u128> {
    digits.iter().try_fold(0_u128, |value, digit| {
        let digit = match digit {
            b'0'..=b'9' => digit - b'0',
            b'a'..=b'f' => digit - b'a' + 10,
            _ => return None,
        };
        Some(value << 4 | u128::from(digit))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const CALLER: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    fn read(value: &str) -> Option<TraceContext> {
        TraceContext::parse(value.as_bytes())
    }

    #[test]
    fn what_a_caller_says_is_read_and_written_again() {
        let context = read(CALLER).unwrap();
        assert_eq!((context.span, context.sampled), (0xb7ad_6b71_6920_3331, Sampled::Yes));
        let mut headers = HeaderMap::new();
        headers.insert(TRACESTATE, HeaderValue::from_static("vendor=1"));
        context.pass_on(&mut headers, Some(context));
        assert_eq!(
            (headers[TRACEPARENT].as_bytes(), headers.contains_key(TRACESTATE)),
            (CALLER.as_bytes(), true)
        );
        context.pass_on(&mut headers, None);
        assert!(!headers.contains_key(TRACESTATE));
        assert_eq!(TraceContext::of(&headers), Some(context));
        headers.append(TRACEPARENT, HeaderValue::from_static(CALLER));
        assert_eq!(TraceContext::of(&headers), None);
    }

    #[test]
    fn later_versions_may_say_more_and_nobody_may_say_nonsense() {
        let later = CALLER.replacen("00-", "01-", 1);
        assert!(read(&later).is_some() && read(&format!("{later}-more")).is_some());
        let wrong = [
            format!("{CALLER}-more"),
            format!("{later}more"),
            CALLER.replacen("00-", "ff-", 1),
            CALLER.to_uppercase(),
            CALLER.replace('-', "_"),
            CALLER.replace("0af7651916cd43dd8448eb211c80319c", &"0".repeat(32)),
            CALLER.replace("b7ad6b7169203331", &"0".repeat(16)),
            CALLER[..54].to_owned(),
            String::new(),
        ];
        for wrong in wrong {
            assert_eq!(read(&wrong), None, "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_are_too_strange(bytes: Vec<u8>) {
            let _ = TraceContext::parse(&bytes);
        }
    }
}
