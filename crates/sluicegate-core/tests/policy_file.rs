//! Policy files load, and mean what they say.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::num::NonZeroU64;

use sluicegate_core::calendar::CalendarUnit;
use sluicegate_core::file::{read, read_tier, render};
use sluicegate_core::limit::{Axis, Excess, OverageCap, Per, RefusalStatus};
use sluicegate_core::policy::{
    Bypass, Degraded, Document, ExportTarget, ForwardedHeader, Identity, LedgerSettings, Maxima, PerAddress,
    Pressure, ProxyProtocol, Responses, RouteIndex, ServerSettings, StoreSettings, Tier, TierLimit, TierName,
    Timeouts, TunnelSettings, UpstreamHost, UpstreamProtocol,
};
use sluicegate_core::rule::{Amount, Rule, TokenBucket};
use sluicegate_core::time::{Nanos, Window};

fn load(text: &str) -> Document {
    read(text.as_bytes()).unwrap_or_else(|problems| panic!("{}", render(&problems, "policy.yaml", text)))
}

fn tier<'d>(document: &'d Document, name: &str) -> &'d Tier {
    document.policy.tiers.get(name).unwrap()
}

fn bucket(tier: &Tier) -> TokenBucket {
    match &tier.limits[0].limit.rule {
        Rule::TokenBucket(bucket) => *bucket,
        other => panic!("not a bucket: {other:?}"),
    }
}

#[test]
fn the_tiers_of_seed_003_mean_what_they_say() {
    let document = load(include_str!("policies/seed-003.yaml"));
    let names: Vec<&str> = document.policy.tiers.iter().map(|tier| tier.name.as_str()).collect();
    assert_eq!(names, ["free", "pro", "enterprise"]);
    let free = tier(&document, "free");
    assert_eq!(bucket(free), TokenBucket::new(10, Window::SECOND, 20).unwrap());
    let quota = &free.limits[1].limit;
    assert_eq!((quota.axis, quota.per), (Axis::Quota, Per::Account));
    assert_eq!(quota.excess, Excess::Refuse(RefusalStatus::PaymentRequired));
    assert!(matches!(&quota.rule, Rule::Calendar { limit, .. } if limit.get() == 50_000));
    assert_eq!(bucket(tier(&document, "pro")).burst(), 300);
    let enterprise = tier(&document, "enterprise");
    assert_eq!(bucket(enterprise).burst(), 2_000);
    assert_eq!(enterprise.limits.len(), 1);
    assert_eq!(document.policy.tiers.smallest().unwrap().name.as_str(), "free");
}

#[test]
fn the_full_sample_means_what_it_says() {
    let document = load(include_str!("policies/full.yaml"));
    let Document { server, store, policy } = &document;
    assert_eq!(server.upstream.as_ref().unwrap().as_str(), "http://127.0.0.1:9000");
    assert!(server.proxies.trusted[0].contains("127.0.0.1".parse().unwrap()));
    assert_eq!(*store, StoreSettings::Embedded);

    assert_eq!(policy.identity.anonymous.as_ref().unwrap().as_str(), "free");
    assert_eq!(
        policy.identity,
        Identity { anonymous: policy.identity.anonymous.clone(), ..Identity::default() }
    );

    let free = tier(&document, "free");
    let names: Vec<&str> = free.limits.iter().map(|entry| entry.limit.name.as_str()).collect();
    assert_eq!(names, ["rate", "conversions", "concurrency", "quota"]);
    let conversions = &free.limits[1];
    assert_eq!((conversions.limit.per, conversions.limit.axis), (Per::Client, Axis::Rate));
    assert!(
        matches!(&conversions.limit.rule, Rule::SlidingWindow(w) if w.limit.get() == 3 && w.window == Window::DAY)
    );
    assert_eq!(conversions.routes, [RouteIndex(0)]);
    assert_eq!(tier(&document, "internal").bypass, Bypass::Yes);

    let (_, search) = policy.routes.find("GET", "/api/search/a/b").unwrap();
    assert_eq!((search.name.as_str(), search.cost), ("search", 5));
    let (_, convert) = policy.routes.find("POST", "/api/convert").unwrap();
    assert_eq!(convert.scope.as_deref(), Some("convert:write"));

    assert_eq!(policy.edge.unwrap().bucket, TokenBucket::new(50, Window::SECOND, 100).unwrap());
    assert_eq!((policy.reputation.unwrap().penalty, policy.reputation.unwrap().recover), (5, 1));
    assert_eq!(policy.blocks.unwrap().max, Nanos::from_secs(3_600));
    assert_eq!(policy.pressure.unwrap().squeeze_to.get(), 50);
    assert_eq!(policy.degraded, Degraded::default());
    assert_eq!(policy.responses, Responses::default());
    assert_eq!(policy.ledger.retain, LedgerSettings::default().retain);
    assert_eq!(policy.ledger.export, Some(ExportTarget::Directory("/var/lib/sluicegate/export".into())));
}

