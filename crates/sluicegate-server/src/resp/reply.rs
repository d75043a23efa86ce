//! Answers as bytes, in the older or the newer form of the protocol.

/// The form that a connection has chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Protocol {
    /// The older one, with which every connection starts.
    Resp2,
    /// The newer one, with maps, booleans and a null.
    Resp3,
}

/// Writes answers, one after the other.
pub(super) struct Reply<'o> {
    out: &'o mut Vec<u8>,
    pub(super) protocol: Protocol,
}

/// How much of what somebody sent is shown to them again.
const SHOWN_BYTES_MAX: usize = 128;

impl<'o> Reply<'o> {
    pub(super) fn new(out: &'o mut Vec<u8>, protocol: Protocol) -> Self {
        Self { out, protocol }
    }

    /// One word.
    pub(super) fn simple(&mut self, text: &str) {
        self.line(b'+', text.as_bytes());
    }

    /// An error: its code in capitals, and a sentence.
    #[cold]
    pub(super) fn error(&mut self, text: &str) {
        let start = self.out.len() + 1;
        self.line(b'-', text.as_bytes());
        let end = self.out.len() - 2;
        // It is one line, whatever somebody sent.
        for byte in &mut self.out[start..end] {
            if byte.is_ascii_control() {
                *byte = b' ';
            }
        }
    }

    #[inline]
    pub(super) fn integer(&mut self, number: i64) {
        self.line(b':', itoa::Buffer::new().format(number).as_bytes());
    }

    pub(super) fn unsigned(&mut self, number: u64) {
        self.line(b':', itoa::Buffer::new().format(number).as_bytes());
    }

    pub(super) fn bulk(&mut self, bytes: &[u8]) {
        self.length(b'$', bytes.len());
        self.out.extend_from_slice(bytes);
        self.out.extend_from_slice(b"\r\n");
    }

    pub(super) fn text(&mut self, text: &str) {
        self.bulk(text.as_bytes());
    }

    pub(super) fn text_or_null(&mut self, text: Option<&str>) {
        match text {
            Some(text) => self.text(text),
            None => self.null(),
        }
    }

    /// Text of several lines, for people.
    pub(super) fn verbatim(&mut self, text: &str) {
        match self.protocol {
            Protocol::Resp2 => self.text(text),
            Protocol::Resp3 => {
                self.length(b'=', text.len() + 4);
                self.out.extend_from_slice(b"txt:");
                self.out.extend_from_slice(text.as_bytes());
                self.out.extend_from_slice(b"\r\n");
            }
        }
    }

    pub(super) fn null(&mut self) {
        self.out.extend_from_slice(match self.protocol {
            Protocol::Resp2 => b"$-1\r\n",
            Protocol::Resp3 => b"_\r\n",
        });
    }

    /// In the older form, 1 or 0.
    pub(super) fn boolean(&mut self, value: bool) {
        self.out.extend_from_slice(match (self.protocol, value) {
            (Protocol::Resp2, true) => b":1\r\n",
            (Protocol::Resp2, false) => b":0\r\n",
            (Protocol::Resp3, true) => b"#t\r\n",
            (Protocol::Resp3, false) => b"#f\r\n",
        });
    }

    /// So many answers follow, which are one.
    #[inline]
    pub(super) fn array(&mut self, length: usize) {
        self.length(b'*', length);
    }

    /// So many names follow, each with its value. In the older form, a list of both.
    pub(super) fn map(&mut self, length: usize) {
        match self.protocol {
            Protocol::Resp2 => self.length(b'*', 2 * length),
            Protocol::Resp3 => self.length(b'%', length),
        }
    }

    #[inline]
    fn length(&mut self, kind: u8, length: usize) {
        self.line(kind, itoa::Buffer::new().format(length).as_bytes());
    }

    #[inline]
    fn line(&mut self, kind: u8, text: &[u8]) {
        self.out.push(kind);
        self.out.extend_from_slice(text);
        self.out.extend_from_slice(b"\r\n");
    }
}

/// What somebody sent, as far as it is shown to them again.
pub(super) fn shown(bytes: &[u8]) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(&bytes[..bytes.len().min(SHOWN_BYTES_MAX)])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(protocol: Protocol, write: impl FnOnce(&mut Reply<'_>)) -> String {
        let mut out = Vec::new();
        write(&mut Reply::new(&mut out, protocol));
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn both_forms_say_the_same() {
        let all = |reply: &mut Reply<'_>| {
            reply.map(1);
            reply.text("a");
            reply.boolean(true);
            reply.null();
            reply.integer(-1);
            reply.verbatim("b");
        };
        assert_eq!(written(Protocol::Resp2, all), "*2\r\n$1\r\na\r\n:1\r\n$-1\r\n:-1\r\n$1\r\nb\r\n");
        assert_eq!(written(Protocol::Resp3, all), "%1\r\n$1\r\na\r\n#t\r\n_\r\n:-1\r\n=5\r\ntxt:b\r\n");
    }

    #[test]
    fn an_error_is_one_line_whatever_somebody_sent() {
        let error = written(Protocol::Resp2, |reply| reply.error("ERR what\r\n+OK\r\n"));
        assert_eq!(error, "-ERR what  +OK  \r\n");
    }
}
