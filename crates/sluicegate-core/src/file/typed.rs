//! What was typed: plain structs that keep the place of every value.
//!
//! Each `body!` below is a table of keys. It makes the struct, its decoder and its JSON Schema from one text, so the
//! three cannot disagree. Nothing here knows what the values mean together: that is [`super::mean`].

use serde_json::{Map, Value as Json, json};

use super::problem::Place;
use super::sink::Sink;
use super::yaml::{Entry, Node, Value};

mod abuse;
mod delay;
mod descriptor;
mod document;
mod factor;
mod fields;
mod identity;
mod limit;
mod number;
mod route;
mod server;
mod shedding;
mod span;
mod status;
mod text;
mod tier;
mod word;

pub(super) use abuse::{
    AppliesToWord, BlocksBody, EdgeBody, EdgePer, PressureBody, PressureSetting, ReputationBody,
};
pub(super) use delay::Delay;
pub(super) use descriptor::{DescriptorAlgorithm, DescriptorBody, DescriptorList, RateLimitBody, UnitWord};
pub(super) use document::{
    AlertsBody, ClockBody, DegradedBody, DegradedQuotaWord, DegradedRateWord, DocumentBody, DurabilityWord,
    HeaderFamilyWord, LedgerBody, QuotaResetWord, ResponsesBody,
};
pub(super) use factor::{Multiplier, Percentage};
pub(super) use fields::{Fields, body};
pub(super) use identity::{AddressBody, ChallengeBody, IdentityBody, JwtBody, SessionCookieBody};
pub(super) use limit::{Algorithm, LimitAxis, LimitBody, Overrun, PerWord};
pub(super) use number::Whole;
pub(super) use route::{CaseWord, RepeatsWord, RouteBody};
pub(super) use server::{
    DecisionAuthWord, ForwardedWord, MaximaBody, MayWord, PerAddressBody, ServerBody, TimeoutsBody, TlsBody,
    TunnelsBody, UpstreamHostWord, UpstreamProtocolWord,
};
pub(super) use shedding::SheddingBody;
pub(super) use span::{AmountPer, Span, parse_span};
pub(super) use status::Status;
pub(super) use text::{Text, Verbatim};
pub(super) use tier::{Quota, QuotaAlgorithm, QuotaPool, QuotaWindow, RefundWord, TierBody};
pub(super) use word::{Word, words};

/// A value that can be typed into a policy file.
pub(super) trait Typed: Sized {
    /// The value, or nothing after its problems were reported. `what` names it in messages.
    fn decode(node: &Node, what: &str, sink: &mut Sink) -> Option<Self>;

    /// What may be typed, for editors.
    fn schema() -> Json;
}

/// A value, where it stands, and where its key stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct At<T> {
    pub(super) key: Place,
    pub(super) place: Place,
    pub(super) value: T,
}

/// What was found under a key. `Wrong` has been reported, so nothing that depends on it needs to be.
#[derive(Clone, Debug)]
pub(super) enum Field<T> {
    Absent,
    Wrong,
    Given(At<T>),
}

impl<T> Field<T> {
    /// The value with its places, if there is a good one.
    pub(super) fn given(&self) -> Option<&At<T>> {
        match self {
            Self::Given(at) => Some(at),
            Self::Absent | Self::Wrong => None,
        }
    }

    /// The value, if there is a good one.
    pub(super) fn value(&self) -> Option<&T> {
        self.given().map(|at| &at.value)
    }

    /// Whether nothing stands under the key, not even something wrong.
    pub(super) fn is_absent(&self) -> bool {
        matches!(self, Self::Absent)
    }
}

/// A list whose entries are all of one kind. Entries that were wrong are left out.
#[derive(Clone, Debug)]
pub(super) struct List<T>(pub(super) Vec<At<T>>);

impl<T: Typed> Typed for List<T> {
    fn decode(node: &Node, what: &str, sink: &mut Sink) -> Option<Self> {
        let Value::List(items) = &node.value else {
            let help = "write the entries in brackets, separated by commas: [a, b]";
            sink.report(node.place, format!("{what} must be a list, not {}", node.describe()), help);
            return None;
        };
        let entry = format!("an entry of {what}");
        let decoded = items.iter().filter_map(|item| {
            let value = T::decode(item, &entry, sink)?;
            Some(At { key: item.place, place: item.place, value })
        });
        Some(Self(decoded.collect()))
    }

