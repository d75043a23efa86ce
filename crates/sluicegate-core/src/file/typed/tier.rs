//! The body of a tier.

use serde_json::{Value as Json, json};

use super::span::Span;
use super::{AmountPer, LimitBody, Multiplier, Named, Overrun, Status, Typed, Whole, body, unwanted, words};
use crate::file::sink::Sink;
use crate::file::yaml::{Node, Value, shown};

body! {
    /// A named plan: the limits of every account, key or client that has it.
    struct TierBody {
        /// Requests per second, as in `10`, or per another time, as in `100/minute` or `5/10s`. Every key has its own.
        /// Default: no limit.
        "rate" => rate: AmountPer,
        /// How many requests may come at once. Default: the amount of `rate`.
        "burst" => burst: Whole,
        /// `burst` as a multiple of the amount of `rate`, rounded down.
        "burst_multiplier" => burst_multiplier: Multiplier,
        /// How much the plan includes per `quota_window`. `null`: uncapped. Default: uncapped.
        "quota" => quota: Quota,
        /// When the quota starts again. Default: calendar_month.
        "quota_window" => quota_window: QuotaWindow,
        /// How a quota whose window slides counts: by buckets, or exactly, with every admission remembered. Default:
        /// sliding_buckets.
        "quota_algorithm" => quota_algorithm: QuotaAlgorithm,
        /// Whether a spent quota refuses requests or serves and bills them. Default: block.
        "on_quota_exceeded" => on_quota_exceeded: Overrun,
        /// How much is served and billed beyond the quota, per `quota_window`, before requests are refused. Only with
        /// `on_quota_exceeded: bill_overage`. Default: without end.
        "overage_cap" => overage_cap: Whole,
        /// The status with which a spent quota is answered. Default: 402.
        "quota_status" => quota_status: Status,
        /// Whether the keys of an account share its quota or have one each. Default: account.
        "quota_pool" => quota_pool: QuotaPool,
        /// How many requests of an account may be in flight. Default: no limit.
        "concurrency" => concurrency: Whole,
        /// Under pressure the tiers with the lowest priority are shed first. Default: 0.
        "priority" => priority: Whole,
        /// Further limits, by name. Default: none.
        "limits" => limits: Named<LimitBody>,
        /// Whether callers with a service token pass without any limit. Default: false.
        "bypass" => bypass: bool,
        /// When a finished request gets its quota back. Default: never.
        "refund_on" => refund_on: RefundWord,
    }
}

words! {
    /// How a quota whose window slides counts.
    enum QuotaAlgorithm { SlidingBuckets = "sliding_buckets", SlidingLog = "sliding_log" }
}

words! {
    /// Whose quota it is.
    enum QuotaPool { Account = "account", Key = "key" }
}

words! {
    /// Which answers of the upstream give a charge back.
    enum RefundWord { ServerError = "5xx" }
}

/// The amount of a quota; `null` says that there is none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::file) enum Quota {
    Uncapped,
    Capped(u64),
}

impl Typed for Quota {
    fn decode(node: &Node, what: &str, sink: &mut Sink) -> Option<Self> {
        match &node.value {
            Value::Null => Some(Self::Uncapped),
            Value::Plain(_) | Value::Quoted(_) => {
                Whole::decode(node, what, sink).map(|amount| Self::Capped(amount.0))
            }
            _ => {
                let help = "write a number such as 50_000, or null if nothing is capped";
                unwanted(node, what, "a whole number or null", help, sink)
            }
        }
    }

    fn schema() -> Json {
        let mut schema = Whole::schema();
        if let Some(forms) = schema["anyOf"].as_array_mut() {
            forms.push(json!({"type": "null"}));
        }
        schema
    }
}

/// When a quota starts again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::file) enum QuotaWindow {
    CalendarMonth,
    BillingMonth,
    CalendarDay,
    SlidingDay,
    Sliding(Span),
}

impl QuotaWindow {
    const SLIDING_PREFIX: &'static str = "sliding:";
    const WORDS: &'static [(&'static str, Self)] = &[
        ("calendar_month", Self::CalendarMonth),
        ("billing_month", Self::BillingMonth),
        ("calendar_day", Self::CalendarDay),
        ("sliding_day", Self::SlidingDay),
    ];
}

impl Typed for QuotaWindow {
    fn decode(node: &Node, what: &str, sink: &mut Sink) -> Option<Self> {
        let names = || Self::WORDS.iter().map(|(word, _)| *word);
        let one_of =
            || format!("write one of: {}, sliding:<duration>", names().collect::<Vec<_>>().join(", "));
        let Some(text) = node.text() else {
            return unwanted(node, what, "a word", &one_of(), sink);
        };
        if let Some(span) = text.strip_prefix(Self::SLIDING_PREFIX) {
            let span = node.with_text(span.trim());
            return Span::decode(&span, "what follows `sliding:`", sink).map(Self::Sliding);
        }
        let found = Self::WORDS.iter().find(|(word, _)| *word == text);
        if found.is_none() {
            let help = sink.did_you_mean(text, names(), one_of);
            sink.report(node.place, format!("{what} may not be {}", shown(text)), help);
        }
        found.map(|(_, window)| *window)
    }

    fn schema() -> Json {
        let names: Vec<&str> = Self::WORDS.iter().map(|(word, _)| *word).collect();
        json!({"anyOf": [
            {"type": "string", "enum": names},
            {"type": "string", "pattern": "^sliding:[ ]*([0-9_]+[a-z]+)+$"},
        ]})
    }
}
