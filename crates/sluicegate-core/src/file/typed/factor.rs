//! Multipliers and percentages. Both exact: no float is involved.

use serde_json::{Value as Json, json};

use super::number::parse_whole;
use super::{Typed, unwanted};
use crate::file::sink::Sink;
use crate::file::yaml::Node;
use crate::policy::Percent;

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
        let whole = parse_whole(whole).ok()?.to_string();
        let decimals = match decimals.trim_end_matches('0') {
            "" if digits(decimals) => "0",
            rest => rest,
        };
        if !digits(decimals) || whole.len() > Self::WHOLE_DIGITS_MAX || decimals.len() > Self::DECIMALS_MAX {
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
            let wanted = "a number from 0.001 to 999999.999, with at most three decimals";
            return unwanted(node, what, wanted, "write a factor such as 2 or 1.5", sink);
        }
        parsed
    }

    fn schema() -> Json {
        json!({"anyOf": [
            {"type": "number", "exclusiveMinimum": 0},
            {"type": "string", "pattern": "^[0-9]+(_[0-9]+)*([.][0-9]+)?$"},
        ]})
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn multipliers_are_exact_and_round_down_to_at_least_one() {
        let times = |text: &str, amount| Multiplier::parse(text).map(|factor| factor.of(amount));
        assert_eq!(times("2", 10), Some(20));
        assert_eq!(times("2.0", 10), Some(20));
        assert_eq!(times("1.5", 5), Some(7));
        assert_eq!(times("0.1", 3), Some(1));
        assert_eq!(times("1.001", 1_000_000_000), Some(1_001_000_000));
        assert_eq!(times("100_000.5", 2), Some(200_001));
        for text in ["0", "0.0", "-1", "1.", ".5", "1.2345", "1e1", "", "1000000.5x", "1234567"] {
            assert_eq!(times(text, 1), None, "{text}");
        }
    }
}
