//! The keys of one mapping: those it may have, and what is said about the others.

use super::{At, Field, Typed, mapping};
use crate::file::problem::Place;
use crate::file::sink::Sink;
use crate::file::yaml::{Entry, Node, shown};

/// A mapping while its keys are being taken.
pub(in crate::file) struct Fields<'n> {
    what: &'n str,
    place: Place,
    entries: &'n [Entry],
    /// The keys that an unknown one was probably meant to be. That they are missing was said with it.
    misspelt: Vec<&'static str>,
}

impl<'n> Fields<'n> {
    /// The keys of this node, if it is a mapping. Every key that is not `known` is reported.
    pub(in crate::file) fn of(
        node: &'n Node,
        what: &'n str,
        known: &[&'static str],
        sink: &mut Sink,
    ) -> Option<Self> {
        let entries = mapping(node, what, sink)?;
        let unknown = entries.iter().filter(|entry| !known.contains(&&*entry.key.text));
        let misspelt = unknown.filter_map(|entry| report_unknown(entry, known, sink)).collect();
        Some(Self { what, place: node.place, entries, misspelt })
    }

    /// What stands under this key.
    pub(in crate::file) fn take<T: Typed>(&self, key: &'static str, sink: &mut Sink) -> Field<T> {
        let Some(entry) = self.entries.iter().find(|entry| &*entry.key.text == key) else {
            return if self.misspelt.contains(&key) { Field::Wrong } else { Field::Absent };
        };
        match T::decode(&entry.value, &format!("`{key}`"), sink) {
            None => Field::Wrong,
            Some(value) => Field::Given(At { key: entry.key.place, place: entry.value.place, value }),
        }
    }

    /// What stands under this key; that nothing does is reported.
    pub(in crate::file) fn need<T: Typed>(&self, key: &'static str, sink: &mut Sink) -> Field<T> {
        let field = self.take(key, sink);
        if field.is_absent() {
            let help = format!("add `{key}:` to it");
            sink.report(self.place, format!("{} has no `{key}`", self.what), help);
            return Field::Wrong;
        }
        field
    }
}

/// Reports a key that is not known, and gives back the one it was probably meant to be.
fn report_unknown(entry: &Entry, known: &[&'static str], sink: &mut Sink) -> Option<&'static str> {
    let text = &*entry.key.text;
    let glued = text.split_once(':').filter(|(key, _)| known.contains(key));
    let (meant, help) = match (glued, sink.suggest(text, known.iter().copied())) {
        (Some((key, value)), _) => (Some(key), format!("put a space after the `:`, as in `{key}: {value}`")),
        (None, Some(meant)) => (Some(meant), format!("did you mean `{meant}`?")),
        (None, None) => (None, format!("the keys here are {}", known.join(", "))),
    };
    let meant = meant.and_then(|meant| known.iter().copied().find(|key| *key == meant));
    sink.report(entry.key.place, format!("unknown key {}", shown(text)), help);
    meant
}

/// Declares a mapping: what it is, and its keys with their types. Keys marked `required` may not be missing.
macro_rules! body {
    (
        $(#[doc = $doc:literal])+
        struct $name:ident {
            $( $(#[doc = $about:literal])+ $($required:ident)? $key:literal => $field:ident : $type:ty ),+ $(,)?
        }
    ) => {
        $(#[doc = $doc])+
        #[derive(Clone, Debug)]
        pub(in crate::file) struct $name {
            $( $(#[doc = $about])+ pub(in crate::file) $field: $crate::file::typed::Field<$type> ),+
        }

        impl $crate::file::typed::Typed for $name {
            fn decode(
                node: &$crate::file::yaml::Node,
                what: &str,
                sink: &mut $crate::file::sink::Sink,
            ) -> Option<Self> {
                let fields = $crate::file::typed::Fields::of(node, what, &[$($key),+], sink)?;
                Some(Self {
                    $( $field: $crate::file::typed::body!(@take fields sink $key $($required)?) ),+
                })
            }

            fn schema() -> serde_json::Value {
                let keys = vec![
                    $( (
                        $key,
                        [$($about.trim()),+].join(" "),
                        <$type as $crate::file::typed::Typed>::schema(),
                        $crate::file::typed::body!(@required $($required)?),
                    ) ),+
                ];
                $crate::file::typed::object_schema(&[$($doc.trim()),+].join(" "), keys)
            }
        }
    };
    (@take $fields:ident $sink:ident $key:literal) => { $fields.take($key, $sink) };
    (@take $fields:ident $sink:ident $key:literal required) => { $fields.need($key, $sink) };
    (@required) => { false };
    (@required required) => { true };
}
pub(in crate::file) use body;
