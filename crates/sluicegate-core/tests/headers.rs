//! What clients read: the four header families, for every algorithm, admitted and refused.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up should fail")]

use sfv::{BareItem, ListEntry, Parser};
use sluicegate_core::book::LimitBook;
use sluicegate_core::file;
use sluicegate_core::headers::{self, Lines, Shown};
use sluicegate_core::limit::{Excess, RefusalStatus};
use sluicegate_core::limit_now::LimitNow;
use sluicegate_core::meter::Meter;
use sluicegate_core::plan::{HomeId, Mode};
use sluicegate_core::policy::responses::{QuotaReset, Responses};
use sluicegate_core::rule::Amount;
use sluicegate_core::rule::concurrency::SlotId;
use sluicegate_core::settle::{Outcome, Readings, settle};
use sluicegate_core::tariff::{AccountCalendar, Charges, Request, Tariff};
use sluicegate_core::time::{Nanos, Timestamp};

/// 2026-10-05T12:00:00Z: a month of 31 days.
const NOW: Timestamp = Timestamp::from_secs(1_791_201_600);
const OCTOBER_ENDS: u64 = 1_793_491_200;

/// The first tier of a policy, and one caller of it.
struct Caller {
    tariff: Tariff,
    meters: Vec<Meter>,
    responses: Responses,
}

impl Caller {
    fn of(policy: &str) -> Self {
        let policy = file::read(policy.as_bytes()).unwrap().policy;
        let (tier, mut book) = (policy.tiers.iter().next().unwrap().clone(), LimitBook::default());
        let meters = tier.limits.iter().map(|entry| Meter::fresh(&entry.limit.rule)).collect();
        let tariff = Tariff::new(&tier, &AccountCalendar::default(), |limit| book.enter(limit));
        Self { tariff, meters, responses: policy.responses }
    }

