//! Lives on two nodes that share a Redis. What a request cost in the end reaches the store a moment later, so the
//! accounts are compared at the end of each phase, when the journals of both nodes are settled.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use sluicegate_core::calendar::BillingDay;
use sluicegate_core::limit::Axis;
use sluicegate_core::policy::TierName;
use sluicegate_core::time::Timestamp;
use sluicegate_engine::{CallerRequest, Engine, Hold, Purpose};
use sluicegate_ledger::Position;
use sluicegate_store::directory::{AccountId, DisplayName, NewAccount, NewKey, Scopes};
use sluicegate_store::key_text::KeyEnv;
use sluicegate_testkit::dice::Dice;
use sluicegate_testkit::redis::{Engine as Server, RedisServer};
use tempfile::TempDir;
use tokio::task::JoinHandle;

use super::statement::{Period, Statement};
use super::sums::Sums;
use crate::place::{copy_dir, costing, policy, request, writer};
use crate::shared_place::NodeSize;

/// Editions of the policy: what the tiers include, which a reload changes.
const INCLUDED: [[u64; 2]; 2] = [[20, 60], [35, 45]];
const TIERS: [&str; 2] = ["small", "large"];
/// Accounts are served by so many tasks at once.
const TASKS: usize = 16;

fn policy_text(edition: usize) -> String {
    let [small, large] = INCLUDED[edition];
    let rules = "quota_window: billing_month, on_quota_exceeded: bill_overage, refund_on: 5xx";
    format!(
        "tiers:\n  small: {{rate: 2_000, burst: 500, quota: {small}, {rules}}}\n  \
         large: {{rate: 3_000, burst: 900, quota: {large}, {rules}}}\n"
    )
}

/// One node: its engine, and the task that settles what it owes the store.
struct Node {
    engine: Arc<Engine>,
    journal: JoinHandle<()>,
    dir: TempDir,
}

impl Node {
    async fn open(redis: &RedisServer, dir: TempDir, edition: usize) -> Self {
        let text = policy_text(edition);
        let size = NodeSize { segment_records: 1 << 17, ..NodeSize::default() };
        let engine = size.node(&text, &redis.url(), Duration::from_secs(10), &dir).await;
        let journal = tokio::spawn({
            let engine = Arc::clone(&engine);
            async move { engine.keep_journal().await }
        });
        Self { engine, journal, dir }
    }

    /// The process is killed, and another starts on what it left on disk at this moment.
    async fn kill(self, redis: &RedisServer, edition: usize) -> Self {
        // Nothing is told to the store that the copy does not know.
        self.journal.abort();
        let _ = self.journal.await;
        let copy = tempfile::tempdir().unwrap();
        copy_dir(self.dir.path(), copy.path());
        drop(self.engine);
        Self::open(redis, copy, edition).await
    }
}

/// One account.
struct Life {
    account: String,
    key: String,
    tier: usize,
    statement: Statement,
    /// Permits that can be finished at any node, and what was reserved.
    open: Vec<(String, u64)>,
    dice: Dice,
}

/// Two nodes, their store, and all accounts.
pub(crate) struct World {
    redis: RedisServer,
    nodes: Vec<Node>,
    lives: Vec<Life>,
    dice: Dice,
    edition: usize,
    billing_day: u8,
    started: Timestamp,
}

impl World {
    pub(crate) async fn new(seed: u64, lives: usize) -> Self {
        let redis = RedisServer::new(Server::Redis);
        let mut nodes = Vec::new();
        for _ in 0..2 {
            nodes.push(Node::open(&redis, tempfile::tempdir().unwrap(), 0).await);
        }
        let started = nodes[0].engine.now();
        let today = jiff::Timestamp::from_second(i64::from(started.as_secs())).unwrap();
        let today = today.to_zoned(jiff::tz::TimeZone::UTC).day();
        // No period ends while this runs, whatever day it is.
        let billing_day = if (10..20).contains(&today) { 1 } else { 15 };
        let dice = Dice::new(seed);
        let mut world = Self { redis, nodes, lives: Vec::new(), dice, edition: 0, billing_day, started };
        world.make_lives(lives).await;
        world
    }

