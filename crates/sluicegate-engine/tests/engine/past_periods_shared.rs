//! Lives of requests over the end of a period, where nodes share a Redis: what they cost in the end counts in the
//! period of their charge, in the meter and in the ledger, also under a plan that refuses by then.

use std::sync::Arc;
use std::time::Duration;

use sluicegate_core::limit::Axis;
use sluicegate_core::policy::TierName;
use sluicegate_core::time::Timestamp;
use sluicegate_engine::{CallerRequest, Engine, Hold, Purpose};
use sluicegate_ledger::{Kind, Position};
use sluicegate_testkit::dice::Dice;
use sluicegate_testkit::redis::{Engine as Server, RedisServer};

use crate::place::{costing, request, writer};
use crate::shared_place::{customer, node};

const INCLUDED: u64 = 60;
const REQUESTS: usize = 40;

/// The length of a window, and when one ends soon. The server decides by its own clock, which no test can set.
fn window_that_ends_soon(now: Timestamp) -> (u32, Timestamp) {
    let soon = now.as_secs() + 6;
    let mut ends = (soon..).flat_map(|end| (600..86_400).map(move |length| (length, end)));
    let (length, end) = ends.find(|(length, end)| end % length == 0).unwrap();
    (length, Timestamp::from_secs(end))
}

fn policy(length: u32) -> String {
    let sold = format!("algorithm: fixed_window, axis: quota, limit: {INCLUDED}/{length}s");
    format!(
        "tiers:\n  metered: {{refund_on: 5xx, limits: {{sold: {{{sold}, on_exceeded: bill_overage}}}}}}\n  \
         hard: {{refund_on: 5xx, limits: {{sold: {{{}}}}}}}\n",
        sold.replace(&INCLUDED.to_string(), "100_000")
    )
}

/// A request that is held, what was reserved for it, and when.
type Held = (Box<sluicegate_engine::Permit>, u64, Timestamp);

async fn charge(engine: &Engine, key: &str, cost: u64) -> Held {
    let held = CallerRequest { hold: Hold::Yes, ..costing(request(key), cost) };
    let permit = engine.decided(&held, engine.now()).await.permit.unwrap();
    engine.spool().flush().unwrap();
    let mut charged_at = None;
    engine
        .spool()
        .read(Position(0), |_, record| {
            if record.kind == Kind::Charge {
                charged_at = Some(record.charged_at);
            }
        })
        .unwrap();
    (permit, cost, charged_at.unwrap())
}

/// Used and over by the records of charges before and from that instant on.
fn ledger(engine: &Engine, end: Timestamp) -> [(i128, i128); 2] {
    let mut sums = [(0, 0); 2];
    let read = engine.spool().read(Position(0), |_, record| {
        let sign = if record.kind == Kind::Refund { -1 } else { 1 };
        let sum = &mut sums[usize::from(record.charged_at >= end)];
        sum.0 += sign * i128::from(record.cost);
        sum.1 += sign * i128::from(record.overage);
    });
    read.map(|_| sums).unwrap()
}

/// What the meter says that was used in the period of now.
async fn used(engine: &Engine, key: &str) -> u64 {
    let peek = CallerRequest { purpose: Purpose::Peek, ..request(key) };
    let decision = engine.decided(&peek, engine.now()).await;
    decision.limits.iter().find(|limit| limit.axis == Axis::Quota).unwrap().used
}

async fn live_over_the_end_of_a_period(tier_after: &str) {
    let (redis, dir) = (RedisServer::new(Server::Redis), tempfile::tempdir().unwrap());
    let engine = node(&policy(3_600), &redis.url(), Duration::from_secs(10), &dir).await;
    let (length, end) = window_that_ends_soon(engine.now());
    let key = customer(&engine).await;
    engine.reload(crate::place::policy(&policy(length))).unwrap();
    let keeping = tokio::spawn({
        let engine = Arc::clone(&engine);
        async move { engine.keep_journal().await }
    });
    let (mut dice, mut open) = (Dice::new(7), Vec::new());
    for _ in 0..REQUESTS {
        open.push(charge(&engine, &key, 1 + dice.below(5)).await);
    }
    while engine.now() < end {
        // Until the clock of the server has passed the end of the window.
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let tier = TierName::new(tier_after).unwrap();
    engine.directory().set_tier("acme", tier, &writer()).await.unwrap();
    let mut expected = [0, 0];
    for (number, (permit, reserved, charged_at)) in open.into_iter().enumerate() {
        if number % 3 == 0 {
            let (later, cost, at) = charge(&engine, &key, 1 + dice.below(3)).await;
            engine.finish(&later, Some(200), None, engine.now()).unwrap();
            expected[usize::from(at >= end)] += cost;
        }
        let (status, cost) = match dice.below(4) {
            0 => (500, 0),
            1 => (200, dice.below(reserved + 1)),
            _ => (200, reserved + dice.below(9)),
        };
        engine.finish(&permit, Some(status), Some(cost), engine.now()).unwrap();
        engine.spool().flush().unwrap();
        expected[usize::from(charged_at >= end)] += cost;
    }
    let [before, after] = expected;
    let over = |used: u64| i128::from(used.saturating_sub(INCLUDED));
    let over_after = if tier_after == "metered" { over(after) } else { 0 };
    let expected = [(i128::from(before), over(before)), (i128::from(after), over_after)];
    for _ in 0..500 {
        if ledger(&engine, end) == expected {
            break;
        }
        // Between two looks at what a real server and the journal do.
        tokio::time::sleep(Duration::from_millis(20)).await;
        engine.spool().flush().unwrap();
    }
    keeping.abort();
    assert_eq!(ledger(&engine, end), expected, "used and over, before and after");
    assert_eq!(used(&engine, &key).await, after);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_requests_cost_in_the_end_counts_in_the_window_of_their_charge() {
    live_over_the_end_of_a_period("metered").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_is_so_under_a_plan_that_refuses_by_then() {
    live_over_the_end_of_a_period("hard").await;
}
