//! The keys of one mapping: each is taken once, and what is left over is unknown.

use super::{At, Field, Typed, mapping};
use crate::file::problem::Place;
use crate::file::sink::Sink;
use crate::file::yaml::{Entry, Node, shown};

/// A mapping while its keys are being taken.
pub(in crate::file) struct Fields<'n> {
    what: &'n str,
    place: Place,
    entries: &'n [Entry],
    known: Vec<&'static str>,
}

impl<'n> Fields<'n> {
    /// The keys of this node, if it is a mapping.
    pub(in crate::file) fn of(node: &'n Node, what: &'n str, sink: &mut Sink) -> Option<Self> {
        Some(Self { what, place: node.place, entries: mapping(node, what, sink)?, known: Vec::new() })
    }

    /// What stands under this key.
    pub(in crate::file) fn take<T: Typed>(&mut self, key: &'static str, sink: &mut Sink) -> Field<T> {
        self.known.push(key);
        let Some(entry) = self.entries.iter().find(|entry| &*entry.key.text == key) else {
            return Field::Absent;
        };
        match T::decode(&entry.value, &format!("`{key}`"), sink) {
            None => Field::Wrong,
            Some(value) => Field::Given(At { key: entry.key.place, place: entry.value.place, value }),
        }
    }

    /// What stands under this key; that nothing does is reported.
    pub(in crate::file) fn need<T: Typed>(&mut self, key: &'static str, sink: &mut Sink) -> Field<T> {
        let field = self.take(key, sink);
        if field.is_absent() {
            let help = format!("add `{key}:` to it");
            sink.report(self.place, format!("{} has no `{key}`", self.what), help);
            return Field::Wrong;
        }
        field
    }

    /// Reports every key that was not taken.
    pub(in crate::file) fn finish(self, sink: &mut Sink) {
        for entry in self.entries {
            let text = &*entry.key.text;
            if !self.known.contains(&text) {
                let help = sink.did_you_mean(text, self.known.iter().copied(), || {
                    format!("the keys here are {}", self.known.join(", "))
                });
                sink.report(entry.key.place, format!("unknown key {}", shown(text)), help);
            }
        }
    }
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
                let mut fields = $crate::file::typed::Fields::of(node, what, sink)?;
                let body = Self {
                    $( $field: $crate::file::typed::body!(@take fields sink $key $($required)?) ),+
                };
                fields.finish(sink);
                Some(body)
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
