//! A number of callers as people write it: `1k`, `100k`, `10m`.

use std::fmt;
use std::str::FromStr;

/// The most that is accepted: the peers need about 120 bytes for each, so this is already 12 GB per peer.
const CALLERS_MAX: u32 = 100_000_000;

/// How many callers a contestant knows while it is measured; at least one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Callers(u32);

impl Callers {
    pub(crate) const THOUSAND: Self = Self(1_000);
    pub(crate) const HUNDRED_THOUSAND: Self = Self(100_000);
    pub(crate) const MILLION: Self = Self(1_000_000);
    pub(crate) const TEN_MILLION: Self = Self(10_000_000);

    pub(crate) const fn get(self) -> u32 {
        self.0
    }

    pub(crate) const fn as_usize(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for Callers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            n if n.is_multiple_of(1_000_000) => write!(f, "{}m", n / 1_000_000),
            n if n.is_multiple_of(1_000) => write!(f, "{}k", n / 1_000),
            n => write!(f, "{n}"),
        }
    }
}

impl FromStr for Callers {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (digits, unit) = match text.strip_suffix(['m', 'M']) {
            Some(digits) => (digits, 1_000_000),
            None => text.strip_suffix(['k', 'K']).map_or((text, 1), |digits| (digits, 1_000)),
        };
        let count = digits.parse::<u32>().ok().and_then(|n| n.checked_mul(unit));
        match count {
            Some(n) if (1..=CALLERS_MAX).contains(&n) => Ok(Self(n)),
            _ => Err(format!("write a number from 1 to {}, such as 1k, 100k or 10m", Self(CALLERS_MAX))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Callers;

    #[test]
    fn a_label_reads_back_as_itself() {
        for label in ["1", "999", "1k", "1500k", "1m", "10m", "100m"] {
            assert_eq!(label.parse::<Callers>().unwrap().to_string(), label);
        }
    }

    #[test]
    fn a_count_is_written_in_its_largest_unit() {
        assert_eq!("1000".parse::<Callers>().unwrap().to_string(), "1k");
        assert_eq!("1000k".parse::<Callers>().unwrap().to_string(), "1m");
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["", "0", "k", "-1", "101m", "5000m", "1g", "1.5m"] {
            assert!(text.parse::<Callers>().is_err(), "{text}");
        }
    }
}
