//! Who may ask for decisions, and what those who ask may do beyond asking.

/// Whether the decision port and the RESP port need a credential.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum DecisionAuth {
    /// Where the port is not on loopback.
    #[default]
    OffLoopback,
    /// Always.
    Required,
    /// Never.
    None,
}

/// What a caller of the decision port may do beyond asking for decisions of callers that show their own credentials.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum May {
    /// Name an account or a tier without its key.
    Vouch,
    /// Give back what was charged, without a permit.
    Refund,
}

impl May {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Vouch, Self::Refund];

    /// Its word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Vouch => "vouch",
            Self::Refund => "refund",
        }
    }

    /// The permission of this word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|may| may.as_str() == word)
    }

    const fn bit(self) -> u8 {
        match self {
            Self::Vouch => 1,
            Self::Refund => 2,
        }
    }
}

/// A set of [`May`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Permissions(u8);

impl Permissions {
    /// None of them.
    pub const NONE: Self = Self(0);

    /// All of them.
    pub const ALL: Self = Self(May::Vouch.bit() | May::Refund.bit());

    /// Whether it is in the set.
    #[inline]
    pub const fn has(self, may: May) -> bool {
        self.0 & may.bit() != 0
    }

    /// Whether the set is empty.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Those in the set.
    pub fn iter(self) -> impl Iterator<Item = May> {
        May::ALL.into_iter().filter(move |may| self.has(*may))
    }
}

impl FromIterator<May> for Permissions {
    fn from_iter<I: IntoIterator<Item = May>>(all: I) -> Self {
        Self(all.into_iter().fold(0, |set, may| set | may.bit()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_holds_what_was_put_into_it() {
        let vouch: Permissions = [May::Vouch].into_iter().collect();
        assert!(vouch.has(May::Vouch) && !vouch.has(May::Refund) && !vouch.is_empty());
        assert!(Permissions::NONE.is_empty());
        assert_eq!(May::ALL.into_iter().collect::<Permissions>(), Permissions::ALL);
        assert_eq!(Permissions::ALL.iter().map(May::as_str).collect::<Vec<_>>(), ["vouch", "refund"]);
        assert_eq!(May::parse("refund"), Some(May::Refund));
        assert_eq!(May::parse("all"), None);
    }
}
