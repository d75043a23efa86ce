//! The tree while it grows: one event after the other, within the maxima.

use std::collections::BTreeMap;
use std::rc::Rc;

use saphyr_parser::{Event, Marker, ScalarStyle, ScanError, Span};

use super::node::{Entry, Key, Node, Value};
use super::{DEPTH_MAX, NODES_MAX, TEXT_BYTES_MAX, complaint};
use crate::file::problem::Place;
use crate::file::sink::Sink;

/// A list or mapping whose end has not come yet.
pub(super) struct Open {
    start: Marker,
    anchor: usize,
    pub(super) inside: Inside,
}

pub(super) enum Inside {
    List(Vec<Node>),
    Map { entries: Vec<Entry>, lines_of_keys: BTreeMap<Rc<str>, usize>, next: Next },
}

/// What a mapping waits for.
pub(super) enum Next {
    Key,
    ValueOf(Key),
    /// The value of a key that was already complained about.
    Dropped,
}

/// The tree so far.
pub(super) struct Builder<'t, 's> {
    pub(super) lines: Vec<&'t str>,
    pub(super) sink: &'s mut Sink,
    pub(super) open: Vec<Open>,
    anchors: BTreeMap<usize, Node>,
    nodes: usize,
    root: Option<Node>,
}

impl<'t, 's> Builder<'t, 's> {
    /// A builder of a tree from these lines of text.
    pub(super) fn new(lines: Vec<&'t str>, sink: &'s mut Sink) -> Self {
        Self { lines, sink, open: Vec::new(), anchors: BTreeMap::new(), nodes: 0, root: None }
    }

    /// The tree. No document at all is a node that says so.
    pub(super) fn finish(self) -> Node {
        self.root.unwrap_or(Node::leaf(Place::START, Value::Empty))
    }

    /// Reports why there are no more events.
    pub(super) fn complain(&mut self, error: &ScanError) {
        complaint::report(error, &self.lines, self.sink);
    }

    /// Takes the next event in; nothing means that reading on makes no sense.
    pub(super) fn accept(&mut self, event: Event<'_>, span: Span) -> Option<()> {
        match event {
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => Some(()),
            Event::DocumentStart(_) if self.root.is_some() => {
                let help = "keep one document in the file; remove the `---` line and what follows it";
                self.fatal(span, "a second document starts here", help)
            }
            Event::DocumentStart(_) => Some(()),
            Event::Scalar(text, style, anchor, tag) => {
                self.refuse_tag(tag.is_some(), span);
                self.spend(1, 1, span)?;
                let node = self.scalar(&text, style, span)?;
                self.complete(node, anchor)
            }
            Event::SequenceStart(anchor, tag) => {
                self.refuse_tag(tag.is_some(), span);
                self.begin(anchor, Inside::List(Vec::new()), span)
            }
            Event::MappingStart(anchor, tag) => {
                self.refuse_tag(tag.is_some(), span);
                let inside =
                    Inside::Map { entries: Vec::new(), lines_of_keys: BTreeMap::new(), next: Next::Key };
                self.begin(anchor, inside, span)
            }
            Event::SequenceEnd | Event::MappingEnd => self.end(span),
            Event::Alias(anchor) => self.alias(anchor, span),
        }
    }

    fn begin(&mut self, anchor: usize, inside: Inside, span: Span) -> Option<()> {
        self.spend(1, 1, span)?;
        self.open.push(Open { start: span.start, anchor, inside });
        Some(())
    }

    fn end(&mut self, span: Span) -> Option<()> {
        let Open { start, anchor, inside } = self.open.pop()?;
        let (value, first) = match &inside {
            Inside::List(items) => {
                (Value::List(items.as_slice().into()), items.first().map(|item| item.place))
            }
            Inside::Map { entries, .. } => {
                (Value::Map(entries.as_slice().into()), entries.first().map(|entry| entry.key.place))
            }
        };
        let in_brackets = !span.is_empty();
        let place = match first {
            Some(first) if !in_brackets => first,
            _ => self.place(Span::new(start, span.end)),
        };
        let node = match &inside {
            Inside::List(items) => Node::above(place, value, items.iter()),
            Inside::Map { entries, .. } => {
                Node::above(place, value, entries.iter().map(|entry| &entry.value))
            }
        };
        self.complete(node, anchor)
    }

    fn alias(&mut self, anchor: usize, span: Span) -> Option<()> {
        let Some(target) = self.anchors.get(&anchor).cloned() else {
            return self.fatal(span, "this alias stands inside the value it names", "write the value out");
        };
        self.spend(target.nodes, target.height, span)?;
        let place = self.place(span);
        self.complete(Node { place, ..target }, 0)
    }

    fn scalar(&mut self, text: &str, style: ScalarStyle, span: Span) -> Option<Node> {
        if text.len() > TEXT_BYTES_MAX {
            let message = format!("this text has more than {TEXT_BYTES_MAX} bytes");
            self.fatal(span, &message, "no value of a policy is that long; is a quote missing?")?;
        }
        let value = match (style, text) {
            (ScalarStyle::Plain, "") => Value::Empty,
            (ScalarStyle::Plain, "~" | "null" | "Null" | "NULL") => Value::Null,
            (ScalarStyle::Plain, text) => Value::Plain(text.into()),
            (_, text) => Value::Quoted(text.into()),
        };
        Some(Node::leaf(self.place(span), value))
    }

    /// Puts a finished node where it belongs.
    fn complete(&mut self, mut node: Node, anchor: usize) -> Option<()> {
        if anchor != 0 {
            self.anchors.insert(anchor, node.clone());
        }
        let Some(open) = self.open.last_mut() else {
            self.root = Some(node);
            return Some(());
        };
        match &mut open.inside {
            Inside::List(items) => items.push(node),
            Inside::Map { entries, next, .. } => match std::mem::replace(next, Next::Key) {
                Next::Key => self.key(&node),
                Next::ValueOf(key) => {
                    if matches!(node.value, Value::Empty) {
                        node.place = key.place;
                    }
                    entries.push(Entry { key, value: node });
                }
                Next::Dropped => {}
            },
        }
        Some(())
    }

    fn refuse_tag(&mut self, tagged: bool, span: Span) {
        if tagged {
            let place = self.place(span);
            let help = "remove the word that starts with `!`";
            self.sink.report(place, "tags are not supported", help);
        }
    }

    /// Counts nodes and levels against their maxima.
    fn spend(&mut self, nodes: usize, levels: usize, span: Span) -> Option<()> {
        self.nodes += nodes;
        if self.nodes > NODES_MAX {
            let message = format!("the file has more than {NODES_MAX} values, aliases written out");
            return self.fatal(span, &message, "no policy needs that many; mind aliases that multiply");
        }
        if self.open.len() + levels > DEPTH_MAX {
            let message = format!("this is nested more than {DEPTH_MAX} levels deep");
            return self.fatal(span, &message, "no policy needs more than a few levels");
        }
        Some(())
    }

    fn fatal(&mut self, span: Span, message: &str, help: &str) -> Option<()> {
        let place = self.place(span);
        self.sink.report(place, message, help);
        None
    }

    /// The part of the span that lies on its first line.
    fn place(&self, span: Span) -> Place {
        let (line, column) = (span.start.line().max(1), span.start.col() + 1);
        let length = if span.end.line() == span.start.line() {
            span.end.col().saturating_sub(span.start.col())
        } else {
            let width = self.lines.get(line - 1).map_or(0, |line| line.trim_end().chars().count());
            width.saturating_sub(span.start.col())
        };
        Place { line, column, length: length.max(1) }
    }
}
