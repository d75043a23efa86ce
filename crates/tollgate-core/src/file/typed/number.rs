//! Whole numbers, multipliers, percentages, status codes. All of them exact: no float is involved.

use serde_json::{Value as Json, json};

use super::{Typed, unwanted};
use crate::file::sink::Sink;
use crate::file::yaml::Node;
use crate::policy::Percent;

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
    let text = text
        .strip_prefix('+')
        .unwrap_or(text)
        .replace([',', '_', '\''], "");
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.strip_prefix('+').unwrap_or(exponent)),
        None => (text.as_str(), "0"),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let fraction = fraction.trim_end_matches('0');
    let exponent: usize = exponent
        .parse()
        .ok()
        .filter(|exponent| *exponent <= EXPONENT_MAX)?;
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
        NotWhole::Negative => (
            format!("{what} may not be negative"),
            "write a whole number without a sign".to_owned(),
        ),
        NotWhole::TooLarge => (
            format!("{what} is too large"),
            "the largest number is 9_007_199_254_740_991".to_owned(),
        ),
        NotWhole::Write(form) => (
            format!("{what} must be written in digits, not as {}", node.describe()),
            format!("write {form}"),
        ),
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
            None => unwanted(
                node,
                what,
                "a whole number",
                "write a number, such as 10 or 50_000",
                sink,
            ),
        }
    }

    fn schema() -> Json {
        json!({"anyOf": [
            {"type": "integer", "minimum": 0},
            {"type": "string", "pattern": "^[0-9]+(_[0-9]+)*$"},
        ]})
    }
}

/// A decimal factor as an exact fraction: `thousandths` over 1,000, up to six digits before the point.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::file) struct Multiplier {
    thousandths: u64,
}

impl Multiplier {
    const WHOLE_DIGITS_MAX: usize = 6;
    const DECIMALS_MAX: usize = 3;

    fn parse(text: &str) -> Option<Self> {
        let (whole, decimals) = text.split_once('.').unwrap_or((text, "0"));
        let digits = |part: &str| !part.is_empty() && part.bytes().all(|c| c.is_ascii_digit());
        let decimals = match decimals.trim_end_matches('0') {
            "" if digits(decimals) => "0",
            rest => rest,
        };
        if !digits(whole) || !digits(decimals) {
            return None;
        }
        if whole.len() > Self::WHOLE_DIGITS_MAX || decimals.len() > Self::DECIMALS_MAX {
            return None;
        }
        let thousandths = format!("{whole}{decimals:0<width$}", width = Self::DECIMALS_MAX);
        let thousandths = thousandths.parse().ok().filter(|thousandths| *thousandths > 0)?;
        Some(Self { thousandths })
    }

    /// The amount times the factor, rounded down, but at least 1.
    pub(in crate::file) fn of(self, amount: u64) -> u128 {
        (u128::from(amount) * u128::from(self.thousandths) / 1_000).max(1)
    }
}

impl Typed for Multiplier {
    fn decode(node: &Node, what: &str, sink: &mut Sink) -> Option<Self> {
        let parsed = node.text().and_then(Self::parse);
        if parsed.is_none() {
            let wanted = "a number above zero with at most three decimals";
            return unwanted(node, what, wanted, "write a factor such as 2 or 1.5", sink);
        }
        parsed
    }

    fn schema() -> Json {
        json!({"type": "number", "exclusiveMinimum": 0, "multipleOf": 0.001})
    }
}

/// A share, written `40%`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::file) struct Percentage(pub(in crate::file) Percent);

impl Typed for Percentage {
    fn decode(node: &Node, what: &str, sink: &mut Sink) -> Option<Self> {
        let number = |text: &str| parse_whole(text).ok().and_then(Percent::new);
        let text = node.text();
        if let Some(percent) = text.and_then(|text| text.strip_suffix('%')).and_then(number) {
            return Some(Self(percent));
        }
        let help = match text.and_then(number) {
            Some(percent) => format!("write {percent}"),
            None => "write a percentage such as 40%".to_owned(),
        };
        unwanted(node, what, "a share from 1% to 100%", &help, sink)
    }

    fn schema() -> Json {
        json!({"type": "string", "pattern": "^([1-9][0-9]?|100)%$"})
    }
}

/// The status of a refusal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::file) struct Status(pub(in crate::file) crate::limit::RefusalStatus);

impl Typed for Status {
    fn decode(node: &Node, what: &str, sink: &mut Sink) -> Option<Self> {
        use crate::limit::RefusalStatus::{Forbidden, PaymentRequired, TooManyRequests};
        let all = [PaymentRequired, Forbidden, TooManyRequests];
        let found = node
            .text()
            .and_then(|text| all.into_iter().find(|status| status.code().to_string() == text));
        if found.is_none() {
            let help = "402: pay or wait for the period's end; 403: forbidden; 429: come back later";
            return unwanted(node, what, "402, 403 or 429", help, sink);
        }
        found.map(Self)
    }

    fn schema() -> Json {
        json!({"enum": [402, 403, 429]})
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

    #[test]
    fn multipliers_are_exact_and_round_down_to_at_least_one() {
        let times = |text: &str, amount| Multiplier::parse(text).map(|factor| factor.of(amount));
        assert_eq!(times("2", 10), Some(20));
        assert_eq!(times("2.0", 10), Some(20));
        assert_eq!(times("1.5", 5), Some(7));
        assert_eq!(times("0.1", 3), Some(1));
        assert_eq!(times("1.001", 1_000_000_000), Some(1_001_000_000));
        for text in [
            "0",
            "0.0",
            "-1",
            "1.",
            ".5",
            "1.2345",
            "1e1",
            "",
            "1000000.5x",
            "1234567",
        ] {
            assert_eq!(times(text, 1), None, "{text}");
        }
    }
}
