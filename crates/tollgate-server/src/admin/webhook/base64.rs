//! Base64 as RFC 4648 has it: what secrets and signatures of webhooks are written in.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// With padding.
pub(super) fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let at = |place: usize| u32::from(three.get(place).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for digit in 0..4 {
            if digit <= three.len() {
                let place = (bits >> (18 - 6 * digit)) & 63;
                text.push(char::from(ALPHABET[place as usize]));
            } else {
                text.push('=');
            }
        }
    }
    text
}

/// With padding or without it. Nothing for what nobody would have written.
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    let digits = text.strip_suffix("==").or_else(|| text.strip_suffix('=')).unwrap_or(text);
    if digits.len() != text.len() && !text.len().is_multiple_of(4) {
        return None;
    }
    let mut bytes = Vec::with_capacity(digits.len() * 3 / 4);
    for four in digits.as_bytes().chunks(4) {
        let mut bits = 0_u32;
        for digit in four {
            let value = ALPHABET.iter().position(|letter| letter == digit)?;
            bits = bits << 6 | u32::try_from(value).ok()?;
        }
        // What is left of the last digit says nothing, and is zero.
        let whole = match four.len() {
            4 => bits.to_be_bytes()[1..].to_vec(),
            3 if bits & 0b11 == 0 => (bits >> 2).to_be_bytes()[2..].to_vec(),
            2 if bits & 0b1111 == 0 => (bits >> 4).to_be_bytes()[3..].to_vec(),
            _ => return None,
        };
        bytes.extend(whole);
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_examples_of_the_standard() {
        let examples = [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ];
        for (plain, text) in examples {
            assert_eq!(encode(plain.as_bytes()), text);
            assert_eq!(decode(text).as_deref(), Some(plain.as_bytes()));
            assert_eq!(decode(text.trim_end_matches('=')).as_deref(), Some(plain.as_bytes()));
        }
        for wrong in ["Z", "Zg=", "Zm9v=", "Zh==", "Zm9=", "Zm 9", "Zm9v\n", "====", "Zg==Zg=="] {
            assert_eq!(decode(wrong), None, "{wrong:?}");
        }
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_decoded_again(bytes: Vec<u8>) {
            prop_assert_eq!(decode(&encode(&bytes)), Some(bytes));
        }
    }
}
