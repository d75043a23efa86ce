//! The body of one entry of `limits`.

use super::{AmountPer, List, Span, Status, Text, Whole, body, words};

body! {
    /// One more limit of a tier.
    struct LimitBody {
        /// How it counts.
        required "algorithm" => algorithm: Algorithm,
        /// How much: `3/day`, or a plain number for calendar windows and concurrency.
        required "limit" => limit: AmountPer,
        /// How much a token bucket holds. Default: the amount of `limit`.
        "burst" => burst: Whole,
        /// The routes it counts. Default: every request.
        "routes" => routes: List<Text>,
        /// Who shares it. Default: key; for quotas and concurrency: account.
        "per" => per: PerWord,
        /// Whether it is asked with the rates or, last, with the quotas. Default: quota for calendar windows, else
        /// rate.
        "axis" => axis: LimitAxis,
        /// The status of a refusal. Default: 429; for quotas: 402.
        "status" => status: Status,
        /// Whether a spent quota refuses requests or serves and bills them. Default: block.
        "on_exceeded" => on_exceeded: Overrun,
        /// How much is served and billed beyond the limit before requests are refused. Only with
        /// `on_exceeded: bill_overage`. Default: without end.
        "overage_cap" => overage_cap: Whole,
        /// How long a concurrency slot is held when nobody releases it. Default: 60s.
        "lease" => lease: Span,
    }
}

words! {
    /// The algorithms by name.
    enum Algorithm {
        TokenBucket = "token_bucket",
        FixedWindow = "fixed_window",
        SlidingWindow = "sliding_window",
        SlidingBuckets = "sliding_buckets",
        SlidingLog = "sliding_log",
        CalendarDay = "calendar_day",
        CalendarMonth = "calendar_month",
        BillingMonth = "billing_month",
        Concurrency = "concurrency",
    }
    asked_for {
        "leaky_bucket" => "a leaky bucket admits what a token bucket admits: write token_bucket",
        "gcra" => "write token_bucket: it is kept as GCRA",
        "sliding_day" => "write sliding_buckets, with a limit per day",
    }
}

words! {
    /// Who shares a limit.
    enum PerWord { Key = "key", Account = "account", Client = "client" }
    asked_for {
        "ip" => "only `edge` counts addresses; a tier counts per key, account or client",
    }
}

words! {
    /// With what a limit is asked.
    enum LimitAxis { Rate = "rate", Quota = "quota" }
    asked_for {
        "concurrency" => "remove it: `algorithm: concurrency` says so already",
    }
}

words! {
    /// What happens beyond a spent quota.
    enum Overrun { Block = "block", BillOverage = "bill_overage" }
}