    fn schema() -> Json {
        json!({"type": "array", "items": T::schema()})
    }
}

/// One entry, or a list of them.
#[derive(Clone, Debug)]
pub(super) struct OneOrMore<T>(pub(super) Vec<At<T>>);

impl<T: Typed> Typed for OneOrMore<T> {
    fn decode(node: &Node, what: &str, sink: &mut Sink) -> Option<Self> {
        if let Value::List(_) = &node.value {
            return List::decode(node, what, sink).map(|list| Self(list.0));
        }
        let value = T::decode(node, what, sink)?;
        Some(Self(vec![At { key: node.place, place: node.place, value }]))
    }

    fn schema() -> Json {
        json!({"anyOf": [T::schema(), List::<T>::schema()]})
    }
}

/// A mapping whose keys are names that the file chooses.
#[derive(Clone, Debug)]
pub(super) struct Named<T>(pub(super) Vec<NamedEntry<T>>);

/// A name, where it stands, and what was found under it.
#[derive(Clone, Debug)]
pub(super) struct NamedEntry<T> {
    pub(super) name: String,
    pub(super) place: Place,
    pub(super) body: Option<T>,
}

impl<T: Typed> Typed for Named<T> {
    fn decode(node: &Node, what: &str, sink: &mut Sink) -> Option<Self> {
        let entries = mapping(node, what, sink)?;
        let decoded = entries.iter().map(|entry| NamedEntry {
            name: entry.key.text.to_string(),
            place: entry.key.place,
            body: T::decode(&entry.value, &super::yaml::shown(&entry.key.text), sink),
        });
        Some(Self(decoded.collect()))
    }

    fn schema() -> Json {
        json!({"type": "object", "additionalProperties": T::schema()})
    }
}

/// The entries of a mapping, or nothing after it was reported that this is none.
pub(super) fn mapping<'n>(node: &'n Node, what: &str, sink: &mut Sink) -> Option<&'n [Entry]> {
    if let Value::Map(entries) = &node.value {
        return Some(entries);
    }
    let message = match node.value {
        Value::Empty => format!("{what} is empty"),
        _ => format!("{what} must be a mapping of keys to values, not {}", node.describe()),
    };
    let help = match node.value {
        Value::Empty => "indent its keys below it, or remove it",
        Value::List(_) => "write `name: value` lines instead of a list, indented below it",
        _ => "write `key: value` lines, indented below it",
    };
    sink.report(node.place, message, help);
    None
}

/// Reports that a scalar is not what was wanted, and what would have been.
pub(super) fn unwanted<T>(node: &Node, what: &str, wanted: &str, help: &str, sink: &mut Sink) -> Option<T> {
    let message = match node.value {
        Value::Empty => format!("{what} has no value"),
        _ => format!("{what} must be {wanted}, not {}", node.describe()),
    };
    sink.report(node.place, message, help);
    None
}

impl Typed for bool {
    fn decode(node: &Node, what: &str, sink: &mut Sink) -> Option<Self> {
        match &node.value {
            Value::Plain(text) if &**text == "true" => Some(true),
            Value::Plain(text) if &**text == "false" => Some(false),
            _ => unwanted(node, what, "true or false", "write `true` or `false`, without quotes", sink),
        }
    }

    fn schema() -> Json {
        json!({"type": "boolean"})
    }
}

/// The JSON Schema of a mapping with these keys: name, description, schema, required.
pub(super) fn object_schema(description: &str, keys: Vec<(&str, String, Json, bool)>) -> Json {
    let required: Vec<&str> = keys.iter().filter(|key| key.3).map(|key| key.0).collect();
    let mut properties = Map::new();
    for (name, description, mut schema, _) in keys {
        if let Some(schema) = schema.as_object_mut() {
            schema.insert("description".to_owned(), description.into());
        }
        properties.insert(name.to_owned(), schema);
    }
    let mut object = json!({
        "type": "object",
        "description": description,
        "properties": properties,
        "additionalProperties": false,
    });
    if let (Some(object), false) = (object.as_object_mut(), required.is_empty()) {
        object.insert("required".to_owned(), required.into());
    }
    object
}