#[test]
fn sections_that_are_absent_have_their_defaults() {
    let document = load("tiers: {free: {rate: 10}}");
    let policy = &document.policy;
    assert_eq!(document.server, ServerSettings::default());
    assert_eq!(document.server.gateway.to_string(), "127.0.0.1:8080");
    assert_eq!(policy.identity, Identity::default());
    assert_eq!(policy.degraded.cap.get(), 40);
    assert_eq!((policy.edge, policy.reputation, policy.blocks, policy.pressure), (None, None, None, None));
    assert_eq!(policy.shedding, None);
    assert_eq!(policy.responses.headers.len(), 4);
}

#[test]
fn pressure_is_on_where_callers_without_a_key_are_let_in() {
    let pressure = |more: &str| load(&format!("tiers: {{free: {{rate: 10}}}}\n{more}")).policy.pressure;
    assert_eq!(pressure(""), None);
    let on = pressure("identity: {anonymous: free}").unwrap();
    assert_eq!(on, Pressure::default());
    assert_eq!((on.fingerprints, on.window.as_secs(), on.share.get()), (20, 600, 5));
    assert_eq!((on.squeeze_to.get(), on.length), (50, Nanos::from_secs(3_600)));
    assert_eq!(pressure("identity: {anonymous: free}\npressure: off"), None);
    // A front end may put callers into a tier where no tier is anonymous.
    assert_eq!(pressure("pressure: {}"), Some(Pressure::default()));
    assert_eq!(pressure("pressure: {share: 7}").unwrap().share.get(), 7);
}

#[test]
fn clients_are_told_apart_by_as_much_of_their_address_as_the_policy_says() {
    let identity = |more: &str| load(&format!("tiers: {{free: {{rate: 10}}}}\n{more}")).policy.identity;
    let bits = |more: &str| (identity(more).address.v4(), identity(more).address.v6());
    assert_eq!(bits(""), (32, 64));
    assert_eq!(bits("identity: {address: {v4: 24}}"), (24, 64));
    assert_eq!(bits("identity: {address: {v4: 24, v6: 48}}"), (24, 48));
    let per_address = |more: &str| {
        let rule = identity(more).session_cookie.per_address;
        (rule.limit.get(), rule.window)
    };
    assert_eq!(per_address(""), (20, Window::HOUR));
    assert_eq!(per_address("identity: {session_cookie: {per_address: 200/day}}"), (200, Window::DAY));
}

