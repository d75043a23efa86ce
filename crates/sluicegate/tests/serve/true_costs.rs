//! What a request cost in the end, through the real binary, in memory and on Redis: a failing upstream sees no more
//! than the rate, and a true cost is owed in full.

use std::io::Read as _;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;
use sluicegate_testkit::http::{Asked, Caller};
use sluicegate_testkit::redis::{Engine, RedisLaunch};
use sluicegate_testkit::upstream::Upstream;
use sluicegate_testkit::wait;

use crate::bed::Bed;
use crate::nodes::node_with;
use crate::repeats::failing;

const POLICY: &str = "
server: {timeouts: {read: 1s}}
tiers:
  kind: {rate: 3/day, burst: 3, quota: 1_000, refund_on: 5xx}
  metered: {rate: 10, burst: 20, quota: 1_000_000}
";

/// The same on both stores, with an upstream that fails.
fn on_each_store(check: impl Fn(&Bed)) {
    with_upstream(failing(usize::MAX), check);
}

fn with_upstream(upstream: Upstream, check: impl Fn(&Bed)) {
    check(&Bed::start_with(POLICY, |launch| launch.arg("--upstream").arg(upstream.url())));
    let redis = RedisLaunch::new(Engine::Redis).start();
    check(&node_with(POLICY, &redis.url(), |launch| launch.arg("--upstream").arg(upstream.url())));
}

#[test]
fn a_failing_upstream_sees_no_more_than_the_rate() {
    on_each_store(|bed| {
        let key = bed.customer("acme", "kind");
        let statuses = |count: usize| -> Vec<u16> {
            (0..count).map(|_| bed.gateway(&Asked::get("/orders").key(&key)).status).collect()
        };
        assert_eq!(statuses(3), [503, 503, 503]);
        wait::until("the quota is back", || (bed.used("acme", "quota") == 0).then_some(()));
        assert_eq!(statuses(30), [429; 30]);
        assert_eq!(bed.used("acme", "quota"), 0);
    });
}

/// It counts the requests that reach it, and answers none. The connection ends with the gateway's patience.
fn hanging(seen: &Arc<AtomicUsize>) -> Upstream {
    let seen = Arc::clone(seen);
    Upstream::start(move |_, mut stream: TcpStream| {
        seen.fetch_add(1, Ordering::SeqCst);
        let _ = stream.read_to_end(&mut Vec::new());
    })
}

#[test]
fn an_upstream_that_never_answers_sees_no_more_than_the_rate() {
    let seen = Arc::new(AtomicUsize::new(0));
    with_upstream(hanging(&seen), |bed| {
        let (key, before) = (bed.customer("acme", "kind"), seen.load(Ordering::SeqCst));
        // Two rounds: what was given back after the first would let the second pass.
        for _ in 0..2 {
            std::thread::scope(|scope| {
                for _ in 0..10 {
                    scope.spawn(|| bed.gateway(&Asked::get("/orders").key(&key)));
                }
            });
            wait::until("the quota is back", || (bed.used("acme", "quota") == 0).then_some(()));
        }
        assert_eq!(seen.load(Ordering::SeqCst) - before, 3);
    });
}

#[test]
fn a_true_cost_above_the_burst_is_paid_off_before_anything_passes() {
    on_each_store(|bed| {
        let key = bed.customer("acme", "metered");
        let permit = bed.check(&json!({"key": key, "hold": true})).json()["permit"].clone();
        let finish = json!({"permit": permit, "status": 200, "cost": 10_000});
        let finish = Asked::new("POST", "/v1/finish").json(&finish);
        assert_eq!(Caller::new(bed.server.decision()).send(&finish).unwrap().status, 200);
        wait::until("the true cost is settled", || (bed.used("acme", "quota") == 10_000).then_some(()));
        let refused = bed.check(&json!({"key": key})).json();
        let wait_ms = refused["retry_after_ms"].as_u64().unwrap();
        // 10,000 at 10 a second, of which 19 need not be paid; less what a slow test takes.
        assert!((900_000..=999_000).contains(&wait_ms), "{refused}");
    });
}
