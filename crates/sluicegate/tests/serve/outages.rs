//! A Redis that is killed, stopped, slow or cut off under load: nobody waits for it, nobody gets more than the
//! fallback's share, and when it is back the books balance.
//!
//! Two nodes share it. One counts quotas alone meanwhile (`quota: local`); the other only admits (`quota: reconcile`).
//! Both settle later what was used. They have customers of their own, so that each book can be told from the others.

use std::time::Duration;

use sluicegate_testkit::chaos::{ChaosProxy, Mode};
use sluicegate_testkit::http::Asked;
use sluicegate_testkit::redis::{Engine, RedisLaunch, RedisServer};
use sluicegate_testkit::wait;

use crate::bed::{Bed, spool};
use crate::nodes::{metered, node};
use crate::tally::{ledger, reconcile};
use crate::traffic::{By, Line, Traffic, Way};

/// `quick` has a rate only, `capped` and `owing` a quota only.
const TIERS: &str = "
tiers:
  quick: {rate: 100, burst: 100}
  capped: {quota: 20_000, quota_window: sliding_day}
  owing: {quota: 1_000_000, quota_window: sliding_day}
";
const RATE: u32 = 100;
const QUOTA: u64 = 20_000;
const COST: u64 = 100;
/// Two of five: 40 %.
const CAP: (u32, u32) = (2, 5);

const ACCOUNTS: [&str; 3] = ["quick", "capped", "owing"];

/// What happens to the store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fault {
    Killed,
    Stopped,
    Slow,
    Cut,
    /// Requests reach it, and its answers are lost.
    Mute,
}

/// A Redis, and the way to it.
struct Store {
    redis: RedisServer,
    proxy: ChaosProxy,
}

impl Store {
    fn start() -> Self {
        // Every write is with the system before it is answered, so that it outlives the process.
        let launch = RedisLaunch::new(Engine::Redis).line("appendonly yes").line("appendfsync no");
        let redis = launch.start();
        let proxy = ChaosProxy::start(redis.address());
        Self { redis, proxy }
    }

    fn url(&self, fault: Fault) -> String {
        match fault {
            Fault::Killed | Fault::Stopped => self.redis.url(),
            Fault::Slow | Fault::Cut | Fault::Mute => format!("redis://{}", self.proxy.address()),
        }
    }

    fn go_away(&mut self, fault: Fault) {
        match fault {
            Fault::Killed => self.redis.kill(),
            Fault::Stopped => self.redis.pause(),
            Fault::Slow => self.proxy.set(Mode::Latency(Duration::from_millis(500))),
            Fault::Cut => self.proxy.set(Mode::Cut),
            Fault::Mute => self.proxy.set(Mode::HalfCut),
        }
    }

    fn come_back(&mut self, fault: Fault) {
        match fault {
            Fault::Killed => self.redis.restart(),
            Fault::Stopped => self.redis.resume(),
            Fault::Slow | Fault::Cut | Fault::Mute => self.proxy.set(Mode::Pass),
        }
    }
}

/// Two nodes, and the keys of three customers.
struct Nodes {
    local: Bed,
    reconciling: Bed,
    keys: [String; 3],
}

impl Nodes {
    fn start(url: &str) -> Self {
        let local = node(&format!("{TIERS}degraded: {{cap: 40%, rate: local, quota: local}}\n"), url);
        let reconciling = node(&format!("{TIERS}degraded: {{rate: local, quota: reconcile}}\n"), url);
        let keys = ACCOUNTS.map(|account| local.customer(account, account));
        Self { local, reconciling, keys }
    }

    fn both(&self) -> [&Bed; 2] {
        [&self.local, &self.reconciling]
    }

    fn lines(&self) -> Vec<Line<'_>> {
        let [quick, capped, owing] = &self.keys;
        let line = |node, account, key, way| Line { node, account, key, way };
        vec![
            line(&self.local, "quick", quick, Way::Gateway),
            line(&self.local, "quick", quick, Way::Check { cost: 1 }),
            line(&self.local, "capped", capped, Way::Check { cost: COST }),
            line(&self.local, "capped", capped, Way::Named { cost: COST }),
            line(&self.reconciling, "owing", owing, Way::Gateway),
            line(&self.reconciling, "owing", owing, Way::Named { cost: 1 }),
        ]
    }

    /// Waits until both say that the store is so.
    #[track_caller]
    fn wait_until(&self, mode: &str) {
        for node in self.both() {
            wait::within(Duration::from_secs(20), mode, || {
                (node.health()["store"]["mode"] == mode).then_some(())
            });
            let metrics = node.admin(Asked::get("/metrics")).text();
            let gauge = format!("\nsluicegate_store_degraded {}\n", u8::from(mode == "degraded"));
            assert!(metrics.contains(&gauge), "{metrics}");
        }
    }
}

