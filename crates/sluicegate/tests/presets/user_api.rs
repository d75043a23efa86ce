//! `user-api.yaml`: so many per second, per minute and at the same time; headers on every answer; a client that tries
//! again.

use std::io::Write as _;
use std::sync::{Mutex, mpsc};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use serde_json::json;
use sluicegate_client::decision::{Caller as Who, Check, Decision, DecisionClient, Finish};
use sluicegate_client::{Limits, RetryLayer, RetryPolicy};
use sluicegate_testkit::http::{Answer, Asked, Caller};
use sluicegate_testkit::upstream::Upstream;
use tower_layer::Layer as _;
use tower_service::Service as _;

use crate::bed::Bed;
use crate::spend::preset;

/// Tier, requests per minute, per second, and at the same time.
const TABLE: [(&str, u64, u64, usize); 3] =
    [("standard", 100, 20, 5), ("premium", 300, 50, 15), ("enterprise", 1_000, 100, 50)];

fn bed() -> Bed {
    Bed::start(&preset("user-api.yaml"))
}

fn get(key: &str) -> Asked {
    Asked::get("/").header("Authorization", &format!("Bearer {key}"))
}

fn client(bed: &Bed) -> DecisionClient {
    DecisionClient::new(&format!("http://{}", bed.server.decision()))
        .unwrap()
        .with_timeout(Duration::from_secs(30))
}

/// What one limit has left.
fn left(decision: &Decision, name: &str) -> u64 {
    decision.limits.iter().find(|limit| limit.name == name).unwrap().remaining
}

/// The three headers, on whatever was answered.
#[track_caller]
fn has_headers(answer: &Answer, limit: u64) {
    let names = ["X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"];
    let [shown, remaining, reset] = names.map(|name| answer.number(name));
    assert_eq!(shown, Some(limit), "{answer:?}");
    assert!(
        remaining.is_some_and(|it| it <= limit) && reset.is_some_and(|it| it > 1_700_000_000),
        "{answer:?}"
    );
}

#[tokio::test]
async fn no_more_than_its_number_passes_in_a_second() {
    let bed = bed();
    let client = client(&bed);
    for (tier, _, second, _) in TABLE {
        let check = |key: &str, cost| Check::of(Who::key(key)).cost(cost);
        let key = bed.customer(tier, tier);
        // A batch is decided at one instant.
        let checks = [check(&key, second + 1), check(&key, second), check(&key, 1)];
        let answers = client.check_batch(&checks).await.unwrap();
        assert_eq!(answers[0].error.as_deref(), Some("cost_exceeds_limit"), "{tier}: {answers:?}");
        assert!(answers[1].allowed && left(&answers[1], "second") == 0, "{tier}: {answers:?}");
        assert_eq!(answers[2].error.as_deref(), Some("rate_limited"), "{tier}: {answers:?}");
        assert_eq!(answers[2].retry_after(), Some(Duration::from_secs(1)), "{tier}: {answers:?}");
    }
}

#[tokio::test]
async fn no_more_than_its_number_passes_in_a_minute_however_it_is_spread() {
    let bed = bed();
    let client = client(&bed);
    let key = bed.customer("ada", "standard");
    for number in 1..=5 {
        let decision = loop {
            let decision = client.check(Check::of(Who::key(&key)).cost(20)).await.unwrap();
            match decision.retry_after() {
                Some(wait) => tokio::time::sleep(wait).await,
                None => break decision,
            }
        };
        assert_eq!(left(&decision, "minute"), 100 - 20 * number, "{decision:?}");
        client.finish(Finish::of(decision.permit.unwrap())).await.unwrap();
    }
    // The bucket has tokens again, and soon the second has room again. The minute has none.
    let a_second_later = async {
        loop {
            let peeked = client.peek(Check::of(Who::key(&key))).await.unwrap();
            if left(&peeked, "second") == 20 {
                break peeked;
            }
        }
    };
    let refused = tokio::time::timeout(Duration::from_secs(30), a_second_later).await.unwrap();
    assert_eq!(
        (refused.status.as_u16(), refused.error.as_deref()),
        (429, Some("rate_limited")),
        "{refused:?}"
    );
    assert!(left(&refused, "rate") > 0 && left(&refused, "second") == 20 && left(&refused, "minute") == 0);
    let wait = refused.retry_after().unwrap();
    assert!(wait > Duration::from_secs(10) && wait < Duration::from_secs(60), "{wait:?}");
    let answer = bed.gateway(&get(&key));
    assert_eq!((answer.status, answer.number("X-RateLimit-Remaining")), (429, Some(0)), "{answer:?}");
    has_headers(&answer, 100);
}

#[test]
fn no_more_than_five_are_at_the_upstream_at_the_same_time() {
    let (arrived, arrivals) = mpsc::channel();
    let (release, gate) = mpsc::channel::<()>();
    let (arrived, gate) = (Mutex::new(arrived), Mutex::new(gate));
    let upstream = Upstream::start(move |_, mut stream| {
        arrived.lock().unwrap().send(()).unwrap();
        let _ = gate.lock().unwrap().recv();
        let _ = stream.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    });
    let bed =
        Bed::start_with(&preset("user-api.yaml"), |launch| launch.arg("--upstream").arg(upstream.url()));
    let key = bed.customer("ada", "standard");
    let mut callers: Vec<Caller> = (0..5).map(|_| Caller::new(bed.server.gateway())).collect();
    for caller in &mut callers {
        caller.begin(&get(&key)).unwrap();
        arrivals.recv_timeout(Duration::from_secs(60)).unwrap();
    }
    let refused = bed.gateway(&get(&key));
    assert_eq!(
        (refused.status, &refused.json()["error"]),
        (429, &json!("concurrency_limited")),
        "{refused:?}"
    );
    has_headers(&refused, 100);
    for _ in &callers {
        release.send(()).unwrap();
    }
    for caller in &mut callers {
        let answer = caller.finish().unwrap();
        assert_eq!(answer.status, 404, "{answer:?}");
        has_headers(&answer, 100);
    }
}

#[test]
fn every_answer_to_a_user_says_what_is_left() {
    let bed = bed();
    for (tier, minute, ..) in TABLE {
        let answer = bed.gateway(&get(&bed.customer(tier, tier)));
        assert_eq!(answer.status, 200, "{answer:?}");
        has_headers(&answer, minute);
        let named = answer.header("RateLimit").unwrap();
        assert!(
            ["\"rate\"", "\"minute\"", "\"second\"", "\"concurrency\""].iter().all(|it| named.contains(it))
        );
    }
}

#[tokio::test]
async fn a_client_that_tries_again_has_all_of_its_requests_answered() {
    let bed = bed();
    let key = bed.customer("ada", "standard");
    let client = Client::builder(TokioExecutor::new()).build_http();
    let mut client = RetryLayer::new(RetryPolicy::default()).layer(client);
    let begun = tokio::time::Instant::now();
    for number in 0..60 {
        let request = http::Request::get(format!("http://{}/{number}", bed.server.gateway()))
            .header("Authorization", format!("Bearer {key}"))
            .body(Full::<Bytes>::default())
            .unwrap();
        let answer = client.call(request).await.unwrap();
        assert_eq!(answer.status(), 200, "{number}: {answer:?}");
        assert_eq!(Limits::from_headers(answer.headers()).x_rate.unwrap().limit, Some(100));
    }
    // Twenty in any second: sixty take more than two, and somebody who does not try again would have been refused.
    assert!(begun.elapsed() > Duration::from_secs(2), "{:?}", begun.elapsed());
}
