//! A customer: asks in batches, with names, with permits and through the gateway, and counts what it is answered.

use std::collections::BTreeMap;
use std::io;

use serde_json::{Value, json};
use sluicegate_testkit::dice::Dice;
use sluicegate_testkit::http::{Asked, Caller};

use super::model::{Charge, Count};
use super::plans::{Kind, SEARCH_COST};

/// An account and its keys.
pub(super) struct Customer {
    pub(super) account: String,
    pub(super) kind: Kind,
    pub(super) keys: Vec<String>,
    pub(super) count: Count,
    /// Requests with a name that were charged, and by which decision.
    named: Vec<Ask>,
    known: BTreeMap<String, String>,
    /// How many names it has given.
    names: u64,
    /// What was cut off, and has to be asked again.
    cut_off: Vec<Ask>,
    pub(super) told: Told,
}

/// What was answered to all it asked.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Told {
    pub(super) decisions: u64,
    pub(super) refused: u64,
    pub(super) repeated: u64,
    pub(super) finished: u64,
    pub(super) cut_off: u64,
}

impl Told {
    pub(super) fn plus(self, other: Self) -> Self {
        Self {
            decisions: self.decisions + other.decisions,
            refused: self.refused + other.refused,
            repeated: self.repeated + other.repeated,
            finished: self.finished + other.finished,
            cut_off: self.cut_off + other.cut_off,
        }
    }
}

/// One request.
#[derive(Clone, Debug)]
struct Ask {
    key: usize,
    cost: u64,
    name: Option<String>,
    hold: bool,
}

/// How requests of a batch are made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Style {
    /// Of all kinds.
    Mixed,
    /// Each with a name, none held.
    Named,
    /// Neither.
    Bare,
}

impl Customer {
    pub(super) fn new(account: String, kind: Kind, keys: Vec<String>, count: Count) -> Self {
        let (named, known, cut_off) = (Vec::new(), BTreeMap::new(), Vec::new());
        Self { account, kind, keys, count, named, known, names: 0, cut_off, told: Told::default() }
    }

    /// Asks for so many decisions at once, some of them once more, and finishes what it holds.
    pub(super) fn ask(&mut self, decision: &mut Caller, dice: &mut Dice, size: u64) {
        let asks: Vec<Ask> = (0..size).map(|_| self.next(dice, Style::Mixed)).collect();
        let answers = self.send(decision, &asks).unwrap();
        for (permit, charge) in self.count_answers(&asks, &answers) {
            self.finish(decision, dice, &permit, charge);
        }
    }

    /// One request to the gateway.
    pub(super) fn pass(&mut self, gateway: &mut Caller) {
        let answer = gateway.send(&Asked::get("/").key(&self.keys[0])).unwrap();
        let expected = if self.count.charge(0, 1).is_some() { 200 } else { 402 };
        assert_eq!(answer.status, expected, "{}: {:?}, {answer:?}", self.account, self.count);
        self.told.decisions += 1;
        self.told.refused += u64::from(expected == 402);
    }

    /// Asks until the server is gone. What it was not answered, it asks the next one; who has no names for its
    /// requests cannot.
    pub(super) fn ask_until_cut_off(&mut self, decision: &mut Caller, dice: &mut Dice, size: u64) {
        let style = if self.kind == Kind::Loose { Style::Bare } else { Style::Named };
        loop {
            let asks: Vec<Ask> = (0..size).map(|_| self.next(dice, style)).collect();
            let Ok(answers) = self.send(decision, &asks) else {
                self.told.cut_off += size;
                if style == Style::Named {
                    self.cut_off = asks;
                } else {
                    asks.iter().for_each(|ask| self.count.lose(ask.cost));
                }
                return;
            };
            self.count_answers(&asks, &answers);
        }
    }

    /// Asks the next server for what was cut off.
    pub(super) fn ask_again(&mut self, decision: &mut Caller) {
        let asks = std::mem::take(&mut self.cut_off);
        if !asks.is_empty() {
            let answers = self.send(decision, &asks).unwrap();
            self.count_answers(&asks, &answers);
        }
    }

