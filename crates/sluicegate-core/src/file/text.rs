//! From bytes to text: size, encoding, and the characters that no policy file has.

use super::FILE_BYTES_MAX;
use super::problem::{Place, lines};
use super::sink::Sink;

/// The text without its byte order mark, if it is one at all.
pub(super) fn read<'b>(bytes: &'b [u8], sink: &mut Sink) -> Option<&'b str> {
    if bytes.len() > FILE_BYTES_MAX {
        // Whoever reads a file stops one byte after the maximum, so how large it is may not be known.
        sink.report(
            Place::START,
            format!("the file is larger than {FILE_BYTES_MAX} bytes, the most that a policy file may have"),
            "is this the right file? A policy of a thousand routes takes about 100,000 bytes",
        );
        return None;
    }
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let bad = bytes.get(error.valid_up_to()).copied().unwrap_or_default();
            sink.report(
                place_after(&bytes[..error.valid_up_to()]),
                format!("the byte 0x{bad:02x} here is not UTF-8"),
                "save the file as UTF-8",
            );
            return None;
        }
    };
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let forbidden = |c: char| c.is_control() && !matches!(c, '\n' | '\r' | '\t');
    if let Some((at, found)) = text.char_indices().find(|(_, c)| forbidden(*c)) {
        sink.report(
            place_after(&text.as_bytes()[..at]),
            format!("the control character U+{:04X} may not stand here", u32::from(found)),
            "remove it; inside double quotes it may be written as an escape",
        );
        return None;
    }
    Some(text)
}

/// The place right after these bytes, which are known to be UTF-8.
fn place_after(before: &[u8]) -> Place {
    let before = String::from_utf8_lossy(before);
    let before = before.strip_prefix('\u{feff}').unwrap_or(&before);
    let whole = lines(before).count();
    let last = lines(before).last().filter(|_| !before.ends_with(['\n', '\r']));
    Place {
        line: (whole + usize::from(last.is_none())).max(1),
        column: last.map_or(0, |line| line.chars().count()) + 1,
        length: 1,
    }
}
