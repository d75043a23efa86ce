//! The bodies of `edge`, `reputation`, `blocks` and `pressure`.

use serde_json::{Value as Json, json};

use super::{AmountPer, Percentage, Span, Typed, Whole, body, unwanted, words};
use crate::file::sink::Sink;
use crate::file::yaml::Node;

body! {
    /// A coarse limit for each address, before any identity work.
    struct EdgeBody {
        /// Requests per second, or per another time as in `100/minute`.
        required "rate" => rate: AmountPer,
        /// How many requests may come at once. Default: the amount of `rate`.
        "burst" => burst: Whole,
        /// What is counted, of which there is one choice here. Default: ip.
        "per" => per: EdgePer,
    }
}

words! {
    /// What the edge counts.
    enum EdgePer { Ip = "ip" }
    asked_for {
        "key" => "the edge comes before identity: write ip, or put the limit into a tier",
        "account" => "the edge comes before identity: write ip, or put the limit into a tier",
        "client" => "the edge comes before identity: write ip, or put the limit into a tier",
    }
}

words! {
    /// Whom an abuse signal concerns.
    enum AppliesToWord { Clients = "clients", All = "all" }
}

body! {
    /// Callers that are refused often have smaller limits for a while.
    struct ReputationBody {
        /// Whether callers with a key have a reputation too. Default: clients.
        "applies_to" => applies_to: AppliesToWord,
        /// What a violation takes from the 100 points a caller starts with. Default: 5.
        "penalty" => penalty: Whole,
        /// How points come back. Default: 1/10m.
        "recover" => recover: AmountPer,
    }
}

body! {
    /// Callers that are refused again and again are answered from a local table for a while.
    struct BlocksBody {
        /// Whether callers with a key are blocked too. Default: clients.
        "applies_to" => applies_to: AppliesToWord,
        /// How many refusals it takes. Default: 10.
        "after" => after: Whole,
        /// Within how long. Default: 1m.
        "within" => within: Span,
        /// How long the first block lasts; each further one lasts twice as long. Default: 1m.
        "for" => first: Span,
        /// How long a block lasts at most. Default: 1h.
        "max" => max: Span,
    }
}

/// The settings of `pressure`, or that it is switched off.
#[derive(Clone, Debug)]
pub(in crate::file) enum PressureSetting {
    Off,
    On(Box<PressureBody>),
}

impl Typed for PressureSetting {
    fn decode(node: &Node, what: &str, sink: &mut Sink) -> Option<Self> {
        match node.text() {
            Some("off") => Some(Self::Off),
            Some(_) => {
                let help = "write off, or the keys below it";
                unwanted(node, what, "off or a mapping of keys to values", help, sink)
            }
            None => PressureBody::decode(node, what, sink).map(|body| Self::On(Box::new(body))),
        }
    }

    fn schema() -> Json {
        json!({"anyOf": [{"type": "string", "enum": ["off"]}, PressureBody::schema()]})
    }
}

body! {
    /// Too many different fingerprints behind one address: its clients without a session share one meter per limit.
    struct PressureBody {
        /// How many are too many. Default: 20.
        "fingerprints" => fingerprints: Whole,
        /// Within how long. Default: 10m.
        "window" => window: Span,
        /// What remains of the limits of one client. Default: 50%.
        "squeeze_to" => squeeze_to: Percentage,
        /// How many clients' worth of these limits the clients without a session share. Default: 5.
        "share" => share: Whole,
        /// For how long. Default: 1h.
        "for" => length: Span,
    }
}
