//! Words from a closed list.

use serde_json::{Value as Json, json};

use super::{Typed, unwanted};
use crate::file::sink::Sink;
use crate::file::yaml::{Node, shown};

/// A closed list of words.
pub(in crate::file) trait Word: Copy + 'static {
    /// Every word with its meaning.
    const ALL: &'static [(&'static str, Self)];

    /// Words that people write because they mean something elsewhere, each with what to do about it.
    const ASKED_FOR: &'static [(&'static str, &'static str)];
}

impl<W: Word> Typed for W {
    fn decode(node: &Node, what: &str, sink: &mut Sink) -> Option<Self> {
        let known = || W::ALL.iter().map(|(word, _)| *word);
        let one_of = || match W::ALL {
            [(only, _)] => format!("write {only}"),
            _ => format!("write one of: {}", known().collect::<Vec<_>>().join(", ")),
        };
        let Some(text) = node.text() else {
            return unwanted(node, what, "a word", &one_of(), sink);
        };
        let found = W::ALL.iter().find(|(word, _)| *word == text);
        if found.is_none() {
            let asked_for = W::ASKED_FOR.iter().find(|(word, _)| *word == text);
            let help = match asked_for {
                Some((_, help)) => (*help).to_owned(),
                None => sink.did_you_mean(text, known(), one_of),
            };
            let message = format!("{what} may not be {}", shown(text));
            sink.report(node.place, message, help);
        }
        found.map(|(_, value)| *value)
    }

    fn schema() -> Json {
        let words: Vec<&str> = W::ALL.iter().map(|(word, _)| *word).collect();
        json!({"type": "string", "enum": words})
    }
}

/// Declares a closed list of words, optionally followed by the words that need an explanation.
macro_rules! words {
    (
        $(#[doc = $doc:literal])+
        enum $name:ident { $($variant:ident = $word:literal),+ $(,)? }
        $(asked_for { $($asked:literal => $help:literal),+ $(,)? })?
    ) => {
        $(#[doc = $doc])+
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub(in crate::file) enum $name { $($variant),+ }

        impl $crate::file::typed::Word for $name {
            const ALL: &'static [(&'static str, Self)] = &[$(($word, Self::$variant)),+];
            const ASKED_FOR: &'static [(&'static str, &'static str)] = &[$($(($asked, $help)),+)?];
        }
    };
}
pub(in crate::file) use words;
