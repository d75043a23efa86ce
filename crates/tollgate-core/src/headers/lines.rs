//! Header values, written one after the other into one text. Every answer has them, so nothing is formatted twice.

use arrayvec::ArrayVec;

use super::Field;

/// Headers and their values, in order.
#[derive(Clone, Debug, Default)]
pub struct Lines {
    text: String,
    spans: Spans,
}

/// Where the value of each header lies in the text.
pub type Spans = ArrayVec<(Field, u16, u16), { Field::ALL.len() }>;

/// What a usual set of lines needs: two structured fields of some fifty bytes and a dozen numbers.
const TEXT_CAPACITY: usize = 256;

impl Lines {
    pub(super) fn new() -> Self {
        Self { text: String::with_capacity(TEXT_CAPACITY), spans: Spans::new() }
    }

    /// A header whose value is a number.
    pub(super) fn number(&mut self, field: Field, number: u64) {
        self.line(field, |text| push_number(text, number));
    }

    /// A header whose value is written by `write`, behind whatever the text holds already.
    pub(super) fn line(&mut self, field: Field, write: impl FnOnce(&mut String)) {
        let start = self.text.len();
        write(&mut self.text);
        // Every field comes once, and sixteen limits with long names stay far below 64 KiB.
        match (u16::try_from(start), u16::try_from(self.text.len())) {
            (Ok(start), Ok(end)) if end > start => drop(self.spans.try_push((field, start, end))),
            // A value that does not fit is left out whole: half a header would be worse than none.
            _ => self.text.truncate(start),
        }
    }

    /// The headers and their values.
    pub fn iter(&self) -> impl Iterator<Item = (Field, &str)> {
        let value = |start: u16, end: u16| self.text.get(start.into()..end.into()).unwrap_or_default();
        self.spans.iter().map(move |(field, start, end)| (*field, value(*start, *end)))
    }

    /// All values in one text, and where each of them lies.
    pub fn into_parts(self) -> (String, Spans) {
        (self.text, self.spans)
    }
}

/// Appends a number in decimal. The standard formatter takes several times as long.
pub fn push_number(text: &mut String, number: u64) {
    text.push_str(itoa::Buffer::new().format(number));
}
