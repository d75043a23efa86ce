//! Spellings of a path segment that upstreams take for the same: percent-encoded, with parameters, in another case.
//!
//! Most upstreams accept at least one of them, and a route that is missed is a limit that is escaped.

use super::Case;

/// Whether a segment is the literal in another spelling. Called when the two are not equal byte by byte.
pub(super) fn is_equivalent(literal: &str, text: &str, case: Case) -> bool {
    if case == Case::Insensitive && literal.eq_ignore_ascii_case(text) {
        return true;
    }
    text.bytes().any(|byte| matches!(byte, b'%' | b';')) && is_encoded(literal, text, case)
}

/// Whether a segment is the literal to an upstream that decodes it or cuts off its parameters: `%63onvert`,
/// `convert;v=1`.
#[cold]
fn is_encoded(literal: &str, text: &str, case: Case) -> bool {
    let plain = text.split(';').next().unwrap_or_default();
    [text, plain].into_iter().any(|text| is_decoded(literal, text, case))
}

fn is_decoded(literal: &str, text: &str, case: Case) -> bool {
    match case {
        Case::Sensitive => decoded(text).eq(literal.bytes()),
        Case::Insensitive if literal.is_ascii() => decoded(text)
            .map(|byte| byte.to_ascii_lowercase())
            .eq(literal.bytes().map(|byte| byte.to_ascii_lowercase())),
        Case::Insensitive => {
            let bytes: Vec<u8> = decoded(text).collect();
            str::from_utf8(&bytes).is_ok_and(|text| is_same_ignoring_case(literal, text))
        }
    }
}

/// Whether two texts differ in upper and lower case at most.
pub(super) fn is_same_ignoring_case(one: &str, other: &str) -> bool {
    if one.is_ascii() && other.is_ascii() {
        return one.eq_ignore_ascii_case(other);
    }
    let folded = |text: &str| text.to_lowercase().to_uppercase();
    folded(one) == folded(other)
}

/// The bytes of a segment, percent-decoded. What is no encoding stands for itself.
fn decoded(text: &str) -> impl Iterator<Item = u8> {
    let mut rest = text.as_bytes();
    std::iter::from_fn(move || {
        let (first, behind) = rest.split_first()?;
        let digit = |at: usize| behind.get(at).and_then(|byte| char::from(*byte).to_digit(16));
        let (byte, behind) = match (first, digit(0), digit(1)) {
            (b'%', Some(high), Some(low)) => (u8::try_from(high << 4 | low).unwrap_or(*first), &behind[2..]),
            _ => (*first, behind),
        };
        rest = behind;
        Some(byte)
    })
}