    fn ask(&mut self, cost: u64, now: Timestamp) -> (Outcome, Vec<(&'static str, String)>) {
        let cost = Amount::new(cost).unwrap();
        let (home, slot) = (HomeId(1), SlotId(now.as_nanos()));
        let plan = self.tariff.plan(&Request {
            home,
            key: None,
            route: None,
            cost,
            now,
            mode: Mode::Charge,
            which: Charges::All,
            slot,
        });
        let mut readings = Readings::new();
        let outcome = settle(&plan, &mut self.meters, &mut readings);
        let refusing = match outcome {
            Outcome::Admitted { .. } | Outcome::Elsewhere { .. } | Outcome::Conflicts => None,
            Outcome::Refused { by, .. } | Outcome::NeverFits { by } => {
                plan.charges().get(by).map(|charge| charge.limit)
            }
        };
        let retry_after_s = match (outcome, refusing.map(|limit| limit.excess)) {
            (Outcome::Refused { retry_after, .. }, Some(Excess::Refuse(RefusalStatus::TooManyRequests))) => {
                Some(retry_after.as_secs_ceil())
            }
            _ => None,
        };
        let limits = LimitNow::all(&plan, &readings);
        let refused_by = refusing.map(|limit| &limit.name);
        let shown = Shown { now, limits: &limits, refused_by, retry_after_s };
        let mut lines = Lines::default();
        headers::write(&shown, &self.responses, &mut lines);
        (outcome, lines.iter().map(|(field, value)| (field.name(), value.to_owned())).collect())
    }
}

fn header<'h>(headers: &'h [(&'static str, String)], name: &str) -> Option<&'h str> {
    headers.iter().find(|(header, _)| *header == name).map(|(_, value)| value.as_str())
}

const FREE: &str = "tiers: {free: {rate: 10, burst: 20, quota: 50_000}}";

#[test]
fn the_first_request_of_a_free_caller_shows_every_family() {
    let (_, headers) = Caller::of(FREE).ask(1, NOW);
    let reset = OCTOBER_ENDS.to_string();
    let expected = [
        ("RateLimit-Policy", r#""rate";q=20;w=2, "quota";q=50000;w=2678400"#),
        ("RateLimit", r#""rate";r=19;t=1, "quota";r=49999;t=2289600"#),
        ("RateLimit-Limit", "10"),
        ("RateLimit-Remaining", "19"),
        ("RateLimit-Reset", "1"),
        ("X-RateLimit-Limit", "10"),
        ("X-RateLimit-Remaining", "19"),
        ("X-RateLimit-Reset", "1791201601"),
        ("X-Quota-Limit", "50000"),
        ("X-Quota-Used", "1"),
        ("X-Quota-Remaining", "49999"),
        ("X-Quota-Reset", &reset),
    ];
    assert_eq!(headers, expected.map(|(name, value)| (name, value.to_owned())));
}

#[test]
fn a_rate_refusal_says_when_to_come_back() {
    let mut caller = Caller::of(FREE);
    caller.ask(20, NOW);
    let (outcome, headers) = caller.ask(15, NOW);
    assert!(matches!(outcome, Outcome::Refused { by: 0, .. }));
    assert_eq!(header(&headers, "Retry-After"), Some("2"), "15 units at 10 a second, rounded up");
    assert_eq!(header(&headers, "RateLimit-Remaining"), Some("0"));
    assert_eq!(header(&headers, "RateLimit"), Some(r#""rate";r=0;t=1, "quota";r=49980;t=2289600"#));
    let (outcome, _) = caller.ask(15, NOW.plus(Nanos::from_secs(2)));
    assert!(matches!(outcome, Outcome::Admitted { .. }));
}

#[test]
fn a_spent_quota_tells_its_reset_and_not_to_retry() {
    let mut caller = Caller::of("tiers: {free: {rate: 100, quota: 2}}");
    caller.ask(2, NOW);
    let (outcome, headers) = caller.ask(1, NOW);
    assert!(matches!(outcome, Outcome::Refused { by: 1, .. }));
    assert_eq!(header(&headers, "Retry-After"), None);
    assert_eq!(header(&headers, "X-Quota-Remaining"), Some("0"));
    assert_eq!(header(&headers, "X-Quota-Reset"), Some(OCTOBER_ENDS.to_string().as_str()));
}

#[test]
fn a_spent_quota_answered_with_429_can_be_waited_out() {
    let mut caller = Caller::of("tiers: {free: {quota: 2, quota_window: sliding_day, quota_status: 429}}");
    caller.ask(2, NOW);
    let (_, headers) = caller.ask(1, NOW);
    assert_eq!(header(&headers, "Retry-After"), Some("86460"), "a day and the minute of its bucket");
}

#[test]
fn overage_is_counted_in_the_open() {
    let mut caller = Caller::of("tiers: {pro: {quota: 2, on_quota_exceeded: bill_overage}}");
    caller.ask(2, NOW);
    let (outcome, headers) = caller.ask(3, NOW);
    assert_eq!(outcome, Outcome::Admitted { overage: 3 });
    assert_eq!(header(&headers, "X-Quota-Remaining"), Some("0"));
    assert_eq!(header(&headers, "X-Quota-Used"), Some("5"));
    assert_eq!(header(&headers, "X-Quota-Overage"), Some("3"));
}

#[test]
fn the_refusing_limit_is_shown_else_the_shorthand() {
    let policy =
        "tiers: {standard: {rate: 100/minute, limits: {burst: {algorithm: fixed_window, limit: 20/second}}}}";
    let mut caller = Caller::of(policy);
    let (_, headers) = caller.ask(1, NOW);
    assert_eq!(header(&headers, "X-RateLimit-Limit"), Some("100"));
    assert_eq!(header(&headers, "X-RateLimit-Remaining"), Some("99"));
    caller.ask(19, NOW);
    let (_, headers) = caller.ask(1, NOW);
    assert_eq!(header(&headers, "X-RateLimit-Limit"), Some("20"));
    assert_eq!(header(&headers, "X-RateLimit-Remaining"), Some("0"));
}

#[test]
fn a_cost_that_never_fits_is_not_told_to_wait() {
    let (outcome, headers) = Caller::of(FREE).ask(21, NOW);
    assert_eq!(outcome, Outcome::NeverFits { by: 0 });
    assert_eq!(header(&headers, "Retry-After"), None);
    assert_eq!(header(&headers, "RateLimit-Remaining"), Some("20"), "nothing was taken");
}

#[test]
fn a_reset_can_be_a_date() {
    let mut caller = Caller::of(FREE);
    caller.responses.quota_reset = QuotaReset::HttpDate;
    assert_eq!(header(&caller.ask(1, NOW).1, "X-Quota-Reset"), Some("Sun, 01 Nov 2026 00:00:00 GMT"));
}

#[test]
fn every_algorithm_says_its_window_and_what_is_left() {
    let cases = [
        ("token_bucket, limit: 3/7s", 1, "q=3;w=7", "r=2;t=3"),
        ("fixed_window, limit: 50/hour", 1, "q=50;w=3600", "r=49;t=3600"),
        // The ten fade in the next hour, and the first of them a nanosecond after it has begun.
        ("sliding_window, limit: 50/hour", 10, "q=50;w=3600", "r=40;t=3601"),
        ("sliding_buckets, limit: 200/day", 1, "q=200;w=86400", "r=199;t=86460"),
        ("sliding_log, limit: 50/hour", 1, "q=50;w=3600", "r=49;t=3600"),
        ("calendar_day, limit: 1000", 1, "q=1000;w=86400", "r=999;t=43200"),
        ("calendar_month, limit: 1000", 1, "q=1000;w=2678400", "r=999;t=2289600"),
        ("billing_month, limit: 1000", 1, "q=1000;w=2678400", "r=999;t=2289600"),
        ("concurrency, limit: 5", 1, "q=5;qu=\"concurrent-requests\"", "r=4"),
    ];
    for (algorithm, cost, policy, state) in cases {
        let file = format!("tiers: {{t: {{limits: {{l: {{algorithm: {algorithm}}}}}}}}}");
        let (_, headers) = Caller::of(&file).ask(cost, NOW);
        assert_eq!(
            header(&headers, "RateLimit-Policy"),
            Some(format!("\"l\";{policy}").as_str()),
            "{algorithm}"
        );
        assert_eq!(header(&headers, "RateLimit"), Some(format!("\"l\";{state}").as_str()), "{algorithm}");
    }
}

/// Every algorithm, with numbers beyond what a structured field can hold, read back by a strict RFC 9651 parser.
#[test]
fn a_strict_parser_reads_every_algorithm() {
    let policy = "tiers: {all: {rate: 3/7s, concurrency: 5, quota: 9_007_199_254_740_991, limits: {
        fixed: {algorithm: fixed_window, limit: 50/hour}, two.counts: {algorithm: sliding_window, limit: 50/hour},
        day_buckets: {algorithm: sliding_buckets, limit: 200/day}, log-1: {algorithm: sliding_log, limit: 50/hour},
        today: {algorithm: calendar_day, limit: 1_000}}}}";
    let (_, headers) = Caller::of(policy).ask(1, NOW);
    let names = ["rate", "fixed", "two.counts", "day_buckets", "log-1", "concurrency", "quota", "today"];
    let policies = parsed(header(&headers, "RateLimit-Policy").unwrap());
    assert_eq!(policies.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), names);
    for (name, parameters) in &policies {
        let integer = |key: &str| parameters.iter().find(|(k, _)| k == key).map(|(_, v)| v.clone());
        assert!(integer("q").is_some_and(|q| q.as_integer().is_some_and(|q| i64::from(q) >= 1)), "{name}");
        match name.as_str() {
            "concurrency" => assert_eq!(integer("w").map(|_| ()), None),
            _ => assert!(
                integer("w").is_some_and(|w| w.as_integer().is_some_and(|w| i64::from(w) >= 1)),
                "{name}"
            ),
        }
    }
    let states = parsed(header(&headers, "RateLimit").unwrap());
    assert_eq!(states.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), names);
    assert!(states.iter().all(|(_, parameters)| parameters.iter().any(|(key, _)| key == "r")));
}

fn parsed(field: &str) -> Vec<(String, Vec<(String, BareItem)>)> {
    let list: sfv::List = Parser::new(field).parse().unwrap();
    let item = |entry: ListEntry| match entry {
        ListEntry::Item(item) => {
            let name = item.bare_item.as_string().unwrap().as_str().to_owned();
            (name, item.params.into_iter().map(|(key, value)| (key.as_str().to_owned(), value)).collect())
        }
        ListEntry::InnerList(list) => unreachable!("an inner list: {list:?}"),
    };
    list.into_iter().map(item).collect()
}
