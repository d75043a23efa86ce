//! One table of expectations for both ways.

use crate::side::{Answered, Side, Way, answered};

const POLICY: &str = "
tiers:
  small: {rate: 10, burst: 2, quota: 50}
  spent: {rate: 100, burst: 100, quota: 1}
  late: {rate: 100, burst: 100, quota: 1, quota_status: 429}
  over: {rate: 100, burst: 100, quota: 1, on_quota_exceeded: bill_overage}
  single: {rate: 100, burst: 100, concurrency: 1}
  kind: {rate: 100, burst: 100, quota: 5, refund_on: 5xx}
routes:
  dear: {match: 'GET /dear', cost: 9}
  closed: {match: 'GET /closed', scope: 'closed:read'}
  named: {match: 'POST /**', repeats: free}
";

const KEY: (&str, &str) = ("x-api-key", "<key>");

/// Requests of an account in a tier, and what each of them is answered with.
struct Row {
    tier: &'static str,
    requests: &'static [(&'static str, &'static [(&'static str, &'static str)])],
    expected: &'static [(u16, &'static str)],
}

const ROWS: [Row; 12] = [
    Row {
        tier: "small",
        requests: &[("GET /", &[KEY]), ("GET /", &[("authorization", "Bearer <key>")]), ("GET /", &[KEY])],
        expected: &[(200, ""), (200, ""), (429, "rate_limited")],
    },
    Row {
        tier: "spent",
        requests: &[("POST /a?b", &[KEY]), ("GET /", &[KEY])],
        expected: &[(200, ""), (402, "quota_exceeded")],
    },
    Row {
        tier: "late",
        requests: &[("GET /", &[KEY]), ("GET /", &[KEY])],
        expected: &[(200, ""), (429, "quota_exceeded")],
    },
    Row {
        tier: "over",
        requests: &[("GET /", &[KEY]), ("GET /", &[KEY])],
        expected: &[(200, ""), (200, "")],
    },
    Row { tier: "small", requests: &[("GET /", &[])], expected: &[(401, "missing_key")] },
    Row {
        tier: "small",
        requests: &[("GET /", &[("x-api-key", "sg_live_nobody")]), ("GET /", &[("x-service-token", "t")])],
        expected: &[(403, "invalid_key"), (403, "invalid_key")],
    },
    Row { tier: "small", requests: &[("GET /closed", &[KEY])], expected: &[(403, "insufficient_scope")] },
    Row { tier: "small", requests: &[("GET /dear", &[KEY])], expected: &[(400, "cost_exceeds_limit")] },
    Row {
        tier: "small",
        requests: &[("GET /", &[KEY, ("authorization", "Bearer other")])],
        expected: &[(400, "ambiguous_key")],
    },
    Row {
        tier: "spent",
        requests: &[
            ("POST /a", &[KEY, ("idempotency-key", "n")]),
            ("POST /a", &[KEY, ("idempotency-key", "\"n\"")]),
            ("POST /b", &[KEY, ("idempotency-key", "n")]),
        ],
        expected: &[(200, ""), (200, ""), (422, "idempotency_conflict")],
    },
    Row {
        tier: "small",
        requests: &[("POST /a", &[KEY, ("idempotency-key", "\"")])],
        expected: &[(400, "invalid_idempotency_key")],
    },
    Row {
        tier: "small",
        requests: &[("GET /", &[KEY, ("x-sluicegate-account", "root")])],
        expected: &[(200, "")],
    },
];

#[tokio::test]
async fn both_ways_answer_every_row_alike() {
    for row in ROWS {
        let embedded = Side::new(Way::Embedded, POLICY, row.tier).await;
        let remote = Side::new(Way::Remote, POLICY, row.tier).await;
        for ((line, headers), expected) in row.requests.iter().zip(row.expected) {
            let one = embedded.send(line, headers).await;
            let other = remote.send(line, headers).await;
            assert_eq!((one.status, error_of(&one).as_str()), *expected, "{line} {headers:?}");
            assert_eq!(as_far_as_known(one), as_far_as_known(other), "{line} {headers:?}");
        }
    }
}

/// What is wrong with a request by itself is not asked about elsewhere: who calls is not known then.
fn as_far_as_known(mut answer: Answered) -> Answered {
    answer.body = without_finisher(&answer.body);
    let error = error_of(&answer);
    if matches!(error.as_str(), "ambiguous_key" | "invalid_idempotency_key") {
        answer.headers.retain(|(name, _)| !name.contains("ratelimit") && !name.contains("x-quota"));
        let at = answer.body.find(",\"tier\":").unwrap();
        answer.body.truncate(at);
    }
    answer
}

/// Nothing here takes this long unless it is stuck.
const STUCK: std::time::Duration = std::time::Duration::from_secs(20);

fn error_of(answer: &Answered) -> String {
    match serde_json::from_str::<serde_json::Value>(&answer.body) {
        Ok(problem) => problem["error"].as_str().unwrap_or_default().to_owned(),
        Err(_) => String::new(),
    }
}

#[tokio::test]
async fn a_slot_is_held_until_the_last_byte_of_the_answer() {
    for way in [Way::Embedded, Way::Remote] {
        let side = Side::new(way, POLICY, "single").await;
        let first = side.begin("GET /", &[KEY]).await;
        let refused = side.send("GET /", &[KEY]).await;
        assert_eq!((refused.status, error_of(&refused).as_str()), (429, "concurrency_limited"), "{way:?}");
        assert_eq!(answered(first).await.status, 200);
        // Elsewhere it is heard of a moment later.
        let again = async {
            while side.send("GET /", &[KEY]).await.status != 200 {
                assert_eq!(way, Way::Remote);
            }
        };
        tokio::time::timeout(STUCK, again).await.unwrap();
    }
}

/// A decision says by the first digit of its count who finishes the request: the process here, the service there.
fn without_finisher(body: &str) -> String {
    const COUNT_AT: usize = "dec_".len() + 18;
    let mut parts = body.split("dec_");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        let mut id = format!("dec_{part}");
        id.replace_range(COUNT_AT..=COUNT_AT, "0");
        text + &id
    })
}
