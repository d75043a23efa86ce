//! Events as the lines of a stream.

use std::fmt::Write as _;

use bytes::Bytes;
use serde::Serialize;
use sluicegate_engine::StoreMode;
use sluicegate_engine::pulse::{Event, Heard, Step};

use crate::decisions::BriefBody;
use crate::instant;
use crate::overview::StepBody;

/// A line that says nothing to programs.
pub(super) fn comment(text: &str) -> Bytes {
    Bytes::from(format!(": {text}\n\n"))
}

/// What was heard.
pub(super) fn heard(heard: &Heard) -> Bytes {
    let mut text = String::new();
    match heard {
        Heard::Missed(count) => write_event(&mut text, "missed", &Missed { count: *count }),
        Heard::Event(event) => match &**event {
            Event::Decision(brief) => write_event(&mut text, "decision", &BriefBody::of(brief)),
            Event::Change(change) => {
                let at = instant::text(change.at);
                let data = ChangeBody { at, what: change.what.as_str(), text: &change.text };
                write_event(&mut text, "change", &data);
            }
        },
    }
    Bytes::from(text)
}

#[derive(Serialize)]
struct Missed {
    count: u64,
}

#[derive(Serialize)]
struct ChangeBody<'c> {
    at: String,
    what: &'static str,
    text: &'c str,
}

#[derive(Serialize)]
struct Tick {
    #[serde(flatten)]
    step: StepBody,
    mode: &'static str,
}

/// What became of requests in these seconds, and a line that says nothing, if that is due.
pub(super) fn ticks(seconds: &[Step], mode: StoreMode, with_comment: bool) -> Bytes {
    let mut text = String::new();
    for second in seconds {
        write_event(&mut text, "tick", &Tick { step: second.into(), mode: mode.as_str() });
    }
    if with_comment {
        text.push_str(": still here\n\n");
    }
    Bytes::from(text)
}

/// JSON has no line breaks of its own, so that one line holds it.
fn write_event(text: &mut String, name: &str, data: &impl Serialize) {
    let data = serde_json::to_string(data).unwrap_or_default();
    let _ = write!(text, "event: {name}\ndata: {data}\n\n");
}
