//! The body of a route.

use super::{Text, Whole, body, words};

body! {
    /// A kind of request: which ones it is, what they cost, what they need.
    struct RouteBody {
        /// `METHOD /path` or `/path`; `*` stands for one segment, a final `**` for any number of them.
        required "match" => pattern: Text,
        /// What one such request costs. Default: 1.
        "cost" => cost: Whole,
        /// The scope that a key must have. Default: none.
        "scope" => scope: Text,
        /// Where such requests are forwarded. Default: `server.upstream`.
        "upstream" => upstream: Text,
        /// What a request costs that repeats the `Idempotency-Key` of another: nothing if every earlier attempt
        /// failed at the upstream, nothing in any case (for upstreams that recognise the key), or as much as any
        /// other. Default: `after_failure`.
        "repeats" => repeats: RepeatsWord,
        /// Whether upper and lower case are told apart in the path: many frameworks do not, so that `/Admin` reaches
        /// what `/admin` does. Default: insensitive.
        "case" => case: CaseWord,
    }
}

words! {
    /// Whether upper and lower case are told apart.
    enum CaseWord { Insensitive = "insensitive", Sensitive = "sensitive" }
}

words! {
    /// What a repeat costs.
    enum RepeatsWord { AfterFailure = "after_failure", Free = "free", Charged = "charged" }
}