fn outage(fault: Fault) {
    let mut store = Store::start();
    let nodes = Nodes::start(&store.url(fault));
    let traffic = Traffic::during(&nodes.lines(), |traffic| {
        traffic.wait_for_more(&ACCOUNTS, By::Store, 30);
        store.go_away(fault);
        nodes.wait_until("degraded");
        // Enough for the share of each to be used up.
        traffic.wait_for_more(&ACCOUNTS, By::Node, 120);
        store.come_back(fault);
        nodes.wait_until("normal");
        traffic.wait_for_more(&ACCOUNTS, By::Store, 30);
    });
    traffic.expect_no_failure();
    // So the header said, and the field of the decision API.
    for way in [Way::Gateway, Way::Check { cost: 1 }] {
        assert!(!traffic.calls(|call| call.way == way && call.by == By::Node).is_empty(), "{way:?}");
    }
    traffic.stalls.expect_nobody_waited(&traffic.calls(|_| true));
    expect_no_more_than_a_share(&traffic);
    expect_the_books_to_balance(nodes, &traffic);
}

/// What the node admitted alone is within 40 % of each limit.
fn expect_no_more_than_a_share(traffic: &Traffic) {
    let quick = traffic.calls(|call| call.account == "quick" && call.by == By::Node);
    let first = quick.iter().map(|call| call.began).min().unwrap();
    let last = quick.iter().map(|call| call.ended).max().unwrap();
    let refilled = RATE * u32::try_from((last - first).as_millis()).unwrap() / 1_000 + 1;
    let admitted = traffic.used("quick", &[By::Node]);
    let share = u64::from((RATE + refilled) * CAP.0 / CAP.1);
    println!("{admitted} of {share} by a rate in {:?}", last - first);
    assert!(admitted <= share, "{admitted} admitted, {share} is the share");
    assert!(admitted >= u64::from(RATE * CAP.0 / CAP.1), "the share is not used up");
    assert_eq!(traffic.used("capped", &[By::Node]), QUOTA * u64::from(CAP.0) / u64::from(CAP.1));
}

/// The store, the ledgers and the outside count say the same, and go on saying so.
fn expect_the_books_to_balance(mut nodes: Nodes, traffic: &Traffic) {
    // What was decided alone is in the store as well; what was undecided, nowhere.
    let expected =
        ["capped", "owing"].map(|account| (account, traffic.used(account, &[By::Store, By::Node])));
    for (account, used) in expected {
        let seen = wait::within(Duration::from_secs(5), "the books", || {
            metered(&nodes.local, account).filter(|metered| *metered >= used)
        });
        assert_eq!(seen, used, "{account}");
    }
    wait::pause(Duration::from_millis(300));
    for (account, used) in expected {
        assert_eq!(nodes.local.used(account, "quota"), used, "{account} was settled twice");
    }
    for node in [&mut nodes.local, &mut nodes.reconciling] {
        node.server.kill();
        let costs = reconcile(&traffic.tally(node.server.pid()), &ledger(&spool(&node.data_dir())));
        for (account, cost) in costs {
            assert_eq!(cost, traffic.used(&account, &[By::Store, By::Node]), "{account}");
        }
    }
}

#[test]
fn a_store_that_is_killed_costs_nobody_an_answer() {
    outage(Fault::Killed);
}

#[test]
fn a_store_that_stands_still_costs_nobody_an_answer() {
    outage(Fault::Stopped);
}

#[test]
fn a_store_that_is_slow_costs_nobody_an_answer() {
    outage(Fault::Slow);
}

#[test]
fn a_store_that_is_cut_off_costs_nobody_an_answer() {
    outage(Fault::Cut);
}

/// Everything that is asked of it is done, and nobody hears of it: all of that must be found out, and undone.
#[test]
fn a_store_whose_answers_are_lost_costs_nobody_an_answer() {
    outage(Fault::Mute);
}

/// Its key and its meters are two calls. Nobody waits for two.
#[test]
fn whose_key_has_to_be_looked_up_first_waits_no_longer() {
    let mut store = Store::start();
    let nodes = Nodes::start(&store.redis.url());
    let lines = nodes.lines();
    let know_all = Traffic::during(&lines, |traffic| traffic.wait_for_more(&ACCOUNTS, By::Store, 2));
    know_all.expect_no_failure();
    // A node that has missed news believes what it knows for a second, and then looks again. Each of the two hears of
    // accounts and of blocks.
    wait::pause(Duration::from_millis(1_100));
    assert_eq!(store.redis.ask(&["CLIENT", "KILL", "TYPE", "pubsub"]).text(), "4");
    store.redis.pause();
    let traffic = Traffic::during(&lines, |traffic| traffic.wait_for_more(&ACCOUNTS, By::Node, 5));
    traffic.expect_no_failure();
    traffic.stalls.expect_nobody_waited(&traffic.calls(|_| true));
    store.redis.resume();
}
