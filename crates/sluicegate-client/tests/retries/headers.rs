//! What answers say of their limits, in every family, and whatever else may stand there.

use std::num::NonZeroU32;
use std::time::{Duration, SystemTime};

use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use proptest::prelude::*;
use sluicegate_client::limits::{HeaderTime, Limits, Mode};
use sluicegate_client::{FailedAttempt, Idempotency, RetryDecision, RetryPolicy};

fn at(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
}

const fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn limits(lines: &[(&'static str, &str)]) -> Limits {
    let mut headers = HeaderMap::new();
    for (name, value) in lines {
        headers.append(*name, HeaderValue::from_str(value).unwrap());
    }
    Limits::from_headers(&headers)
}

/// As Sluicegate writes them.
const ALL: [(&str, &str); 14] = [
    (
        "ratelimit-policy",
        "\"rate\";q=300;w=3, \"quota\";q=5000000;w=2678400, \"slots\";q=5;qu=\"concurrent-requests\"",
    ),
    ("ratelimit", "\"rate\";r=299;t=1, \"quota\";r=4999999;t=2289600, \"slots\";r=4"),
    ("ratelimit-limit", "100"),
    ("ratelimit-remaining", "299"),
    ("ratelimit-reset", "1"),
    ("x-ratelimit-limit", "100"),
    ("x-ratelimit-remaining", "299"),
    ("x-ratelimit-reset", "1791201601"),
    ("x-quota-limit", "5000000"),
    ("x-quota-used", "1"),
    ("x-quota-remaining", "4999999"),
    ("x-quota-reset", "1793491200"),
    ("x-quota-overage", "3"),
    ("x-sluicegate-mode", "degraded"),
];

#[test]
fn every_family_is_read() {
    let limits = limits(&ALL);
    let policies: Vec<_> = limits
        .policies
        .iter()
        .map(|it| (it.name.as_str(), it.quota, it.window, it.unit.as_deref()))
        .collect();
    assert_eq!(
        policies,
        [
            ("rate", 300, Some(secs(3)), None),
            ("quota", 5_000_000, Some(secs(2_678_400)), None),
            ("slots", 5, None, Some("concurrent-requests"))
        ]
    );
    let states: Vec<_> = limits.states.iter().map(|it| (it.name.as_str(), it.remaining, it.next)).collect();
    assert_eq!(
        states,
        [("rate", 299, Some(secs(1))), ("quota", 4_999_999, Some(secs(2_289_600))), ("slots", 4, None)]
    );
    let rate = limits.rate.unwrap();
    assert_eq!(
        (rate.limit, rate.remaining, rate.reset),
        (Some(100), Some(299), Some(HeaderTime::After(secs(1))))
    );
    assert_eq!(limits.x_rate.unwrap().reset, Some(HeaderTime::At(at(1_791_201_601))));
    let quota = limits.quota.unwrap();
    assert_eq!((quota.limit, quota.used, quota.remaining), (Some(5_000_000), Some(1), Some(4_999_999)));
    assert_eq!((quota.reset, quota.overage), (Some(HeaderTime::At(at(1_793_491_200))), Some(3)));
    assert_eq!(limits.mode, Mode::Degraded);
    assert_eq!(limits.wait(at(1_791_201_600)), None, "nothing is spent");
}

#[test]
fn retry_after_is_seconds_or_a_date_and_comes_before_all_else() {
    let now = at(784_111_777);
    assert_eq!(limits(&[("retry-after", " 120 ")]).wait(now), Some(secs(120)));
    let date = ("retry-after", "Sun, 06 Nov 1994 08:49:47 GMT");
    assert_eq!(limits(&[date]).wait(now), Some(secs(10)));
    assert_eq!(limits(&[("retry-after", "Sun, 06 Nov 1994 08:49:07 GMT")]).wait(now), Some(secs(0)));
    assert_eq!(limits(&[("retry-after", "2"), ("retry-after", "5")]).wait(now), Some(secs(5)));
    assert_eq!(limits(&[("retry-after", "2"), ("ratelimit", "\"rate\";r=0;t=90")]).wait(now), Some(secs(2)));
    for nothing in ["", "soon", "-1", "1.5", "0x10", "１"] {
        assert_eq!(limits(&[("retry-after", nothing)]).wait(now), None, "{nothing}");
    }
    let far = limits(&[("retry-after", "99999999999999999999")]);
    assert_eq!(far.wait(now), Some(secs(u64::MAX)));
}

#[test]
fn the_servers_own_clock_is_the_one_its_dates_are_about() {
    let lines = [("retry-after", "Sun, 06 Nov 1994 08:49:47 GMT"), ("date", "Sun, 06 Nov 1994 08:49:37 GMT")];
    for now in [at(0), at(784_111_777), at(2_000_000_000)] {
        assert_eq!(limits(&lines).wait(now), Some(secs(10)));
    }
}

#[test]
fn without_retry_after_the_last_of_what_is_spent_counts() {
    let now = at(1_800_000_000);
    let structured = ("ratelimit", "\"rate\";r=0;t=3, \"burst\";r=0;t=1, \"quota\";r=7;t=2289600");
    assert_eq!(limits(&[structured]).wait(now), Some(secs(3)));
    assert_eq!(limits(&[("ratelimit-remaining", "0"), ("ratelimit-reset", "9")]).wait(now), Some(secs(9)));
    assert_eq!(limits(&[("ratelimit-remaining", "1"), ("ratelimit-reset", "9")]).wait(now), None);
    let x_rate = [("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "1800000012")];
    assert_eq!(limits(&x_rate).wait(now), Some(secs(12)));
    let quota = [("x-quota-remaining", "0"), ("x-quota-reset", "Fri, 15 Jan 2027 08:00:40 GMT")];
    assert_eq!(limits(&quota).wait(now), Some(secs(40)));
    assert_eq!(limits(&[structured, x_rate[0], x_rate[1], quota[0], quota[1]]).wait(now), Some(secs(40)));
    // A limit of which only this is said.
    assert_eq!(limits(&[("x-ratelimit-reset", "5")]).wait(now), Some(secs(5)));
}

#[test]
fn a_list_over_several_lines_is_one_list_and_a_malformed_one_is_none() {
    let two = limits(&[("ratelimit", "\"a\";r=0;t=1"), ("ratelimit", "b;r=0;t=2")]);
    assert_eq!(two.states.iter().map(|state| state.name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    for malformed in
        ["\"a;r=0", "limit=10, remaining=0", "\"a\";r=-1", "\"a\";r=\"0\"", "5;r=0", "(\"a\");r=0", "\"a\""]
    {
        assert_eq!(limits(&[("ratelimit", malformed)]).states, [], "{malformed}");
    }
    assert_eq!(limits(&[("ratelimit-limit", "100, 100;w=60")]).rate.unwrap().limit, Some(100));
}

const NAMES: [&str; 16] = [
    "retry-after",
    "date",
    "ratelimit-policy",
    "ratelimit",
    "ratelimit-limit",
    "ratelimit-remaining",
    "ratelimit-reset",
    "x-ratelimit-limit",
    "x-ratelimit-remaining",
    "x-ratelimit-reset",
    "x-quota-limit",
    "x-quota-used",
    "x-quota-remaining",
    "x-quota-reset",
    "x-quota-overage",
    "x-sluicegate-mode",
];

/// Anything, and what looks as if it were meant.
fn value() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..40),
        "[0-9]{0,30}".prop_map(String::into_bytes),
        "(\"[a-z]{0,3}\"(;[qwrt]=-?[0-9]{0,18}){0,4},? ?){0,4}".prop_map(String::into_bytes),
        "(Sun|Mon), [0-9]{2} Nov [0-9]{4} [0-9]{2}:[0-9]{2}:[0-9]{2} GMT".prop_map(String::into_bytes),
    ]
}

fn any_headers() -> impl Strategy<Value = HeaderMap> {
    prop::collection::vec((prop::sample::select(NAMES.to_vec()), value()), 0..12).prop_map(|lines| {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            if let Ok(value) = HeaderValue::from_bytes(&value) {
                headers.append(HeaderName::from_static(name), value);
            }
        }
        headers
    })
}

proptest! {
    #[test]
    fn no_headers_make_a_policy_panic_or_wait_less_than_they_say(
        headers in any_headers(),
        now in any::<u32>(),
        random in any::<u64>(),
        failed in 1_u32..8,
    ) {
        let now = at(now.into());
        let told = Limits::from_headers(&headers).wait(now);
        let attempt = FailedAttempt::response(Idempotency::Idempotent, StatusCode::TOO_MANY_REQUESTS, &headers, now);
        let next = RetryPolicy::default().decide(NonZeroU32::new(failed).unwrap(), &attempt, random);
        match next {
            RetryDecision::RetryAfter(wait) => {
                let told = told.unwrap_or_default();
                prop_assert!(wait >= told && failed < 5 && told <= secs(60));
                prop_assert!(wait <= told.max(secs(30)) + secs(3));
            }
            RetryDecision::GiveUp(_) => prop_assert!(failed >= 5 || told > Some(secs(60))),
        }
    }
}