    async fn make_lives(&mut self, count: usize) {
        let directory = self.nodes[0].engine.directory();
        for number in 0..count {
            let (id, tier) = (format!("life-{number}"), number % TIERS.len());
            let account = NewAccount {
                id: Some(AccountId::new(&id).unwrap()),
                name: DisplayName::new(&id).unwrap(),
                tier: TierName::new(TIERS[tier]).unwrap(),
                billing_day: BillingDay::new(self.billing_day),
                timezone: None,
            };
            let key = NewKey {
                name: DisplayName::new("test").unwrap(),
                env: KeyEnv::Live,
                scopes: Scopes::new([]).unwrap(),
                expires_at: None,
            };
            directory.create_account(account, &writer()).await.unwrap();
            let (_, key) = directory.create_key(&id, key, &writer()).await.unwrap();
            self.lives.push(Life {
                account: id,
                key: key.expose().to_owned(),
                tier,
                statement: Statement::default(),
                open: Vec::new(),
                dice: Dice::new(self.dice.roll()),
            });
        }
    }

    /// Every account does a few things, and what it used is compared everywhere.
    pub(crate) async fn phase(&mut self, kill: Option<usize>) {
        let engines: Vec<_> = self.nodes.iter().map(|node| Arc::clone(&node.engine)).collect();
        let mut lives = std::mem::take(&mut self.lives);
        let share = lives.len().div_ceil(TASKS);
        let mut tasks = Vec::new();
        while !lives.is_empty() {
            let mine = lives.split_off(lives.len().saturating_sub(share));
            let (engines, edition) = (engines.clone(), self.edition);
            tasks.push(tokio::spawn(async move {
                let mut mine = mine;
                for life in &mut mine {
                    life.act(&engines, edition).await;
                }
                mine
            }));
        }
        for task in tasks {
            self.lives.extend(task.await.unwrap());
        }
        drop(engines);
        if let Some(number) = kill {
            let node = self.nodes.remove(number);
            self.nodes.insert(number, node.kill(&self.redis, self.edition).await);
        }
        self.compare().await;
    }

    /// Changes the policy of both nodes.
    pub(crate) fn reload(&mut self) {
        self.edition = (self.edition + 1) % INCLUDED.len();
        for node in &self.nodes {
            node.engine.reload(policy(&policy_text(self.edition))).unwrap();
        }
    }

    /// Moves every third account to the other tier, and waits until both nodes know.
    pub(crate) async fn change_tiers(&mut self) {
        for life in &mut self.lives {
            if life.dice.below(3) == 0 {
                life.tier = 1 - life.tier;
                let tier = TierName::new(TIERS[life.tier]).unwrap();
                let directory = self.nodes[0].engine.directory();
                directory.set_tier(&life.account, tier, &writer()).await.unwrap();
            }
        }
        let other = self.nodes[1].engine.directory();
        for life in &self.lives {
            for _ in 0..500 {
                let account = other.account(&life.account).await.unwrap().unwrap();
                if account.standing.load().tier.as_str() == TIERS[life.tier] {
                    break;
                }
                // Between two looks at what the other node was told.
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        }
    }

    /// Used and over of these accounts, by what both nodes have recorded.
    fn ledger_of<'s>(
        &self,
        serials: impl Iterator<Item = &'s u64>,
    ) -> BTreeMap<u64, BTreeMap<u64, (u64, u64)>> {
        let mut sums = Sums::default();
        for node in &self.nodes {
            node.engine.spool().flush().unwrap();
            node.engine.spool().read(Position(0), |_, record| sums.add(record)).unwrap();
        }
        serials.map(|serial| (*serial, sums.of(*serial, |_| 0))).collect()
    }

