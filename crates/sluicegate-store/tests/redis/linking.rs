//! The link under trouble: the deadline is kept, and the way back is found.

use std::time::Duration;

use sluicegate_core::plan::Mode;
use sluicegate_core::settle::Outcome;
use sluicegate_store::redis::{
    Address, CallError, Link, LinkError, LinkOptions, Meters, Password, QueryError, Seq,
};
use sluicegate_testkit::chaos::{ChaosProxy, Mode as Network};
use sluicegate_testkit::redis::{Engine, RedisLaunch, RedisServer};
use tokio::time::Instant;

use crate::bed::{Bed, NODE, PATIENT, ask_as, link, monthly, plan, runtime};
use crate::on_each_engine;

on_each_engine!(
    no_call_waits_longer_than_the_deadline_for_a_server_that_is_stopped,
    no_call_waits_longer_than_the_deadline_for_a_network_that_is_slow_or_swallows,
    a_server_that_was_killed_is_found_again_when_it_is_back,
    a_connection_that_was_cut_is_replaced_before_anybody_notices,
    without_a_server_nothing_waits,
    a_password_lets_in_and_a_wrong_one_says_so,
    messages_reach_a_subscriber,
);

const DEADLINE: Duration = Duration::from_millis(50);
/// What a call may take besides the deadline. On a machine that is busy with other tests, timers are late.
const LATE: Duration = Duration::from_millis(40);
/// Until everything is as before.
const BACK: Duration = Duration::from_secs(20);

/// A node whose calls are watched.
struct Watched {
    meters: Meters,
    seq: std::cell::Cell<u64>,
}

impl Watched {
    fn new(bed: &Bed, url: &str) -> Self {
        Self { meters: bed.another(url, DEADLINE, NODE), seq: std::cell::Cell::new(1) }
    }

    /// Makes a call on a home of its own, and gives how long it took.
    async fn call(&self) -> (Result<Outcome, CallError>, Duration) {
        self.seq.set(self.seq.get() + 1);
        let quota = monthly(100);
        let charge = plan(self.seq.get().into(), &[&quota], 1, Mode::Charge);
        let start = Instant::now();
        let settled = ask_as(&self.meters, Seq::new(self.seq.get()).unwrap(), &charge).await;
        (settled.map(|settled| settled.outcome), start.elapsed())
    }

    /// Makes calls for so long, none of which may succeed, and hardly any be late: the machine may be busy.
    async fn fail_for(&self, time: Duration) {
        let start = Instant::now();
        let (mut late, mut calls) = (Vec::new(), 0);
        while start.elapsed() < time {
            let (outcome, took) = self.call().await;
            assert!(matches!(outcome, Err(CallError::Unknown | CallError::NotSent)), "{outcome:?}");
            calls += 1;
            late.extend((took > DEADLINE + LATE).then_some(took));
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        assert!(late.len() <= 1 + calls / 10, "{late:?} of {calls}");
    }

    /// Makes calls until one succeeds, which must come soon.
    async fn come_back(&self) {
        let start = Instant::now();
        while self.call().await.0.is_err() {
            assert!(start.elapsed() < BACK, "it is not back");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        // And it stays so.
        for _ in 0..100 {
            let (outcome, _) = self.call().await;
            assert_eq!(outcome, Ok(Outcome::Admitted { overage: 0 }));
        }
    }
}

fn no_call_waits_longer_than_the_deadline_for_a_server_that_is_stopped(engine: Engine) {
    let mut bed = Bed::new(engine);
    let node = Watched::new(&bed, &bed.server.url());
    for stopped in [Duration::from_millis(300), Duration::from_secs(3)] {
        bed.runtime.block_on(node.come_back());
        bed.server.pause();
        bed.runtime.block_on(node.fail_for(stopped));
        bed.server.resume();
    }
    bed.runtime.block_on(node.come_back());
}

fn no_call_waits_longer_than_the_deadline_for_a_network_that_is_slow_or_swallows(engine: Engine) {
    let bed = Bed::new(engine);
    let proxy = ChaosProxy::start(bed.server.address());
    let node = Watched::new(&bed, &format!("redis://{}", proxy.address()));
    for mode in
        [Network::Latency(Duration::from_millis(500)), Network::BlackHole, Network::HalfCut, Network::Cut]
    {
        bed.runtime.block_on(node.come_back());
        proxy.set(mode);
        bed.runtime.block_on(node.fail_for(Duration::from_millis(1_500)));
        proxy.set(Network::Pass);
    }
    bed.runtime.block_on(node.come_back());
}

fn a_server_that_was_killed_is_found_again_when_it_is_back(engine: Engine) {
    let mut bed = Bed::new(engine);
    let node = Watched::new(&bed, &bed.server.url());
    bed.runtime.block_on(node.come_back());
    bed.server.kill();
    bed.runtime.block_on(node.fail_for(Duration::from_millis(500)));
    bed.server.restart();
    bed.runtime.block_on(node.come_back());
}

fn a_connection_that_was_cut_is_replaced_before_anybody_notices(engine: Engine) {
    let bed = Bed::new(engine);
    let quota = monthly(100);
    for used in 1..=5 {
        // One that is lost as soon as it is made is not replaced at once.
        sluicegate_testkit::wait::pause(Duration::from_millis(150));
        bed.server.ask(&["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"]);
        // The link is told of it by its socket, a moment later.
        sluicegate_testkit::wait::pause(Duration::from_millis(50));
        assert_eq!(bed.ask(&plan(1, &[&quota], 1, Mode::Charge)).readings[0].used, used);
    }
}

fn without_a_server_nothing_waits(engine: Engine) {
    let mut server = RedisServer::new(engine);
    server.kill();
    runtime().block_on(async {
        let link = link(&server.url(), DEADLINE);
        let error = link.ready(Duration::from_millis(500)).await.unwrap_err();
        assert!(error.to_string().contains("refused"), "{error}");
        // Most of them: the machine may be busy for a moment.
        let mut at_once = 0;
        for _ in 0..20 {
            let start = Instant::now();
            assert_eq!(link.query::<()>(&redis::cmd("PING")).await, Err(QueryError::NotSent));
            at_once += u32::from(start.elapsed() < DEADLINE);
        }
        assert!(at_once > 10, "{at_once} of 20");
    });
}

fn a_password_lets_in_and_a_wrong_one_says_so(engine: Engine) {
    let server = RedisLaunch::new(engine).password("right").start();
    let ready = |password: &str| {
        let options = LinkOptions {
            password: Some(Password::new(password.into())),
            deadline: PATIENT,
            ..LinkOptions::default()
        };
        runtime().block_on(async {
            let link = Link::open(&Address::parse(&server.url()).unwrap(), &options).unwrap();
            link.ready(Duration::from_secs(1)).await
        })
    };
    assert_eq!(ready("right"), Ok(()));
    match ready("wrong") {
        Err(LinkError::Unreachable(why)) => assert!(why.contains("WRONGPASS"), "{why}"),
        other => panic!("{other:?}"),
    }
}

fn messages_reach_a_subscriber(engine: Engine) {
    let bed = Bed::new(engine);
    bed.runtime.block_on(crate::topologies::a_message_arrives(&bed.server.url()));
}
