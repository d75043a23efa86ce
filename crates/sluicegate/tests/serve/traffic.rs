//! Callers that ask all the time while something is done to the store, and everything that they were answered.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;
use sluicegate_testkit::http::{Answer, Asked, Caller};
use sluicegate_testkit::wait;

use crate::bed::{Bed, check};
use crate::stalls::{Stalls, now};
use crate::tally::Tally;

/// Between two requests of one caller: some hundred requests per second leave a small machine time for its servers.
const PAUSE: Duration = Duration::from_millis(5);

/// How one caller asks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Way {
    /// Through the gateway, to the built-in echo.
    Gateway,
    /// For a decision that costs this much.
    Check { cost: u64 },
    /// The same, and every request has a name of its own.
    Named { cost: u64 },
}

/// One caller.
#[derive(Clone)]
pub(crate) struct Line<'t> {
    pub(crate) node: &'t Bed,
    pub(crate) account: &'t str,
    pub(crate) key: &'t str,
    pub(crate) way: Way,
}

/// Who decided.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum By {
    /// The store.
    Store,
    /// The node alone.
    Node,
}

/// What a caller got.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Got {
    /// Yes, by this decision.
    Admitted(String),
    /// No: a limit was reached.
    Refused,
    /// An error, or no answer at all.
    Failed(String),
}

/// One request, and what became of it.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) account: String,
    pub(crate) node: u32,
    pub(crate) way: Way,
    pub(crate) cost: u64,
    pub(crate) began: Instant,
    pub(crate) ended: Instant,
    pub(crate) by: By,
    pub(crate) got: Got,
}

impl Call {
    pub(crate) fn is_admitted(&self) -> bool {
        matches!(self.got, Got::Admitted(_))
    }

    /// What it used.
    fn used(&self) -> u64 {
        if self.is_admitted() { self.cost } else { 0 }
    }
}

/// Everything that was answered so far, while callers go on asking.
#[derive(Default)]
pub(crate) struct Traffic {
    calls: Mutex<Vec<Call>>,
    pub(crate) stalls: Stalls,
    over: AtomicBool,
}

/// Tells the callers to end, also when whoever directs has failed.
struct Over<'t>(&'t AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Traffic {
    /// Has all callers ask until `direct` returns.
    pub(crate) fn during(lines: &[Line<'_>], direct: impl FnOnce(&Self)) -> Self {
        let traffic = Self::default();
        thread::scope(|scope| {
            let _over = Over(&traffic.over);
            for (number, line) in lines.iter().enumerate() {
                let traffic = &traffic;
                scope.spawn(move || traffic.ask(number, line));
            }
            let mut nodes: Vec<&Bed> = lines.iter().map(|line| line.node).collect();
            nodes.sort_by_key(|node| node.server.pid());
            nodes.dedup_by_key(|node| node.server.pid());
            for node in nodes {
                let (traffic, address) = (&traffic, node.server.decision());
                scope.spawn(move || traffic.stalls.witness(address, &traffic.over));
            }
            direct(&traffic);
        });
        traffic
    }

    fn ask(&self, number: usize, line: &Line<'_>) {
        let server = &line.node.server;
        let address = if line.way == Way::Gateway { server.gateway() } else { server.decision() };
        let mut caller = Caller::new(address);
        for count in 0_u64.. {
            if self.over.load(Ordering::Relaxed) {
                return;
            }
            let (cost, asked) = match line.way {
                Way::Gateway => (1, Asked::get("/").key(line.key)),
                Way::Check { cost } => (cost, check(&json!({"key": line.key, "cost": cost}))),
                Way::Named { cost } => {
                    let name = format!("{number}-{count}");
                    (cost, check(&json!({"key": line.key, "cost": cost, "idempotency_key": name})))
                }
            };
            let began = now();
            let answer = caller.send(&asked);
            let ended = now();
            let (by, got) = match answer {
                Ok(answer) if line.way == Way::Gateway => of_gateway(&answer),
                Ok(answer) => of_check(&answer),
                Err(error) => (By::Node, Got::Failed(error.to_string())),
            };
            let (account, node, way) = (line.account.to_owned(), server.pid(), line.way);
            self.calls.lock().unwrap().push(Call { account, node, way, cost, began, ended, by, got });
            wait::pause(PAUSE);
        }
    }

    /// The calls so far for which this holds.
    pub(crate) fn calls(&self, which: impl Fn(&Call) -> bool) -> Vec<Call> {
        self.calls.lock().unwrap().iter().filter(|call| which(call)).cloned().collect()
    }

    /// How much of an account was used by those who decided.
    pub(crate) fn used(&self, account: &str, by: &[By]) -> u64 {
        let calls = self.calls(|call| call.account == account && by.contains(&call.by));
        calls.iter().map(Call::used).sum()
    }

    /// Waits until every account has got so many more answers from there.
    #[track_caller]
    pub(crate) fn wait_for_more(&self, accounts: &[&str], by: By, more: usize) {
        let since = now();
        let count = |account: &str| {
            self.calls(|call| call.account == account && call.by == by && call.began >= since).len()
        };
        wait::within(Duration::from_secs(5), &format!("more answers by {by:?}"), || {
            accounts.iter().all(|account| count(account) >= more).then_some(())
        });
    }

    /// Nobody got an error, or no answer.
    #[track_caller]
    pub(crate) fn expect_no_failure(&self) {
        let failed = self.calls(|call| matches!(call.got, Got::Failed(_)));
        assert!(failed.is_empty(), "{} failed: {:?}", failed.len(), failed.first());
    }

    /// What callers of a node saw.
    pub(crate) fn tally(&self, node: u32) -> Tally {
        let mut tally = Tally::default();
        for call in self.calls(|call| call.node == node) {
            match &call.got {
                Got::Admitted(decision) => tally.admit(&call.account, decision),
                Got::Refused => tally.of(&call.account).refused += 1,
                Got::Failed(_) => tally.of(&call.account).cut_off += 1,
            }
        }
        tally
    }
}

fn of_gateway(answer: &Answer) -> (By, Got) {
    let by = if answer.header("x-sluicegate-mode") == Some("degraded") { By::Node } else { By::Store };
    let got = match answer.status {
        // The echo repeats what it was told about the caller.
        200 => Got::Admitted(
            answer.json()["headers"]["x-sluicegate-decision"].as_str().unwrap_or_default().into(),
        ),
        402 | 429 => Got::Refused,
        _ => Got::Failed(format!("{answer:?}")),
    };
    (by, got)
}

fn of_check(answer: &Answer) -> (By, Got) {
    let body = answer.json();
    let by = if body["mode"] == "degraded" { By::Node } else { By::Store };
    let got = match (answer.status, body["allowed"].as_bool(), body["status"].as_u64()) {
        (200, Some(true), _) => Got::Admitted(body["decision_id"].as_str().unwrap_or_default().into()),
        (200, Some(false), Some(402 | 429)) => Got::Refused,
        _ => Got::Failed(format!("{answer:?}")),
    };
    (by, got)
}
