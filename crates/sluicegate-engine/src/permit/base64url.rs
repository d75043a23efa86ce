//! Bytes as text that needs no escaping anywhere: base64url without padding, each value in one way only.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Appends the text of some bytes.
pub(super) fn encode(bytes: &[u8], into: &mut String) {
    for chunk in bytes.chunks(3) {
        let word = chunk.iter().fold(0, |word, byte| word << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for place in 0..=chunk.len() {
            let digit = word >> (18 - 6 * place) & 63;
            into.push(char::from(ALPHABET[digit as usize]));
        }
    }
}

/// The bytes of a text, or nothing if [`encode`] never writes it.
pub(crate) fn decode(text: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3 + 2);
    for chunk in text.chunks(4) {
        let count = chunk.len().checked_sub(1).filter(|count| *count > 0)?;
        let mut word = 0;
        for letter in chunk {
            word = word << 6 | value(*letter)?;
        }
        word <<= 6 * (4 - chunk.len());
        let [_, whole @ ..] = word.to_be_bytes();
        if whole[count..].iter().any(|byte| *byte != 0) {
            return None;
        }
        bytes.extend(&whole[..count]);
    }
    Some(bytes)
}

fn value(letter: u8) -> Option<u32> {
    Some(u32::from(match letter {
        b'A'..=b'Z' => letter - b'A',
        b'a'..=b'z' => letter - b'a' + 26,
        b'0'..=b'9' => letter - b'0' + 52,
        b'-' => 62,
        b'_' => 63,
        _ => return None,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_has_one_text() {
        for length in 0..9_u8 {
            let bytes: Vec<u8> = (0..length).map(|byte| byte.wrapping_mul(101).wrapping_add(7)).collect();
            let mut text = String::new();
            encode(&bytes, &mut text);
            assert_eq!(decode(text.as_bytes()), Some(bytes));
        }
        for text in ["A", "AB", "AAB", "AAAAA", "AA==", "A A", "AA\n", "+/", "é"] {
            assert_eq!(decode(text.as_bytes()), None, "{text}");
        }
        assert_eq!(decode(b"-_8"), Some(vec![0xfb, 0xff]));
    }
}
