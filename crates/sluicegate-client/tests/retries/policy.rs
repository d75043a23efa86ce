//! The strategy as a table: each wait to the millisecond, at both ends of its range.

use std::num::NonZeroU32;
use std::time::{Duration, SystemTime};

use http::{HeaderMap, Method, StatusCode};
use sluicegate_client::{ErrorKind, FailedAttempt, Idempotency, Reason, RetryDecision, RetryPolicy};

fn now() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000)
}

fn failures(count: u32) -> NonZeroU32 {
    NonZeroU32::new(count).unwrap()
}

fn headers(lines: &[(&'static str, &str)]) -> HeaderMap {
    lines.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
}

fn answered(status: u16, lines: &[(&'static str, &str)]) -> FailedAttempt {
    let status = StatusCode::from_u16(status).unwrap();
    FailedAttempt::response(Idempotency::Idempotent, status, &headers(lines), now())
}

fn wait_ms(next: RetryDecision) -> u128 {
    match next {
        RetryDecision::RetryAfter(wait) => wait.as_millis(),
        RetryDecision::GiveUp(reason) => panic!("given up: {reason}"),
    }
}

/// The waits after each of so many failures, at the lower end, in the middle and at the upper end.
fn waits(policy: &RetryPolicy, attempt: &FailedAttempt, count: u32) -> Vec<[u128; 3]> {
    let wait = |failed, random| wait_ms(policy.decide(failures(failed), attempt, random));
    (1..=count).map(|failed| [0, u64::MAX / 2, u64::MAX].map(|random| wait(failed, random))).collect()
}

#[test]
fn waits_double_from_100_ms_with_a_tenth_of_jitter_and_end_with_the_fifth_failure() {
    let policy = RetryPolicy::default();
    let attempt = answered(429, &[]);
    let table = [[90, 99, 110], [180, 199, 220], [360, 399, 440], [720, 799, 880]];
    assert_eq!(waits(&policy, &attempt, 4), table);
    let fifth = policy.decide(failures(5), &attempt, 0);
    assert_eq!(fifth, RetryDecision::GiveUp(Reason::Failures(failures(5))));
    assert_eq!(policy.decide(failures(6), &attempt, 0), RetryDecision::GiveUp(Reason::Failures(failures(6))));
}

#[test]
fn no_wait_is_longer_than_30_seconds_and_callers_stay_apart_there() {
    let policy = RetryPolicy::default().with_failures_max(NonZeroU32::MAX);
    let attempt = answered(429, &[]);
    let waits = waits(&policy, &attempt, 40);
    assert_eq!(waits[7], [11_520, 12_799, 14_080]);
    assert_eq!(waits[8], [23_040, 25_599, 28_160]);
    assert!(waits[9..].iter().all(|wait| *wait == [27_000, 29_999, 30_000]), "{waits:?}");
    let last = policy.decide(failures(u32::MAX - 1), &attempt, u64::MAX);
    assert_eq!(last, RetryDecision::RetryAfter(Duration::from_secs(30)));
}

#[test]
fn policies_of_any_size_give_waits_and_no_overflow() {
    let policy = RetryPolicy::default()
        .with_base(Duration::MAX)
        .with_cap(Duration::MAX)
        .with_patience(Duration::MAX)
        .with_failures_max(NonZeroU32::MAX);
    for random in [0, u64::MAX] {
        for count in [1, 2, 33, u32::MAX - 1] {
            let attempt = answered(429, &[("retry-after", "99999999999999999999999")]);
            assert!(matches!(policy.decide(failures(count), &attempt, random), RetryDecision::RetryAfter(_)));
        }
    }
}

#[test]
fn what_the_server_says_is_never_undercut() {
    let policy = RetryPolicy::default();
    let attempt = answered(429, &[("retry-after", "7")]);
    assert_eq!(waits(&policy, &attempt, 2), [[7_000, 7_004, 7_010], [7_000, 7_009, 7_020]]);
    // The longer of both: a server that is done sooner than the strategy waits changes nothing.
    assert_eq!(waits(&policy, &answered(429, &[("retry-after", "0")]), 1), [[90, 99, 110]]);
    // Beyond the cap as well.
    assert_eq!(waits(&policy, &answered(429, &[("retry-after", "45")]), 1), [[45_000, 45_004, 45_010]]);
}

#[test]
fn a_server_that_says_to_wait_for_too_long_is_told_from_one_that_failed_and_when_it_is_over_is_known() {
    let attempt = answered(429, &[("retry-after", "61")]);
    let given_up = RetryPolicy::default().decide(failures(1), &attempt, 0);
    let wait = Duration::from_secs(61);
    assert_eq!(given_up, RetryDecision::GiveUp(Reason::TooLong { wait, until: Some(now() + wait) }));
    assert_eq!(
        wait_ms(RetryPolicy::default().decide(failures(1), &answered(429, &[("retry-after", "60")]), 0)),
        60_000
    );
    let patient = RetryPolicy::default().with_patience(Duration::from_secs(61));
    assert_eq!(wait_ms(patient.decide(failures(1), &attempt, 0)), 61_000);
}

#[test]
fn only_answers_that_pass_by_themselves_are_tried_again() {
    let policy = RetryPolicy::default();
    for status in [429, 502, 504] {
        assert!(
            matches!(policy.decide(failures(1), &answered(status, &[]), 0), RetryDecision::RetryAfter(_)),
            "{status}"
        );
    }
    let waiting = answered(503, &[("retry-after", "1")]);
    assert_eq!(wait_ms(policy.decide(failures(1), &waiting, 0)), 1_000);
    let finals = (400..=428).chain(430..=501).chain([503, 505, 507, 511]);
    for status in finals {
        let next = policy.decide(failures(1), &answered(status, &[]), 0);
        assert_eq!(next, RetryDecision::GiveUp(Reason::Final(StatusCode::from_u16(status).unwrap())));
    }
}

#[test]
fn a_spent_quota_is_never_tried_again_whatever_its_headers_say() {
    let lines = [("retry-after", "1"), ("x-quota-remaining", "0"), ("x-quota-reset", "1800000001")];
    for status in [401, 402, 403, 422] {
        let next = RetryPolicy::default().decide(failures(1), &answered(status, &lines), 0);
        assert_eq!(next, RetryDecision::GiveUp(Reason::Final(StatusCode::from_u16(status).unwrap())));
    }
}

#[test]
fn a_request_that_must_not_be_done_twice_is_not_tried_again_without_a_name() {
    let named = headers(&[("idempotency-key", "order-1")]);
    let bare = HeaderMap::new();
    let empty = headers(&[("idempotency-key", "")]);
    for method in [Method::GET, Method::HEAD, Method::OPTIONS, Method::TRACE, Method::PUT, Method::DELETE] {
        assert_eq!(Idempotency::of(&method, &bare), Idempotency::Idempotent, "{method}");
    }
    for method in [Method::POST, Method::PATCH, Method::CONNECT, "BREW".parse().unwrap()] {
        assert_eq!(Idempotency::of(&method, &bare), Idempotency::NotIdempotent, "{method}");
        assert_eq!(Idempotency::of(&method, &empty), Idempotency::NotIdempotent, "{method}");
        assert_eq!(Idempotency::of(&method, &named), Idempotency::Idempotent, "{method}");
    }
    for status in [429, 502, 503, 504] {
        let attempt = FailedAttempt::response(
            Idempotency::NotIdempotent,
            StatusCode::from_u16(status).unwrap(),
            &headers(&[("retry-after", "1")]),
            now(),
        );
        let next = RetryPolicy::default().decide(failures(1), &attempt, 0);
        assert_eq!(next, RetryDecision::GiveUp(Reason::NotIdempotent), "{status}");
    }
}

#[test]
fn a_connection_that_never_was_is_tried_again_and_one_that_broke_is_not() {
    let policy = RetryPolicy::default();
    let attempt = FailedAttempt::error(Idempotency::Idempotent, ErrorKind::Connect, now());
    assert_eq!(waits(&policy, &attempt, 4)[3], [720, 799, 880]);
    let next = policy.decide(
        failures(1),
        &FailedAttempt::error(Idempotency::NotIdempotent, ErrorKind::Connect, now()),
        0,
    );
    assert_eq!(next, RetryDecision::GiveUp(Reason::NotIdempotent));
    let next = policy.decide(
        failures(1),
        &FailedAttempt::error(Idempotency::Idempotent, ErrorKind::ConnectionLost, now()),
        0,
    );
    assert_eq!(next, RetryDecision::GiveUp(Reason::ConnectionLost));
}