    fn next(&mut self, dice: &mut Dice, style: Style) -> Ask {
        let is_named = match style {
            Style::Mixed if dice.below(50) == 0 && !self.named.is_empty() => {
                return dice.pick(&self.named).clone();
            }
            Style::Mixed => dice.below(20) == 0,
            Style::Named => true,
            Style::Bare => false,
        };
        self.names += 1;
        let name = is_named.then(|| format!("{}-{}", self.account, self.names));
        let hold = style == Style::Mixed && name.is_none() && dice.below(40) == 0;
        let key = usize::try_from(dice.below(self.keys.len() as u64)).unwrap();
        Ask { key, cost: dice.below(SEARCH_COST) + 1, name, hold }
    }

    fn send(&mut self, decision: &mut Caller, asks: &[Ask]) -> io::Result<Vec<Value>> {
        let checks: Vec<Value> = asks.iter().map(|ask| self.check(ask)).collect();
        let batch = Asked::new("POST", "/v1/check/batch").json(&json!({"checks": checks}));
        let answer = decision.send(&batch)?;
        assert_eq!(answer.status, 200, "{}", answer.text());
        let Value::Array(results) = answer.json()["results"].take() else { panic!("{}", answer.text()) };
        assert_eq!(results.len(), asks.len());
        Ok(results)
    }

    fn check(&self, ask: &Ask) -> Value {
        let mut check = json!({"key": self.keys[ask.key]});
        // What costs as much as a search is one.
        if ask.cost == SEARCH_COST {
            check["path"] = "/search/all".into();
        } else {
            check["cost"] = ask.cost.into();
        }
        if let Some(name) = &ask.name {
            check["idempotency_key"] = name.as_str().into();
        }
        if ask.hold {
            check["hold"] = true.into();
        }
        check
    }

    /// Counts the answers, each of which must be the one that has to come. Returns the permits among them.
    fn count_answers(&mut self, asks: &[Ask], answers: &[Value]) -> Vec<(String, Charge)> {
        let mut permits = Vec::new();
        for (ask, answer) in asks.iter().zip(answers) {
            self.told.decisions += 1;
            if let Some(decision) = ask.name.as_ref().and_then(|name| self.known.get(name)) {
                assert_eq!(answer["decision_id"], decision.as_str(), "{}: {answer}", self.account);
                assert_eq!(answer["allowed"], true, "{answer}");
                self.told.repeated += 1;
                continue;
            }
            let meter = if self.count.meters.len() == 1 { 0 } else { ask.key };
            let Some(charge) = self.count.charge(meter, ask.cost) else {
                assert_eq!(answer["error"], "quota_exceeded", "{}: {answer}", self.account);
                self.told.refused += 1;
                continue;
            };
            assert_eq!(answer["allowed"], true, "{}: {:?}, {answer}", self.account, self.count);
            if let Some(name) = &ask.name {
                let decision = answer["decision_id"].as_str().unwrap().to_owned();
                self.known.insert(name.clone(), decision);
                self.named.push(ask.clone());
            }
            if ask.hold {
                permits.push((answer["permit"].as_str().unwrap().to_owned(), charge));
            }
        }
        permits
    }

    fn finish(&mut self, decision: &mut Caller, dice: &mut Dice, permit: &str, charge: Charge) {
        let (status, cost) = match dice.below(3) {
            0 => (200, dice.below(2 * SEARCH_COST)),
            1 => (503, dice.below(2 * SEARCH_COST)),
            _ => (503, charge.cost),
        };
        let is_given_back = status == 503 && self.kind == Kind::Refunding;
        let settled = if is_given_back { 0 } else { cost };
        let body = json!({"permit": permit, "status": status, "cost": cost});
        let answer = decision.send(&Asked::new("POST", "/v1/finish").json(&body)).unwrap();
        assert_eq!(answer.json()["settled"], settled, "{}", answer.text());
        self.count.finish(charge, settled);
        self.told.finished += 1;
    }
}
