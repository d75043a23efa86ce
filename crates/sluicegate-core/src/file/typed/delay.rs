//! Short times, written in milliseconds or seconds: `20ms`, `2s`.

use serde_json::{Value as Json, json};

use super::number::parse_whole;
use super::{Typed, unwanted};
use crate::file::sink::Sink;
use crate::file::yaml::Node;

const MILLIS_PER_SEC: u64 = 1_000;

/// A short time in whole milliseconds, at least one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::file) struct Delay {
    pub(in crate::file) millis: u64,
}

/// The milliseconds of `20ms` or `2s`; nothing if it is neither, or overflows.
fn parse(text: &str) -> Option<u64> {
    let (number, unit) = match text.strip_suffix("ms") {
        Some(number) => (number, 1),
        None => (text.strip_suffix('s')?, MILLIS_PER_SEC),
    };
    parse_whole(number).ok()?.checked_mul(unit)
}

impl Typed for Delay {
    fn decode(node: &Node, what: &str, sink: &mut Sink) -> Option<Self> {
        let text = node.text();
        match text.and_then(parse) {
            Some(0) => {
                sink.report(node.place, format!("{what} may not be zero"), "the shortest is 1ms");
                None
            }
            Some(millis) => Some(Self { millis }),
            None => {
                let help = match text {
                    Some(text) if parse_whole(text).is_ok() => format!("say of what: {text}ms or {text}s"),
                    Some(text) if parse(&text.replace(' ', "")).is_some() => {
                        format!("write {}", text.replace(' ', ""))
                    }
                    _ => "write a whole number with its unit, such as 20ms or 1s".to_owned(),
                };
                unwanted(node, what, "a short time", &help, sink)
            }
        }
    }

    fn schema() -> Json {
        json!({"type": "string", "pattern": "^[0-9]+(_[0-9]+)*m?s$"})
    }
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn milliseconds_and_seconds_are_read_and_nothing_else() {
        assert_eq!(parse("20ms"), Some(20));
        assert_eq!(parse("1_500ms"), Some(1_500));
        assert_eq!(parse("2s"), Some(2_000));
        for text in ["", "20", "ms", "s", "1m", "1.5s", "-1ms", "20 ms", "99999999999999999999s", "1us"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
