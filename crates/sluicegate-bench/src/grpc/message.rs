//! The few messages of Protocol Buffers that the suite sends, as bytes.

/// A message while it is being written.
#[derive(Default)]
pub(super) struct Message(Vec<u8>);

impl Message {
    /// Adds a text, or another message, under this number.
    pub(super) fn bytes(mut self, number: u8, bytes: &[u8]) -> Self {
        self.0.push((number << 3) | 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }

    /// Adds a text under this number.
    pub(super) fn text(self, number: u8, text: &str) -> Self {
        self.bytes(number, text.as_bytes())
    }

    /// Adds a message under this number.
    pub(super) fn message(self, number: u8, message: &Self) -> Self {
        self.bytes(number, &message.0)
    }

    /// Adds a whole number under this number.
    pub(super) fn number(mut self, number: u8, value: u64) -> Self {
        self.0.push(number << 3);
        self.varint(value);
        self
    }

    /// The bytes.
    pub(super) fn done(self) -> Vec<u8> {
        self.0
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            #[expect(clippy::cast_possible_truncation, reason = "seven bits at a time")]
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        #[expect(clippy::cast_possible_truncation, reason = "the last seven bits")]
        self.0.push(value as u8);
    }
}

/// What Envoy asks about a descriptor.
pub(super) fn descriptor(entries: &[(&str, &str)]) -> Vec<u8> {
    let descriptor = entries.iter().fold(Message::default(), |descriptor, (key, value)| {
        descriptor.message(1, &Message::default().text(1, key).text(2, value))
    });
    Message::default().text(1, "bench").message(2, &descriptor).done()
}

/// What Envoy asks about a request with these headers.
pub(super) fn request(path: &str, headers: &[(&str, &str)]) -> Vec<u8> {
    let http = Message::default().text(2, "GET");
    let http = headers
        .iter()
        .fold(http, |http, (name, value)| http.message(3, &Message::default().text(1, name).text(2, value)));
    // AttributeContext.request.http, and the path last.
    let request = Message::default().message(2, &http.text(4, path));
    let attributes = Message::default().message(4, &request);
    Message::default().message(1, &attributes).done()
}

/// What throttlecrab is asked: a limit that refuses nobody.
pub(super) fn throttle(key: &str) -> Vec<u8> {
    Message::default()
        .text(1, key)
        .number(2, 1_000_000_000)
        .number(3, 1_000_000_000)
        .number(4, 60)
        .number(5, 1)
        .done()
}

#[cfg(test)]
mod tests {
    use super::{Message, throttle};

    #[test]
    fn numbers_and_texts_are_tagged() {
        let message = Message::default().number(1, 300).text(2, "hi").done();
        assert_eq!(message, [0x08, 0xac, 0x02, 0x12, 2, b'h', b'i']);
        assert!(throttle("k").starts_with(&[0x0a, 1, b'k', 0x10, 0x80, 0x94, 0xeb, 0xdc, 0x03]));
    }
}
