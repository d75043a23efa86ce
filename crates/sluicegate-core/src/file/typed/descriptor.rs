//! Limits by descriptors, as Envoy's rate limit service is asked for them.

use serde_json::{Value as Json, json};

use super::{AmountPer, List, Text, Typed, Verbatim, Whole, body, words};
use crate::file::sink::Sink;
use crate::file::yaml::Node;

body! {
    /// What is counted for an entry of a descriptor: by itself, and together with the entries behind it.
    struct DescriptorBody {
        /// The key of the entry.
        required "key" => key: Verbatim,
        /// Its value; one that ends in `*` stands for all that begin so. Default: any, each with a count of its own.
        "value" => value: Verbatim,
        /// What the limit is called in answers. Default: descriptor.
        "name" => name: Text,
        /// How much, such as `100/minute`, for descriptors that end with this entry.
        "limit" => limit: AmountPer,
        /// How it counts. Default: fixed_window.
        "algorithm" => algorithm: DescriptorAlgorithm,
        /// How much a token bucket holds. Default: the amount of `limit`.
        "burst" => burst: Whole,
        /// The limit as the files of Envoy's own service have it.
        "rate_limit" => rate_limit: RateLimitBody,
        /// Whether it is only counted, and refuses nothing. Default: false.
        "shadow_mode" => shadow_mode: bool,
        /// What follows this entry.
        "descriptors" => descriptors: DescriptorList,
    }
}

body! {
    /// A limit as the files of Envoy's own service have it.
    struct RateLimitBody {
        /// Per what. A month has 30 days here, a year 365.
        "unit" => unit: UnitWord,
        /// How much.
        "requests_per_unit" => requests_per_unit: Whole,
        /// Whether nothing is counted at all. Default: false.
        "unlimited" => unlimited: bool,
        /// What the limit is called in answers. Default: descriptor.
        "name" => name: Text,
    }
}

words! {
    /// How a limit of a descriptor counts.
    enum DescriptorAlgorithm {
        FixedWindow = "fixed_window",
        TokenBucket = "token_bucket",
        SlidingWindow = "sliding_window",
        SlidingBuckets = "sliding_buckets",
        SlidingLog = "sliding_log",
    }
    asked_for {
        "concurrency" => "nobody says when a request of a descriptor ends: count it by a window",
        "gcra" => "write token_bucket: it is kept as GCRA",
    }
}

words! {
    /// Units of time.
    enum UnitWord {
        Second = "second",
        Minute = "minute",
        Hour = "hour",
        Day = "day",
        Week = "week",
        Month = "month",
        Year = "year",
    }
}

/// Descriptors, each of which may have others below it.
#[derive(Clone, Debug)]
pub(in crate::file) struct DescriptorList(pub(in crate::file) List<DescriptorBody>);

impl DescriptorList {
    /// Where the schema of one of them stands: it contains itself.
    pub(in crate::file) const DEFINITION: &'static str = "descriptor";
}

impl Typed for DescriptorList {
    fn decode(node: &Node, what: &str, sink: &mut Sink) -> Option<Self> {
        List::decode(node, what, sink).map(Self)
    }

    fn schema() -> Json {
        json!({"type": "array", "items": {"$ref": format!("#/$defs/{}", Self::DEFINITION)}})
    }
}
