//! Whole numbers: digits with `_` between them, and nothing else.

use serde_json::{Value as Json, json};

use super::{Typed, unwanted};
use crate::file::sink::Sink;
use crate::file::yaml::Node;

/// A whole number that is not negative.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::file) struct Whole(pub(in crate::file) u64);

/// Why a text is no whole number.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::file) enum NotWhole {
    /// It is below zero.
    Negative,
    /// It does not fit 64 bits.
    TooLarge,
    /// It is a number in another notation; this is how to write it.
    Write(String),
    /// It is no number.
    NoNumber,
}

/// The number that `text` is, digits with `_` between them and nothing else.
pub(in crate::file) fn parse_whole(text: &str) -> Result<u64, NotWhole> {
    if is_digits(text) {
        let digits = text.replace('_', "");
        if digits.len() > 1 && digits.starts_with('0') {
            return Err(NotWhole::Write(without_zeros(&digits)));
        }
        return digits.parse().map_err(|_| NotWhole::TooLarge);
    }
    if let Some(rest) = text.strip_prefix('-')
        && rest.starts_with(|c: char| c.is_ascii_digit())
    {
        return Err(NotWhole::Negative);
    }
    Err(plain_form(text).map_or(NotWhole::NoNumber, NotWhole::Write))
}

/// Digits, each `_` between two of them.
fn is_digits(text: &str) -> bool {
    let only = text.bytes().all(|c| c.is_ascii_digit() || c == b'_');
    only && !text.is_empty() && !text.starts_with('_') && !text.ends_with('_') && !text.contains("__")
}

fn without_zeros(digits: &str) -> String {
    let rest = digits.trim_start_matches('0');
    if rest.is_empty() { "0" } else { rest }.to_owned()
}

/// How a whole number in another notation is written here: `+5`, `1.0`, `1e6`, `0x10`, `1,000`.
fn plain_form(text: &str) -> Option<String> {
    const EXPONENT_MAX: usize = 18;
    if let Some(digits) = text.strip_prefix("0x") {
        return u64::from_str_radix(digits, 16).ok().map(|n| n.to_string());
    }
    let text = text.strip_prefix('+').unwrap_or(text).replace([',', '_', '\''], "");
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.strip_prefix('+').unwrap_or(exponent)),
        None => (text.as_str(), "0"),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let fraction = fraction.trim_end_matches('0');
    let exponent: usize = exponent.parse().ok().filter(|exponent| *exponent <= EXPONENT_MAX)?;
    let digits = |text: &str| text.bytes().all(|c| c.is_ascii_digit());
    let fits = !whole.is_empty() && whole.len() <= EXPONENT_MAX && digits(whole) && digits(fraction);
    let zeros = exponent.checked_sub(fraction.len()).filter(|_| fits)?;
    Some(without_zeros(&format!("{whole}{fraction}{}", "0".repeat(zeros))))
}

/// The whole number in a node whose text may be nothing else.
pub(in crate::file) fn whole_of(node: &Node, text: &str, what: &str, sink: &mut Sink) -> Option<u64> {
    let problem = match parse_whole(text) {
        Ok(number) => return Some(number),
        Err(problem) => problem,
    };
    let (message, help) = match problem {
        NotWhole::Negative => {
            (format!("{what} may not be negative"), "write a whole number without a sign".to_owned())
        }
        NotWhole::TooLarge => {
            (format!("{what} is too large"), "the largest number is 9_007_199_254_740_991".to_owned())
        }
        NotWhole::Write(form) => {
            (format!("{what} must be written in digits, not as {}", node.describe()), format!("write {form}"))
        }
        NotWhole::NoNumber => (
            format!("{what} must be a whole number, not {}", node.describe()),
            "write digits, with `_` between them if you like, such as 50_000".to_owned(),
        ),
    };
    sink.report(node.place, message, help);
    None
}

impl Typed for Whole {
    fn decode(node: &Node, what: &str, sink: &mut Sink) -> Option<Self> {
        match node.text() {
            Some(text) => whole_of(node, text, what, sink).map(Self),
            None => unwanted(node, what, "a whole number", "write a number, such as 10 or 50_000", sink),
        }
    }

    fn schema() -> Json {
        json!({"anyOf": [
            {"type": "integer", "minimum": 0},
            {"type": "string", "pattern": "^[0-9]+(_[0-9]+)*$"},
        ]})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn underscores_may_stand_between_digits_only() {
        assert_eq!(parse_whole("50_000"), Ok(50_000));
        assert_eq!(parse_whole("0"), Ok(0));
        for text in ["_5", "5_", "5__0"] {
            assert!(matches!(parse_whole(text), Err(NotWhole::Write(_))), "{text}");
        }
        for text in ["", "_", "5 0", "٣"] {
            assert_eq!(parse_whole(text), Err(NotWhole::NoNumber), "{text}");
        }
    }

    #[test]
    fn other_notations_are_refused_with_the_right_form() {
        let pairs = [
            ("1e6", "1000000"),
            ("1.5e3", "1500"),
            ("1.0", "1"),
            ("0x10", "16"),
            ("+5", "5"),
            ("007", "7"),
            ("1,000", "1000"),
        ];
        for (text, form) in pairs {
            assert_eq!(parse_whole(text), Err(NotWhole::Write(form.to_owned())), "{text}");
        }
        assert_eq!(parse_whole("1.5"), Err(NotWhole::NoNumber));
        assert_eq!(parse_whole("1e999999"), Err(NotWhole::NoNumber));
        assert_eq!(parse_whole("-5"), Err(NotWhole::Negative));
        assert_eq!(parse_whole("99999999999999999999"), Err(NotWhole::TooLarge));
    }
}
