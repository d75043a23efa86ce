//! Where in a body something stands, as people write it: `checks[17].client.ip`.

use std::fmt;

/// A place in a body. Nothing is written down until something is wrong.
#[derive(Clone, Copy, Debug)]
pub(in crate::decision) enum Place<'p> {
    /// The body itself.
    Body,
    /// A field of an object.
    Field(&'p Place<'p>, &'p str),
    /// An element of a list.
    Item(&'p Place<'p>, usize),
}

/// How much of a name that others chose is shown.
const NAME_SHOWN_MAX: usize = 64;

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Body => Ok(()),
            Self::Field(Place::Body, name) => f.write_str(shown(name)),
            Self::Field(outer, name) => write!(f, "{outer}.{}", shown(name)),
            Self::Item(outer, index) => write!(f, "{outer}[{index}]"),
        }
    }
}

fn shown(name: &str) -> &str {
    name.char_indices().nth(NAME_SHOWN_MAX).map_or(name, |(end, _)| &name[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_written_as_people_write_them() {
        let list = Place::Field(&Place::Body, "checks");
        let item = Place::Item(&list, 17);
        let client = Place::Field(&item, "client");
        assert_eq!(Place::Field(&client, "ip").to_string(), "checks[17].client.ip");
        assert_eq!(item.to_string(), "checks[17]");
        assert_eq!(Place::Body.to_string(), "");
        let long = "é".repeat(100);
        assert_eq!(Place::Field(&Place::Body, &long).to_string(), "é".repeat(NAME_SHOWN_MAX));
    }
}