#[test]
fn a_server_says_what_it_allows() {
    let document = load(
        "tiers: {free: {rate: 10}}
server:
  upstream_protocol: http2
  upstream_host: upstream
  trusted_proxies: [10.0.0.0/8]
  forwarded: forwarded
  proxy_protocol: true
  upstream_connections: 7
  min_body_rate: 8_000
  tunnels: {idle: 9s, max_age: 10h, cost_per_minute: 11, cost_per_mib: 12}
  timeouts: {connect: 1s, read: 2m, idle: 3s, stream_idle: 6s, request: 7s, keep_alive: 4s, header: 5s}
  max: {body: 1_000, headers: 2_000, header_count: 3, uri: 4, connections: 5, clients: 6, per_address: {requests: 7}}
  pass_headers: [X-HTTP-Method-Override]
",
    );
    let server = &document.server;
    assert_eq!(server.upstream_protocol, UpstreamProtocol::Http2);
    assert_eq!(server.upstream_host, UpstreamHost::Upstream);
    assert_eq!(server.proxies.header, ForwardedHeader::Forwarded);
    assert_eq!(server.proxy_protocol, ProxyProtocol::Required);
    let Timeouts { connect, read, idle, stream_idle, request, keep_alive, header } = server.timeouts;
    assert_eq!([connect, read, idle, keep_alive, header].map(|wait| wait.as_secs()), [1, 120, 3, 4, 5]);
    assert_eq!((stream_idle.as_secs(), request.map(|wait| wait.as_secs())), (6, Some(7)));
    assert_eq!((server.upstream_connections, server.min_body_rate.map(NonZeroU64::get)), (7, Some(8_000)));
    let TunnelSettings { idle, max_age, cost_per_minute, cost_per_mib } = server.tunnels;
    assert_eq!((idle.as_secs(), max_age.map(|age| age.as_secs())), (9, Some(36_000)));
    assert_eq!((cost_per_minute.map(Amount::get), cost_per_mib.map(Amount::get)), (Some(11), Some(12)));
    let per_address = PerAddress { connections: 1, requests: 7, handshakes: 1 };
    let max = Maxima {
        body: 1_000,
        headers: 2_000,
        header_count: 3,
        uri: 4,
        connections: 5,
        clients: 6,
        per_address,
    };
    assert_eq!(server.max, max);
    let removed = ["x-http-method-override", "x-original-url", "x-api-key"];
    assert_eq!(removed.map(|name| server.pass_headers.removes(name)), [false, true, false]);
}

#[test]
fn what_a_server_does_not_say_has_its_default() {
    let document = load("{server: {timeouts: {read: 1s}, max: {uri: 9}}, tiers: {free: {rate: 10}}}");
    let Timeouts { connect, keep_alive, .. } = document.server.timeouts;
    assert_eq!((connect, keep_alive), (Timeouts::CONNECT_DEFAULT, Timeouts::KEEP_ALIVE_DEFAULT));
    assert_eq!(document.server.max, Maxima { uri: 9, ..Maxima::default() });
    assert_eq!((document.server.timeouts.request, document.server.min_body_rate), (None, None));
    assert_eq!(document.server.tunnels, TunnelSettings::default());
}

/// The only limit of a tier with this body, in a file with the routes `a` and `b`.
fn only_limit(body: &str) -> TierLimit {
    let text = format!("routes: {{a: {{match: /a}}, b: {{match: /b}}}}\ntiers: {{t: {body}}}");
    let document = load(&text);
    let limits = &tier(&document, "t").limits;
    assert_eq!(limits.len(), 1, "{body}");
    limits[0].clone()
}

#[test]
fn rates_are_amounts_per_time() {
    let pairs = [
        ("{rate: 10}", (10, 1, 10)),
        ("{rate: 100/minute}", (100, 60, 100)),
        ("{rate: 5/10s}", (5, 10, 5)),
        ("{rate: '1000/h'}", (1_000, 3_600, 1_000)),
        ("{rate: 1_000 / day, burst: 3}", (1_000, 86_400, 3)),
        ("{rate: 7, burst_multiplier: 1.5}", (7, 1, 10)),
        ("{rate: 1, burst_multiplier: 0.5}", (1, 1, 1)),
        ("{limits: {x: {algorithm: token_bucket, limit: 3/week}}}", (3, 604_800, 3)),
        ("{limits: {x: {algorithm: token_bucket, limit: 3/s, burst: 9}}}", (3, 1, 9)),
    ];
    for (body, (amount, secs, burst)) in pairs {
        let limit = only_limit(body).limit;
        assert_eq!((limit.axis, limit.per), (Axis::Rate, Per::Key), "{body}");
        let expected = TokenBucket::new(amount, Window::from_secs(secs).unwrap(), burst).unwrap();
        assert_eq!(limit.rule, Rule::TokenBucket(expected), "{body}");
    }
}

