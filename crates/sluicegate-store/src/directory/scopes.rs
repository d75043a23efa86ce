//! Scopes: what a key may be used for.

use std::sync::Arc;

use super::field::FieldError;

/// The scopes of a key, in order. `*` admits every scope; a key without scopes lacks every scope.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Scopes(Arc<ScopeList>);

/// The list itself, which keys with the same scopes share.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub(crate) struct ScopeList(Box<[Box<str>]>);

impl Scopes {
    /// The most scopes a key may have.
    pub const COUNT_MAX: usize = 50;
    /// The most characters a scope may have.
    pub const LENGTH_MAX: usize = 64;
    const EVERY: &'static str = "*";

    /// The scopes of these names. Names given twice count once.
    pub fn new<'n>(names: impl IntoIterator<Item = &'n str>) -> Result<Self, FieldError> {
        Ok(Self(Arc::new(ScopeList::new(names)?)))
    }

    /// Whether a key with these scopes may use what demands `scope`.
    pub fn admit(&self, scope: &str) -> bool {
        self.iter().any(|own| own == Self::EVERY || own == scope)
    }

    /// Their names, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        self.0.0.iter().map(AsRef::as_ref)
    }

    /// All names, separated by blanks.
    pub(crate) fn to_text(&self) -> String {
        self.0.0.join(" ")
    }
}

impl From<Arc<ScopeList>> for Scopes {
    fn from(list: Arc<ScopeList>) -> Self {
        Self(list)
    }
}

impl ScopeList {
    pub(crate) fn new<'n>(names: impl IntoIterator<Item = &'n str>) -> Result<Self, FieldError> {
        let mut list: Vec<Box<str>> = Vec::new();
        for name in names {
            if name.is_empty() || name.len() > Scopes::LENGTH_MAX || !name.bytes().all(is_allowed) {
                let length_max = Scopes::LENGTH_MAX;
                let problem =
                    format!("has a name that is not 1 to {length_max} characters of A-Z a-z 0-9 : . _ * -");
                return Err(FieldError::new("scopes", problem));
            }
            if list.len() == Scopes::COUNT_MAX {
                return Err(FieldError::new("scopes", format!("has more than {} names", Scopes::COUNT_MAX)));
            }
            list.push(name.into());
        }
        list.sort_unstable();
        list.dedup();
        Ok(Self(list.into()))
    }
}

fn is_allowed(c: u8) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, b':' | b'.' | b'_' | b'*' | b'-')
}
