//! One JSON value, looked at before it is known whether it is what was expected.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// A value. Lists and objects are read over: they stand where they should not.
#[derive(Debug)]
pub(super) enum Leaf<'b> {
    Null,
    Bool(bool),
    Whole(u64),
    Negative(i64),
    Fraction,
    Text(Cow<'b, str>),
    List,
    Object,
}

impl fmt::Display for Leaf<'_> {
    /// What it is. Texts are not shown: they may be secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool(value) => write!(f, "{value}"),
            Self::Whole(value) => write!(f, "{value}"),
            Self::Negative(value) => write!(f, "{value}"),
            Self::Fraction => f.write_str("a fraction, or larger than any whole number"),
            Self::Text(_) => f.write_str("text"),
            Self::List => f.write_str("a list"),
            Self::Object => f.write_str("an object"),
        }
    }
}

impl<'de> Deserialize<'de> for Leaf<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(LeafVisitor)
    }
}

/// Takes whatever comes.
struct LeafVisitor;

impl<'de> Visitor<'de> for LeafVisitor {
    type Value = Leaf<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E: Error>(self) -> Result<Leaf<'de>, E> {
        Ok(Leaf::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Leaf<'de>, E> {
        Ok(Leaf::Bool(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Leaf<'de>, E> {
        Ok(Leaf::Whole(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Leaf<'de>, E> {
        Ok(Leaf::Negative(value))
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Leaf<'de>, E> {
        Ok(Leaf::Fraction)
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Leaf<'de>, E> {
        Ok(Leaf::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Leaf<'de>, E> {
        Ok(Leaf::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Leaf<'de>, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Leaf::List)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Leaf<'de>, A::Error> {
        while object.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Leaf::Object)
    }
}