#[test]
fn quotas_have_a_window_a_pool_and_an_end() {
    let blocked = Excess::Refuse(RefusalStatus::PaymentRequired);
    let pairs = [
        ("{quota: 5}", Per::Account, blocked),
        ("{quota: 5, quota_pool: key}", Per::Key, blocked),
        ("{quota: 5, quota_status: 429}", Per::Account, Excess::Refuse(RefusalStatus::TooManyRequests)),
        ("{quota: 5, quota_status: 403}", Per::Account, Excess::Refuse(RefusalStatus::Forbidden)),
        ("{quota: 5, on_quota_exceeded: bill_overage}", Per::Account, Excess::BillOverage),
        (
            "{quota: 5, on_quota_exceeded: bill_overage, overage_cap: 10_000, quota_status: 429}",
            Per::Account,
            Excess::BillUpTo(OverageCap {
                amount: Amount::new(10_000).unwrap(),
                status: RefusalStatus::TooManyRequests,
            }),
        ),
    ];
    for (body, per, excess) in pairs {
        let limit = only_limit(body).limit;
        assert_eq!((limit.axis, limit.per, limit.excess), (Axis::Quota, per, excess), "{body}");
    }
    let units = [
        ("calendar_month", CalendarUnit::Month),
        ("billing_month", CalendarUnit::BillingMonth),
        ("calendar_day", CalendarUnit::Day),
    ];
    for (word, unit) in units {
        let limit = only_limit(&format!("{{quota: 5, quota_window: {word}}}")).limit;
        assert!(matches!(&limit.rule, Rule::Calendar { calendar, .. } if calendar.unit() == unit), "{word}");
    }
    for (word, secs) in [("sliding_day", 86_400), ("sliding:12h", 43_200), ("'sliding: 1h30m'", 5_400)] {
        let limit = only_limit(&format!("{{quota: 5, quota_window: {word}}}")).limit;
        assert!(matches!(&limit.rule, Rule::SlidingBuckets(w) if w.window.as_secs() == secs), "{word}");
        let exact = format!("{{quota: 5, quota_window: {word}, quota_algorithm: sliding_log}}");
        let limit = only_limit(&exact).limit;
        assert!(matches!(&limit.rule, Rule::SlidingLog(w) if w.window.as_secs() == secs), "{word}");
        assert_eq!((limit.axis, limit.per, limit.log_bytes_max()), (Axis::Quota, Per::Account, Some(80)));
    }
}

#[test]
fn further_limits_default_by_their_axis() {
    let refused = |status| Excess::Refuse(status);
    let (wait, pay) = (RefusalStatus::TooManyRequests, RefusalStatus::PaymentRequired);
    let pairs = [
        ("algorithm: fixed_window, limit: 3/day", Axis::Rate, Per::Key, refused(wait)),
        ("algorithm: sliding_log, limit: 3/day, axis: quota", Axis::Quota, Per::Account, refused(pay)),
        ("algorithm: calendar_day, limit: 3", Axis::Quota, Per::Account, refused(pay)),
        ("algorithm: calendar_day, limit: 3, axis: rate", Axis::Rate, Per::Key, refused(wait)),
        ("algorithm: calendar_month, limit: 3, per: client", Axis::Quota, Per::Client, refused(pay)),
        (
            "algorithm: billing_month, limit: 3, on_exceeded: bill_overage",
            Axis::Quota,
            Per::Account,
            Excess::BillOverage,
        ),
        (
            "algorithm: sliding_buckets, limit: 3/day, status: 403",
            Axis::Rate,
            Per::Key,
            refused(RefusalStatus::Forbidden),
        ),
        ("algorithm: concurrency, limit: 3", Axis::Concurrency, Per::Account, refused(wait)),
    ];
    for (body, axis, per, excess) in pairs {
        let limit = only_limit(&format!("{{limits: {{x: {{{body}}}}}}}")).limit;
        assert_eq!((limit.axis, limit.per, limit.excess), (axis, per, excess), "{body}");
    }
    let lease = |body: &str| match only_limit(&format!("{{limits: {{x: {{{body}}}}}}}")).limit.rule {
        Rule::Concurrency { lease, .. } => lease,
        other => panic!("not concurrency: {other:?}"),
    };
    assert_eq!(lease("algorithm: concurrency, limit: 3"), Nanos::from_secs(60));
    assert_eq!(lease("algorithm: concurrency, limit: 3, lease: 5m"), Nanos::from_secs(300));
}

