//! What nodes tell each other: which account or key has changed. One line of text, the version first.

use super::layout::VERSION;
use crate::key_text::KeyId;

/// A change, and its number. Later changes have larger numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct News {
    pub(super) of: Subject,
    pub(super) change: u64,
}

/// What has changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Subject {
    /// The account of this serial was made, or has another tier.
    Account(u64),
    /// The account of this serial was deleted.
    Gone(u64),
    /// The key of this id was made, has another secret, or was revoked.
    Key(KeyId),
    /// Tokens have changed.
    Tokens,
}

impl News {
    /// The news of this text. Nothing: a newer version of the program wrote it, and anything may have changed.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut words = text.split(' ');
        let version: u64 = words.next()?.parse().ok()?;
        let (what, name) = (words.next()?, words.next()?);
        let of = match what {
            "account" => Subject::Account(name.parse().ok()?),
            "gone" => Subject::Gone(name.parse().ok()?),
            "key" => Subject::Key(KeyId::parse(name)?),
            "token" => Subject::Tokens,
            _ => return None,
        };
        let change = words.next()?.parse().ok()?;
        (version == VERSION && words.next().is_none()).then_some(Self { of, change })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn news_name_what_has_changed() {
        let id = KeyId::parse("abcdefghijkl").unwrap();
        let expected = [
            ("1 account 7 9", Subject::Account(7)),
            ("1 gone 7 9", Subject::Gone(7)),
            ("1 key abcdefghijkl 9", Subject::Key(id)),
        ];
        for (text, of) in expected {
            assert_eq!(News::parse(text), Some(News { of, change: 9 }), "{text}");
        }
    }

    #[test]
    fn what_is_of_another_version_is_no_news() {
        for text in [
            "",
            "1",
            "1 account",
            "1 account 7",
            "2 account 7 9",
            "1 tier 7 9",
            "1 account x 9",
            "1 account 7 9 more",
            "1 key short 9",
            "1 account 7 -9",
        ] {
            assert_eq!(News::parse(text), None, "{text}");
        }
    }
}
