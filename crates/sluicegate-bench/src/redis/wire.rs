//! Commands as they stand on the wire, and where a reply ends.

use anyhow::{Result, bail};

/// Appends a command.
pub(super) fn write_command<W: AsRef<[u8]>>(words: &[W], into: &mut Vec<u8>) {
    into.extend_from_slice(format!("*{}\r\n", words.len()).as_bytes());
    for word in words.iter().map(AsRef::as_ref) {
        into.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
        into.extend_from_slice(word);
        into.extend_from_slice(b"\r\n");
    }
}

/// A command.
pub(super) fn command<W: AsRef<[u8]>>(words: &[W]) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_command(words, &mut bytes);
    bytes
}

/// How many bytes the first reply takes; nothing while it is not whole. A reply that tells of an error is one here.
pub(super) fn reply_length(bytes: &[u8]) -> Result<Option<usize>> {
    let Some(line_end) = bytes.windows(2).position(|pair| pair == b"\r\n") else {
        return Ok(None);
    };
    let (line, after) = (&bytes[..line_end], line_end + 2);
    match line.first() {
        Some(b'+' | b':') => Ok(Some(after)),
        Some(b'$') => {
            let length = number(&line[1..])?.map_or(after, |length| after + length + 2);
            Ok((bytes.len() >= length).then_some(length))
        }
        Some(b'*') => {
            let mut end = after;
            for _ in 0..number(&line[1..])?.unwrap_or(0) {
                let Some(length) = reply_length(&bytes[end..])? else {
                    return Ok(None);
                };
                end += length;
            }
            Ok(Some(end))
        }
        _ => bail!("the server answered {}", String::from_utf8_lossy(line)),
    }
}

/// A length; -1 stands for what is not there.
fn number(digits: &[u8]) -> Result<Option<usize>> {
    match std::str::from_utf8(digits)? {
        "-1" => Ok(None),
        digits => Ok(Some(digits.parse()?)),
    }
}

/// The bytes of a reply that is one value.
pub(super) fn value(reply: &[u8]) -> Option<&[u8]> {
    let line_end = reply.windows(2).position(|pair| pair == b"\r\n")?;
    match reply.first()? {
        b'+' | b':' => Some(&reply[1..line_end]),
        b'$' => reply.get(line_end + 2..reply.len() - 2),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{command, reply_length, value};

    #[test]
    fn a_command_is_a_list_of_words() {
        assert_eq!(command(&["SET", "key", ""]), b"*3\r\n$3\r\nSET\r\n$3\r\nkey\r\n$0\r\n\r\n");
    }

    #[test]
    fn a_reply_ends_where_it_ends() {
        let replies: [&[u8]; 6] =
            [b"+OK\r\n", b":1\r\n", b"$-1\r\n", b"$4\r\na\r\nb\r\n", b"*2\r\n:1\r\n$1\r\nx\r\n", b"*0\r\n"];
        for reply in replies {
            for end in 0..reply.len() {
                assert_eq!(reply_length(&reply[..end]).unwrap(), None, "{end} bytes");
            }
            let more = [reply, b":2\r\n"].concat();
            assert_eq!(reply_length(&more).unwrap(), Some(reply.len()));
        }
    }

    #[test]
    fn an_error_is_an_error_wherever_it_stands() {
        for reply in [&b"-NOSCRIPT none\r\n"[..], b"*1\r\n-ERR no\r\n", b"?\r\n", b"$x\r\n", b"\r\n"] {
            assert!(reply_length(reply).is_err());
        }
    }

    #[test]
    fn a_value_is_what_was_said() {
        assert_eq!(value(b"$2\r\nab\r\n"), Some(&b"ab"[..]));
        assert_eq!(value(b"+OK\r\n"), Some(&b"OK"[..]));
        assert_eq!(value(b"*0\r\n"), None);
    }
}
