//! What tokens are for.

use std::fmt;

/// What a token may be used for. Each of `metrics`, `read`, `keys`, `operator` and `owner` includes those before it;
/// `decide` stands apart: it is for the decision API and RESP, and opens nothing of the admin API.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Role {
    /// Reads `/metrics`.
    Metrics,
    /// Reads everything but secrets.
    Read,
    /// Asks for decisions.
    Decide,
    /// Reads, and manages keys.
    Keys,
    /// Manages accounts, keys, blocks and usage.
    Operator,
    /// Everything, tokens included.
    Owner,
}

impl Role {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Metrics, Self::Read, Self::Decide, Self::Keys, Self::Operator, Self::Owner];

    /// Its word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Metrics => "metrics",
            Self::Read => "read",
            Self::Decide => "decide",
            Self::Keys => "keys",
            Self::Operator => "operator",
            Self::Owner => "owner",
        }
    }

    /// The role of this word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.as_str() == word)
    }

    /// Whether an operation that needs `needed` is open to this role.
    pub const fn includes(self, needed: Self) -> bool {
        match (self, needed) {
            (Self::Decide, Self::Decide) => true,
            (Self::Decide, _) | (_, Self::Decide) => false,
            _ => self.rank() >= needed.rank(),
        }
    }

    const fn rank(self) -> u8 {
        match self {
            Self::Decide => 0,
            Self::Metrics => 1,
            Self::Read => 2,
            Self::Keys => 3,
            Self::Operator => 4,
            Self::Owner => 5,
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

pub use sluicegate_core::policy::{May, Permissions};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_role_includes_the_smaller_ones_and_decide_stands_apart() {
        let chain = [Role::Metrics, Role::Read, Role::Keys, Role::Operator, Role::Owner];
        for (place, role) in chain.into_iter().enumerate() {
            for (needed_place, needed) in chain.into_iter().enumerate() {
                assert_eq!(role.includes(needed), place >= needed_place, "{role} {needed}");
            }
            assert!(!role.includes(Role::Decide) && !Role::Decide.includes(role), "{role}");
        }
        assert!(Role::Decide.includes(Role::Decide));
        for role in Role::ALL {
            assert_eq!(Role::parse(role.as_str()), Some(role));
        }
        assert_eq!(Role::parse("root"), None);
    }
}
