//! Where headers go, and the plainest such place: one text, and where each value lies in it.

use arrayvec::ArrayVec;

use super::Field;

/// Takes headers one by one, each field at most once.
pub trait Sink {
    /// How a quote within a value is written there.
    const QUOTE: &'static str = "\"";

    /// A header whose value is written by `write`, at the end of the text that it is given.
    fn line(&mut self, field: Field, write: impl FnOnce(&mut String));

    /// A header whose value is a number.
    #[inline]
    fn number(&mut self, field: Field, number: u64) {
        self.line(field, |text| push_number(text, number));
    }
}

/// Headers and their values, in order.
#[derive(Clone, Debug)]
pub struct Lines {
    text: String,
    spans: Spans,
}

/// Where the value of each header lies in the text.
pub type Spans = ArrayVec<(Field, u16, u16), { Field::ALL.len() }>;

/// What a usual set of lines needs: two structured fields of some fifty bytes and a dozen numbers.
const TEXT_CAPACITY: usize = 256;

impl Default for Lines {
    fn default() -> Self {
        Self { text: String::with_capacity(TEXT_CAPACITY), spans: Spans::new() }
    }
}

impl Sink for Lines {
    #[inline]
    fn line(&mut self, field: Field, write: impl FnOnce(&mut String)) {
        let start = self.text.len();
        write(&mut self.text);
        // Sixteen limits with long names stay far below 64 KiB. A value that does not fit is left out whole.
        match (u16::try_from(start), u16::try_from(self.text.len())) {
            (Ok(start), Ok(end)) => drop(self.spans.try_push((field, start, end))),
            _ => self.text.truncate(start),
        }
    }
}

impl Lines {
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
#[inline]
pub fn push_number(text: &mut String, number: u64) {
    text.push_str(itoa::Buffer::new().format(number));
}