#[test]
fn limits_count_the_routes_they_name_in_the_order_of_the_file() {
    let limit = only_limit("{limits: {x: {algorithm: fixed_window, limit: 3/day, routes: [b, a]}}}");
    assert_eq!(limit.routes, [RouteIndex(0), RouteIndex(1)]);
}

#[test]
fn limits_are_asked_rate_first_and_quota_last() {
    let document = load(
        "tiers:\n  t:\n    quota: 9\n    concurrency: 2\n    limits:\n      \
         day: {algorithm: calendar_day, limit: 3}\n      \
         burst: {algorithm: fixed_window, limit: 3/s}\n      slots: {algorithm: concurrency, limit: 4}\n    rate: 1\n",
    );
    let names: Vec<&str> =
        tier(&document, "t").limits.iter().map(|entry| entry.limit.name.as_str()).collect();
    assert_eq!(names, ["rate", "burst", "concurrency", "slots", "quota", "day"]);
}

#[test]
fn the_smallest_tier_has_the_lowest_rate_then_the_lowest_quota() {
    let smallest = |tiers: &str| {
        let document = load(&format!("tiers: {{{tiers}}}"));
        document.policy.tiers.smallest().map(|tier| tier.name.as_str().to_owned())
    };
    let pairs = [
        ("a: {rate: 2}, b: {rate: 100/minute}", Some("b")),
        ("a: {rate: 60/minute}, b: {rate: 1}", Some("a")),
        ("a: {quota: null}, b: {rate: 1_000_000}", Some("b")),
        ("a: {rate: 1, quota: 10}, b: {rate: 1, quota: 9}, c: {rate: 1}", Some("b")),
        ("a: {rate: 5}, b: {bypass: true}, 'custom:x': {rate: 1}", Some("a")),
        ("a: {rate: 1, quota: 5, on_quota_exceeded: bill_overage}, b: {rate: 1, quota: 9}", Some("b")),
        ("a: {bypass: true}", None),
    ];
    for (tiers, name) in pairs {
        assert_eq!(smallest(tiers).as_deref(), name, "{tiers}");
    }
}

#[test]
fn anchors_byte_order_marks_and_carriage_returns_are_read() {
    let document = load("\u{feff}tiers:\r\n  a: &plan\r\n    rate: 50_000\r\n  b: *plan\r\n");
    assert_eq!(tier(&document, "a").limits, tier(&document, "b").limits);
    assert_eq!(bucket(tier(&document, "b")).amount(), 50_000);
}

#[test]
fn a_single_tier_can_be_read_against_the_routes_of_a_policy() {
    let routes = load(include_str!("policies/full.yaml")).policy.routes;
    let name = TierName::new("custom:acme").unwrap();
    let body = br#"{"rate": "5/s", "limits": {
        "x": {"algorithm": "fixed_window", "limit": "3/day", "routes": ["search"]}}}"#;
    let tier = read_tier(body, &name, &routes).unwrap();
    assert_eq!(tier.name, name);
    assert_eq!(tier.limits[1].routes, [RouteIndex(1)]);
    let problems = read_tier(b"{rate: 0}", &name, &routes).unwrap_err();
    assert_eq!(problems.len(), 1);
}

#[test]
fn descriptors_in_both_forms_mean_the_same() {
    let limit = |form: &str| {
        let text = format!("tiers: {{a: {{rate: 1}}}}\ndescriptors: {{edge: [{{key: path, {form}}}]}}");
        let policy = load(&text).policy;
        policy.descriptors.find("edge", [("path", "/")]).cloned()
    };
    let ours = limit("limit: 100/minute").unwrap();
    assert_eq!(limit("rate_limit: {unit: minute, requests_per_unit: 100}"), Some(ours.clone()));
    assert_eq!(ours.name.as_str(), "descriptor");
    let month = limit("rate_limit: {unit: month, requests_per_unit: 1}");
    assert_eq!(month, limit("limit: 1/30d"));
    assert_eq!(limit("rate_limit: {unlimited: true}").map(|limit| limit.rule), Some(None));
}
