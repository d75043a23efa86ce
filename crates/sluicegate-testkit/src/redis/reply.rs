//! What a server answers, as it stands on the wire.

use std::io::{self, BufRead};

/// An answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reply {
    /// `OK` and its like.
    Status(String),
    /// What went wrong; the first word is the kind.
    Error(String),
    /// A number.
    Number(i64),
    /// A value.
    Bytes(Vec<u8>),
    /// Nothing is there.
    Nothing,
    /// Several.
    List(Vec<Reply>),
}

impl Reply {
    /// One line of text: a status, a value or a number; an error as it is; otherwise nothing.
    pub fn text(&self) -> String {
        match self {
            Self::Status(text) | Self::Error(text) => text.clone(),
            Self::Number(number) => number.to_string(),
            Self::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            Self::Nothing | Self::List(_) => String::new(),
        }
    }

    /// What a list holds; nothing if it is none.
    pub fn list(&self) -> &[Self] {
        match self {
            Self::List(items) => items,
            _ => &[],
        }
    }

    /// Reads one.
    pub(super) fn read(from: &mut impl BufRead) -> io::Result<Self> {
        let mut line = String::new();
        from.read_line(&mut line)?;
        let Some(line) = line.strip_suffix("\r\n") else {
            return Err(io::ErrorKind::UnexpectedEof.into());
        };
        let (kind, rest) = line.split_at_checked(1).ok_or_else(|| strange(line))?;
        match kind {
            "+" => Ok(Self::Status(rest.to_owned())),
            "-" => Ok(Self::Error(rest.to_owned())),
            ":" => rest.parse().map(Self::Number).map_err(|_| strange(line)),
            "$" => read_bytes(rest, from),
            "*" => match length(rest)? {
                None => Ok(Self::Nothing),
                Some(length) => {
                    (0..length).map(|_| Self::read(from)).collect::<Result<_, _>>().map(Self::List)
                }
            },
            _ => Err(strange(line)),
        }
    }
}

fn read_bytes(announced: &str, from: &mut impl BufRead) -> io::Result<Reply> {
    let Some(length) = length(announced)? else {
        return Ok(Reply::Nothing);
    };
    let mut bytes = vec![0; length + 2];
    from.read_exact(&mut bytes)?;
    bytes.truncate(length);
    Ok(Reply::Bytes(bytes))
}

/// How long; -1 stands for what is not there.
fn length(text: &str) -> io::Result<Option<usize>> {
    if text == "-1" { Ok(None) } else { text.parse().map(Some).map_err(|_| strange(text)) }
}

fn strange(line: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("no reply: {line}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(mut wire: &[u8]) -> Reply {
        let reply = Reply::read(&mut wire).unwrap();
        assert!(wire.is_empty(), "{} bytes are left", wire.len());
        reply
    }

    #[test]
    fn every_kind_of_reply_is_read_to_its_end() {
        assert_eq!(read(b"+OK\r\n"), Reply::Status("OK".to_owned()));
        assert_eq!(read(b"-ERR no\r\n"), Reply::Error("ERR no".to_owned()));
        assert_eq!(read(b":-7\r\n"), Reply::Number(-7));
        assert_eq!(read(b"$4\r\na\r\nb\r\n"), Reply::Bytes(b"a\r\nb".to_vec()));
        assert_eq!((read(b"$-1\r\n"), read(b"*-1\r\n")), (Reply::Nothing, Reply::Nothing));
        let list = read(b"*2\r\n:1\r\n*1\r\n$0\r\n\r\n");
        assert_eq!(list.list(), [Reply::Number(1), Reply::List(vec![Reply::Bytes(Vec::new())])]);
    }

    #[test]
    fn a_reply_that_breaks_off_is_an_error() {
        for mut wire in [&b"+OK"[..], b"$4\r\nab", b"*2\r\n:1\r\n", b"", b"?\r\n", b"\r\n", b"$x\r\n"] {
            assert!(Reply::read(&mut wire).is_err());
        }
    }
}
