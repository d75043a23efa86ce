//! Durations (`10m`, `1h30m`) and amounts per window (`100/minute`, `5/10s`).

use serde_json::{Value as Json, json};

use super::number::{NotWhole, parse_whole, whole_of};
use super::{Typed, unwanted};
use crate::file::sink::Sink;
use crate::file::yaml::{Node, shown};
use crate::time::Window;

/// Every name of a unit, with its seconds.
const UNITS: &[(&str, u64)] = &[
    ("s", 1),
    ("sec", 1),
    ("second", 1),
    ("seconds", 1),
    ("m", 60),
    ("min", 60),
    ("minute", 60),
    ("minutes", 60),
    ("h", 3_600),
    ("hour", 3_600),
    ("hours", 3_600),
    ("d", 86_400),
    ("day", 86_400),
    ("days", 86_400),
    ("w", 604_800),
    ("week", 604_800),
    ("weeks", 604_800),
];

const DURATION_HELP: &str = "write whole numbers with units, such as 30s, 10m, 24h, 30d or 1h30m";
const RATE_HELP: &str = "write an amount per time, such as 100/minute or 5/10s";

/// A duration in whole seconds, at least one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::file) struct Span {
    pub(in crate::file) secs: u64,
}

/// The seconds of `10m` or `1h30m`; nothing if it is neither, or overflows.
pub(in crate::file) fn parse_span(text: &str) -> Option<u64> {
    let mut rest = text;
    let mut total: u64 = 0;
    while !rest.is_empty() {
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '_').len();
        let (number, tail) = rest.split_at(digits);
        let letters = tail.len() - tail.trim_start_matches(|c: char| c.is_ascii_alphabetic()).len();
        let (unit, tail) = tail.split_at(letters);
        let secs = unit_secs(unit)?.checked_mul(parse_whole(number).ok()?)?;
        total = total.checked_add(secs)?;
        rest = tail;
    }
    (!text.is_empty()).then_some(total)
}

fn unit_secs(unit: &str) -> Option<u64> {
    UNITS.iter().find(|(name, _)| *name == unit).map(|(_, secs)| *secs)
}

impl Typed for Span {
    fn decode(node: &Node, what: &str, sink: &mut Sink) -> Option<Self> {
        let text = node.text();
        match text.and_then(parse_span) {
            Some(0) => {
                sink.report(node.place, format!("{what} may not be zero"), "the shortest is 1s");
                None
            }
            Some(secs) => Some(Self { secs }),
            None => {
                let help = match text {
                    Some(text) if parse_whole(text).is_ok() => {
                        format!("say of what: {text}s, {text}m, {text}h or {text}d")
                    }
                    Some(text) if parse_span(&text.replace(' ', "")).is_some() => {
                        format!("write {}", text.replace(' ', ""))
                    }
                    Some(text) if text.ends_with("ms") => {
                        "the shortest time is a second: write 1s".to_owned()
                    }
                    _ => DURATION_HELP.to_owned(),
                };
                unwanted(node, what, "a duration", &help, sink)
            }
        }
    }

    fn schema() -> Json {
        let units: Vec<&str> = UNITS.iter().map(|(name, _)| *name).collect();
        let pattern = format!("^([0-9_]+({}))+$", units.join("|"));
        json!({"type": "string", "pattern": pattern})
    }
}

/// An amount, and per how long if that was said.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::file) struct AmountPer {
    pub(in crate::file) amount: u64,
    pub(in crate::file) window: Option<Window>,
}

/// Why the part after the `/` is no window.
enum BadWindow<'t> {
    Month,
    Unknown(&'t str),
    OutOfRange,
}

/// The window of `minute`, `10s` or `1h30m`.
fn parse_window(text: &str) -> Result<Window, BadWindow<'_>> {
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '_');
    if matches!(unit, "month" | "months" | "mo" | "year" | "years" | "y") {
        return Err(BadWindow::Month);
    }
    let secs = unit_secs(text).or_else(|| parse_span(text)).ok_or(BadWindow::Unknown(text))?;
    Window::from_secs(secs).ok_or(BadWindow::OutOfRange)
}

