//! The status of a refusal.

use serde_json::{Value as Json, json};

use super::{Typed, unwanted};
use crate::file::sink::Sink;
use crate::file::yaml::Node;
use crate::limit::RefusalStatus;

/// The status of a refusal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::file) struct Status(pub(in crate::file) RefusalStatus);

impl Typed for Status {
    fn decode(node: &Node, what: &str, sink: &mut Sink) -> Option<Self> {
        let all = [RefusalStatus::PaymentRequired, RefusalStatus::Forbidden, RefusalStatus::TooManyRequests];
        let found =
            node.text().and_then(|text| all.into_iter().find(|status| status.code().to_string() == text));
        if found.is_none() {
            let help = "402: pay or wait for the period's end; 403: forbidden; 429: come back later";
            return unwanted(node, what, "402, 403 or 429", help, sink);
        }
        found.map(Self)
    }

    fn schema() -> Json {
        json!({"enum": [402, 403, 429]})
    }
}
