//! The environment of a key: production, or trying things out.
//!
//! Limits and records need it wherever they need the number of a key. So it travels with the number: the highest bit of
//! a key's number in a request marks a test key.

use std::fmt;
use std::num::NonZeroU32;

/// What a key is for. Test keys have quotas of their own, are refused where they end, and are never billed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum KeyEnv {
    /// For production. Callers without a key count as live.
    #[default]
    Live,
    /// For trying things out.
    Test,
}

/// The bit of a key's number that marks a test key. An account never has this many keys.
const TEST_BIT: u32 = 1 << 31;

impl KeyEnv {
    /// What stands for all test keys of an account together where a tagged number is wanted.
    pub const TEST_KEYS: NonZeroU32 = match NonZeroU32::new(TEST_BIT) {
        Some(all) => all,
        None => NonZeroU32::MIN,
    };

    /// The word in the key's text, in exports and in replies.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Test => "test",
        }
    }

    /// The environment of this name.
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "live" => Some(Self::Live),
            "test" => Some(Self::Test),
            _ => None,
        }
    }

    /// The number of a key together with its environment.
    #[inline]
    pub const fn tag(self, number: NonZeroU32) -> NonZeroU32 {
        match self {
            Self::Live => number,
            Self::Test => match NonZeroU32::new(number.get() | TEST_BIT) {
                Some(tagged) => tagged,
                None => number,
            },
        }
    }

    /// The environment of a tagged number.
    #[inline]
    pub const fn of_tagged(tagged: NonZeroU32) -> Self {
        if tagged.get() & TEST_BIT == 0 { Self::Live } else { Self::Test }
    }

    /// The number of a key without its environment; nothing if it is no key's.
    #[inline]
    pub const fn untag(tagged: NonZeroU32) -> Option<NonZeroU32> {
        NonZeroU32::new(tagged.get() & !TEST_BIT)
    }
}

impl fmt::Display for KeyEnv {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
