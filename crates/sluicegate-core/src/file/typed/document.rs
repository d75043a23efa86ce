//! The file as a whole, and its small sections.

use super::{
    BlocksBody, DescriptorList, EdgeBody, IdentityBody, List, Named, Percentage, PressureSetting,
    ReputationBody, RouteBody, ServerBody, SheddingBody, Span, Text, TierBody, Verbatim, body, words,
};

body! {
    /// A policy file of Sluicegate.
    struct DocumentBody {
        /// Addresses. Read once, at start.
        "server" => server: ServerBody,
        /// Where meters live: `embedded`, or a redis://, rediss://, redis+sentinel:// or redis+cluster:// URL. Read
        /// once, at start. Default: embedded.
        "store" => store: Text,
        /// How callers are told apart.
        "identity" => identity: IdentityBody,
        /// The plans, by name. `custom:<account>` is the negotiated plan of one account.
        required "tiers" => tiers: Named<TierBody>,
        /// Kinds of requests, by name. The first that matches is the one.
        "routes" => routes: Named<RouteBody>,
        /// The scope that a key must have for requests that match no route. Default: none.
        "default_scope" => default_scope: Text,
        /// Limits for those who ask by descriptors, as Envoy does: for each domain, what is counted. Default: none.
        "descriptors" => descriptors: Named<DescriptorList>,
        /// A coarse limit for each address. Default: none.
        "edge" => edge: EdgeBody,
        /// Smaller limits for callers that are refused often. Default: none.
        "reputation" => reputation: ReputationBody,
        /// Blocks for callers that are refused again and again. Default: none.
        "blocks" => blocks: BlocksBody,
        /// Shared meters behind addresses with too many fingerprints: its keys, or `off`. Default: on where
        /// `identity.anonymous` names a tier.
        "pressure" => pressure: PressureSetting,
        /// Refusals while the upstream cannot keep up, the lowest priorities first. Default: none.
        "shedding" => shedding: SheddingBody,
        /// What is decided while the store cannot be reached.
        "degraded" => degraded: DegradedBody,
        /// What answers say about limits.
        "responses" => responses: ResponsesBody,
        /// The record of what was used.
        "ledger" => ledger: LedgerBody,
        /// Where alerts are sent.
        "alerts" => alerts: AlertsBody,
        /// When a clock that leaps is followed.
        "clock" => clock: ClockBody,
    }
}

body! {
    /// What is decided while the store cannot be reached.
    struct DegradedBody {
        /// The share of each limit that the local fallback admits. Default: 40%.
        "cap" => cap: Percentage,
        /// Rate limits: counted locally, open or closed. Default: local.
        "rate" => rate: DegradedRateWord,
        /// Quotas: counted locally, closed, journalled and settled later, or open. With reconcile and open an outage
        /// has no bound but the rate, and overage_cap is not enforced. Default: closed.
        "quota" => quota: DegradedQuotaWord,
    }
}

words! {
    /// What becomes of rate limits.
    enum DegradedRateWord { Local = "local", Open = "open", Closed = "closed" }
    asked_for {
        "reconcile" => "only quotas can be settled later: write local, open or closed",
    }
}

words! {
    /// What becomes of quotas.
    enum DegradedQuotaWord { Local = "local", Closed = "closed", Reconcile = "reconcile", Open = "open" }
}

body! {
    /// What answers say about limits.
    struct ResponsesBody {
        /// The families of headers. Default: all four.
        "headers" => headers: List<HeaderFamilyWord>,
        /// How `X-Quota-Reset` is written. Default: unix_seconds.
        "quota_reset" => quota_reset: QuotaResetWord,
    }
}

words! {
    /// The families of headers.
    enum HeaderFamilyWord { Ietf = "ietf", RateLimit = "ratelimit", XRateLimit = "x-ratelimit", XQuota = "x-quota" }
}

words! {
    /// How `X-Quota-Reset` is written.
    enum QuotaResetWord { UnixSeconds = "unix_seconds", HttpDate = "http_date" }
}

body! {
    /// The record of what was used.
    struct LedgerBody {
        /// How long usage by the quarter of an hour is kept: at least as long as `raw`. Default: `400d`, or `raw` if
        /// that is longer.
        "retain" => retain: Span,
        /// How long single records are kept: at least for the longest quota window of the tiers and 3 days. Negotiated
        /// limits that would need more are refused. Default: `35d`, or as long as the quotas need.
        "raw" => raw: Span,
        /// Where sealed records are copied: `file:///directory` or `s3://bucket/prefix`. Default: nowhere.
        "export" => export: Text,
        /// Whether a record is on disk before its request is answered (strict) or within milliseconds (normal).
        /// Default: normal.
        "durability" => durability: DurabilityWord,
    }
}

words! {
    /// When a record is on disk.
    enum DurabilityWord { Normal = "normal", Strict = "strict" }
}

body! {
    /// Where alerts are sent.
    struct AlertsBody {
        /// The URL that receives them, signed. Default: none.
        "webhook" => webhook: Text,
        /// Where the secret is found that they are signed with: `env:NAME` or `file:/path`. Default: `webhook-secret`
        /// in the data directory, which is made when it is missing.
        "secret" => secret: Verbatim,
    }
}

body! {
    /// When a clock that leaps is followed.
    struct ClockBody {
        /// How long a forward step of more than an hour must last until it is followed. Default: 10m.
        "hold" => hold: Span,
    }
}
