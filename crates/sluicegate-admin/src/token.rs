//! The admin token: compared without telling how much of a guess was right, and printed as stars.

use std::fmt;

/// The token that opens the admin API. Only its hash is kept.
#[derive(Clone, Copy)]
pub struct AdminToken(blake3::Hash);

/// Why a text cannot be the admin token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BadToken {
    /// It is empty.
    Empty,
    /// It has fewer than [`AdminToken::LENGTH_MIN`] characters.
    Short,
    /// It has a character that cannot stand in a header.
    Character,
}

impl fmt::Display for BadToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "the admin token is empty",
            Self::Short => {
                "the admin token has fewer than 20 characters and could be guessed; use 20 or more random ones"
            }
            Self::Character => {
                "the admin token has a blank or another character that cannot stand in a header; \
                 use letters, digits and punctuation of ASCII"
            }
        })
    }
}

impl std::error::Error for BadToken {}

impl AdminToken {
    /// Fewer characters could be guessed.
    pub const LENGTH_MIN: usize = 20;

    /// The token that is this text.
    pub fn new(text: &str) -> Result<Self, BadToken> {
        if text.is_empty() {
            return Err(BadToken::Empty);
        }
        if !text.bytes().all(|c| c.is_ascii_graphic()) {
            return Err(BadToken::Character);
        }
        if text.len() < Self::LENGTH_MIN {
            return Err(BadToken::Short);
        }
        Ok(Self(blake3::hash(text.as_bytes())))
    }

    /// Whether it is what was presented. Hashes are compared, in constant time.
    pub fn is(&self, presented: &[u8]) -> bool {
        self.0 == blake3::hash(presented)
    }
}

impl fmt::Debug for AdminToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AdminToken(***)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_token_itself_is_the_token() {
        let token = AdminToken::new("correct-horse-battery-staple").unwrap();
        assert!(token.is(b"correct-horse-battery-staple"));
        for guess in [
            "",
            "correct-horse-battery-stapl",
            "correct-horse-battery-staple ",
            "Correct-horse-battery-staple",
        ] {
            assert!(!token.is(guess.as_bytes()), "{guess}");
        }
    }

    #[test]
    fn a_token_prints_as_stars() {
        let printed = format!("{:?}", AdminToken::new("correct-horse-battery-staple").unwrap());
        assert_eq!(printed, "AdminToken(***)");
    }

    #[test]
    fn what_cannot_stand_in_a_header_is_no_token() {
        assert_eq!(AdminToken::new("").unwrap_err(), BadToken::Empty);
        assert_eq!(AdminToken::new(&"x".repeat(19)).unwrap_err(), BadToken::Short);
        assert!(AdminToken::new(&"x".repeat(20)).is_ok());
        for text in ["two words", "line\n", "tab\t", "ü"] {
            assert_eq!(AdminToken::new(text).unwrap_err(), BadToken::Character, "{text}");
        }
    }
}
