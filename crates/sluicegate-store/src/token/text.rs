//! Tokens as text: `sgt_<id>_<secret><crc>`. The checksum refuses typing mistakes before any look-up.

use std::fmt;

use super::TokenId;
use crate::key_text::{self, KeyId, NoRandomness, SecretText};

const PREFIX: &str = "sgt_";
const ID_END: usize = PREFIX.len() + KeyId::LENGTH;
const SECRET_LENGTH: usize = 32;
const BODY_LENGTH: usize = ID_END + 1 + SECRET_LENGTH;

/// How many characters the text of a token has.
pub const TOKEN_LENGTH: usize = BODY_LENGTH + key_text::CRC_LENGTH;

/// A text that has the form and the checksum of a token.
#[derive(Clone, Copy)]
pub struct PresentedToken<'t> {
    /// The id that it names.
    pub id: TokenId,
    text: &'t str,
}

impl<'t> PresentedToken<'t> {
    /// The token that this text is, if it has the form of one.
    pub fn parse(text: &'t [u8]) -> Option<Self> {
        let text = str::from_utf8(text).ok().filter(|text| text.len() == TOKEN_LENGTH && text.is_ascii())?;
        let bytes = text.as_bytes();
        let id = KeyId::parse(text.strip_prefix(PREFIX)?.get(..KeyId::LENGTH)?)?;
        let (body, crc) = bytes.split_at(BODY_LENGTH);
        let is_whole = bytes[ID_END] == b'_'
            && bytes[ID_END + 1..].iter().all(u8::is_ascii_alphanumeric)
            && key_text::crc(body) == crc;
        is_whole.then_some(Self { id, text })
    }

    pub(super) fn expose(&self) -> &'t str {
        self.text
    }
}

/// Without the secret.
impl fmt::Debug for PresentedToken<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PresentedToken").field("id", &self.id).finish_non_exhaustive()
    }
}

/// The text of a new token of this id.
pub(crate) fn make(id: TokenId) -> Result<SecretText, NoRandomness> {
    let secret = key_text::random_base62::<SECRET_LENGTH>()?;
    let mut text = String::with_capacity(TOKEN_LENGTH);
    text.push_str(PREFIX);
    text.push_str(id.as_str());
    text.push('_');
    text.extend(secret.iter().copied().map(char::from));
    let crc = key_text::crc(text.as_bytes());
    text.extend(crc.iter().copied().map(char::from));
    Ok(SecretText::new(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_made_token_is_read_and_one_changed_character_is_refused() {
        let id = KeyId::random().unwrap();
        let made = make(id).unwrap();
        assert_eq!(made.expose().len(), TOKEN_LENGTH);
        assert_eq!(PresentedToken::parse(made.expose().as_bytes()).unwrap().id, id);
        for place in 0..TOKEN_LENGTH {
            let mut changed = made.expose().as_bytes().to_vec();
            changed[place] = if changed[place] == b'x' { b'y' } else { b'x' };
            assert!(PresentedToken::parse(&changed).is_none(), "{place}");
        }
        assert!(PresentedToken::parse(b"").is_none());
    }
}
