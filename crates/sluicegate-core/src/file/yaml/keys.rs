//! The keys of mappings: which ones are good, and what is said about the others.

use super::builder::{Builder, Inside, Next, Open};
use super::complaint;
use super::node::{Key, Node, Value, is_number_or_bool, shown};
use crate::file::problem::Place;

impl Builder<'_, '_> {
    /// Takes a node as the key whose value comes next, or complains and drops that value.
    pub(super) fn key(&mut self, node: &Node) {
        let place = node.place;
        if let Some(column) = self.tab_before(place) {
            complaint::report_tab(place.line, column, self.sink);
        }
        let text = match &node.value {
            Value::Plain(text) if &**text == "<<" => {
                let help = "write the keys out in every mapping that needs them";
                self.sink.report(place, "merge keys (`<<`) are not supported", help);
                None
            }
            Value::Plain(text) if is_number_or_bool(text) => {
                let help = format!("put it in quotes: \"{text}\"");
                self.sink.report(place, format!("the key {} is not text", shown(text)), help);
                None
            }
            Value::Plain(text) | Value::Quoted(text) => Some(text.clone()),
            Value::Empty | Value::Null | Value::List(_) | Value::Map(_) => {
                let message = format!("a key must be text, not {}", node.describe());
                self.sink.report(place, message, "write a name before the `:`");
                None
            }
        };
        let Some(Open { inside: Inside::Map { lines_of_keys, next, .. }, .. }) = self.open.last_mut() else {
            return;
        };
        *next = match text {
            None => Next::Dropped,
            Some(text) => match lines_of_keys.get(&text) {
                Some(first) => {
                    let message =
                        format!("the key {} stands here twice, first on line {first}", shown(&text));
                    self.sink.report(place, message, "keep one of the two");
                    Next::Dropped
                }
                None => {
                    lines_of_keys.insert(text.clone(), place.line);
                    Next::ValueOf(Key { place, text })
                }
            },
        };
    }

    /// The column of a tab in the indentation of a key that is the first thing on its line.
    fn tab_before(&self, place: Place) -> Option<usize> {
        let line = self.lines.get(place.line - 1)?;
        let indent = line.len() - line.trim_start_matches([' ', '\t']).len();
        (indent + 1 == place.column).then(|| complaint::tab_in_indent(line)).flatten()
    }
}