impl Typed for AmountPer {
    fn decode(node: &Node, what: &str, sink: &mut Sink) -> Option<Self> {
        let Some(text) = node.text() else {
            return unwanted(node, what, "an amount", "write an amount, such as 10 or 100/minute", sink);
        };
        let Some((amount, window)) = text.split_once('/') else {
            if let (Some((amount, unit)), true) =
                (text.split_once(" per "), parse_whole(text) == Err(NotWhole::NoNumber))
            {
                let help = format!("write {}/{}", amount.trim(), unit.trim());
                return unwanted(node, what, "an amount per time", &help, sink);
            }
            if is_decimal(text) && parse_whole(text) == Err(NotWhole::NoNumber) {
                let help = "write it per a longer time: 0.5 per second is 30/minute";
                return unwanted(node, what, "a whole number", help, sink);
            }
            let amount = whole_of(node, text, what, sink)?;
            return Some(Self { amount, window: None });
        };
        let amount = whole_of(node, amount.trim(), what, sink);
        let window = match parse_window(window.trim()) {
            Ok(window) => Some(window),
            Err(problem) => {
                report_window(node, what, &problem, sink);
                None
            }
        };
        Some(Self { amount: amount?, window: Some(window?) })
    }

    fn schema() -> Json {
        let units: Vec<&str> = UNITS.iter().map(|(name, _)| *name).collect();
        let units = units.join("|");
        let pattern = format!("^[0-9]+(_[0-9]+)*( */ *(({units})|([0-9_]+({units}))+))?$");
        json!({"anyOf": [{"type": "integer", "minimum": 1}, {"type": "string", "pattern": pattern}]})
    }
}

/// Digits, a point, digits.
fn is_decimal(text: &str) -> bool {
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|c| c.is_ascii_digit());
    text.split_once('.').is_some_and(|(whole, fraction)| digits(whole) && digits(fraction))
}

fn report_window(node: &Node, what: &str, problem: &BadWindow<'_>, sink: &mut Sink) {
    let (message, help) = match problem {
        BadWindow::Month => {
            let instead =
                if what == "`limit`" { "`algorithm: calendar_month` with a plain number" } else { "`quota`" };
            (
                format!("{what} is per month or year, which have no fixed length"),
                format!("use {instead}, or write a number of days, such as 1000/30d"),
            )
        }
        BadWindow::Unknown("") => (format!("{what} does not say per how long"), RATE_HELP.to_owned()),
        BadWindow::Unknown(text) => {
            let known = UNITS.iter().map(|(name, _)| *name).filter(|name| name.len() > 1);
            let help = sink.did_you_mean(text, known, || RATE_HELP.to_owned());
            (format!("{what} is per {}, which is no time", shown(text)), help)
        }
        BadWindow::OutOfRange => (
            format!("the window of {what} is out of range"),
            format!("the shortest is 1s, the longest {}", Window::MAX),
        ),
    };
    sink.report(node.place, message, help);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_numbers_with_units() {
        let pairs = [
            ("30s", 30),
            ("10m", 600),
            ("24h", 86_400),
            ("30d", 2_592_000),
            ("1w", 604_800),
            ("1h30m", 5_400),
            ("1_000s", 1_000),
            ("2min", 120),
        ];
        for (text, secs) in pairs {
            assert_eq!(parse_span(text), Some(secs), "{text}");
        }
        for text in [
            "",
            "m",
            "10",
            "10 m",
            "10ms",
            "1.5h",
            "-1h",
            "10m5",
            "99999999999999999999s",
            "18446744073709551615w",
        ] {
            assert_eq!(parse_span(text), None, "{text}");
        }
    }

    #[test]
    fn windows_are_units_or_durations() {
        let secs = |text: &str| parse_window(text).ok().map(Window::as_secs);
        assert_eq!(secs("s"), Some(1));
        assert_eq!(secs("minute"), Some(60));
        assert_eq!(secs("10s"), Some(10));
        assert_eq!(secs("400d"), Some(34_560_000));
        assert_eq!(secs("401d"), None);
        assert_eq!(secs("0s"), None);
        assert_eq!(secs("month"), None);
        assert_eq!(secs(""), None);
    }
}