    /// Meters, headers and the ledgers of both nodes say what the statements say.
    async fn compare(&self) {
        for life in &self.lives {
            let expected = Some(life.statement.totals(0));
            for node in &self.nodes {
                for _ in 0..1_000 {
                    if life.reading(&node.engine).await == expected {
                        break;
                    }
                    // Between two looks at what a real server and the tasks of the engines do.
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                assert_eq!(life.reading(&node.engine).await, expected, "{}: used and over", life.account);
            }
        }
        let mut expected = BTreeMap::new();
        for life in &self.lives {
            let account = self.nodes[0].engine.directory().account(&life.account).await.unwrap().unwrap();
            expected.insert(account.serial, life.statement.all());
        }
        // What the store says of the overage is recorded behind it.
        for _ in 0..500 {
            if self.ledger_of(expected.keys()) == expected {
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let ledger = self.ledger_of(expected.keys());
        for (serial, expected) in &expected {
            assert_eq!(&ledger[serial], expected, "the ledger of {serial}");
        }
        assert!(self.nodes[0].engine.now().since(self.started).as_secs_ceil() < 3_600);
    }
}

impl Life {
    async fn act(&mut self, engines: &[Arc<Engine>], edition: usize) {
        for _ in 0..=self.dice.below(3) {
            match self.dice.below(8) {
                0..5 => self.charge(engines, edition).await,
                _ => self.finish(engines, edition).await,
            }
        }
    }

    fn period(&mut self, edition: usize) -> &mut Period {
        self.statement.period(0, Some(INCLUDED[edition][self.tier]))
    }

    async fn charge(&mut self, engines: &[Arc<Engine>], edition: usize) {
        let cost = 1 + self.dice.below(9);
        let node = usize::try_from(self.dice.below(engines.len() as u64)).unwrap();
        let key = self.key.clone();
        let held = CallerRequest { hold: Hold::Yes, ..costing(request(&key), cost) };
        let mut decision = engines[node].decided(&held, engines[node].now()).await;
        for _ in 0..500 {
            if decision.is_admitted() {
                break;
            }
            // The next segment of the spool may not be ready yet.
            tokio::time::sleep(Duration::from_millis(10)).await;
            decision = engines[node].decided(&held, engines[node].now()).await;
        }
        let permit = decision.permit.unwrap_or_else(|| {
            panic!("{} at {node}: {:?} {:?}", self.account, decision.answer, engines[node].store_mode())
        });
        self.period(edition).used += cost;
        let handed = engines[node].keep(permit, engines[node].now()).unwrap();
        self.open.push((handed.text, cost));
    }

    async fn finish(&mut self, engines: &[Arc<Engine>], edition: usize) {
        let Some((text, reserved)) = self.open.pop() else { return };
        let (status, cost) = match self.dice.below(4) {
            0 => (200, reserved),
            1 => (500, 0),
            2 => (200, self.dice.below(reserved + 1)),
            _ => (200, reserved + self.dice.below(20)),
        };
        let order = if self.dice.below(2) == 0 { [0, 1] } else { [1, 0] };
        let finish = |node: usize, status, cost| {
            let (engine, text) = (Arc::clone(&engines[node]), text.clone());
            async move { engine.finish_kept(&text, Some(status), Some(cost), engine.now()).await.unwrap() }
        };
        let settled = match self.dice.below(3) {
            // At both nodes at once: one of them settles it, and the other says the same.
            0 => {
                let (one, other) = tokio::join!(finish(order[0], 200, cost), finish(order[1], 200, cost + 5));
                assert_eq!(one, other, "{}", self.account);
                one.settled
            }
            _ => {
                let first = finish(order[0], status, cost).await;
                assert_eq!(finish(order[1], 200, 77).await, first, "{}", self.account);
                assert_eq!(first.settled, cost, "{}", self.account);
                first.settled
            }
        };
        if settled != reserved {
            let period = self.period(edition);
            period.used = period.used + settled - reserved;
        }
    }

    /// What the quota says; nothing while the node has not looked the key up.
    async fn reading(&self, engine: &Engine) -> Option<(u64, u64)> {
        let peek = CallerRequest { purpose: Purpose::Peek, ..request(&self.key) };
        let decision = engine.decided(&peek, engine.now()).await;
        let quota = decision.limits.iter().find(|limit| limit.axis == Axis::Quota)?;
        Some((quota.used, quota.overage))
    }
}
