//! kill -9, again and again, under load: nothing that was answered is lost, and no quota admits one too many.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::RwLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use sluicegate_testkit::dice::Dice;
use sluicegate_testkit::http::{Answer, Asked, Caller};
use sluicegate_testkit::wait;

use crate::bed::{Bed, check, slow, spool};
use crate::tally::{Tally, ledger, reconcile};

const TIGHT_QUOTA: u64 = 400;
const DAILY_QUOTA: u64 = 2_000;

const POLICY: &str = "
tiers:
  tight: {quota: 400}
  daily: {rate: 100_000, burst: 200_000, quota: 2_000, quota_window: sliding_day}
  wide: {rate: 1_000_000, quota: 100_000_000}
  billed: {quota: 100, on_quota_exceeded: bill_overage}
  named: {quota: 100_000_000}
";

/// An account of the test, and its key.
struct Customer {
    account: String,
    tier: &'static str,
    key: String,
}

/// What the clients have in common.
struct Load {
    customers: Vec<Customer>,
    /// Who gives every request a name, so that none of its requests is ever cut off without a trace.
    named: Customer,
    /// Where the server is now: it moves with every start.
    addresses: RwLock<Addresses>,
    over: AtomicBool,
}

#[derive(Clone, Copy)]
struct Addresses {
    gateway: SocketAddr,
    decision: SocketAddr,
}

impl Addresses {
    fn of(bed: &Bed) -> Self {
        Self { gateway: bed.server.gateway(), decision: bed.server.decision() }
    }
}

/// One client: what it saw, and whom it talks to.
struct Client<'l> {
    load: &'l Load,
    dice: Dice,
    tally: Tally,
    gateway: Caller,
    decision: Caller,
}

impl<'l> Client<'l> {
    fn new(load: &'l Load, seed: u64) -> Self {
        let addresses = *load.addresses.read().unwrap();
        let (gateway, decision) = (Caller::new(addresses.gateway), Caller::new(addresses.decision));
        Self { load, dice: Dice::new(seed), tally: Tally::default(), gateway, decision }
    }

    /// Asks in one way after the other until it is over.
    fn run(mut self) -> Tally {
        while !self.load.over.load(Ordering::Relaxed) {
            let customer = self.dice.pick(&self.load.customers);
            let went_well = match self.dice.below(6) {
                0 | 1 => self.through_gateway(customer),
                2 => self.in_a_batch(customer),
                3 => self.by_check(customer),
                _ => self.with_a_name(&self.load.named),
            };
            if went_well.is_none() {
                self.look_for_the_server();
            }
        }
        self.tally
    }

    fn through_gateway(&mut self, customer: &Customer) -> Option<()> {
        let sent = send(&mut self.gateway, &Asked::get("/").key(&customer.key));
        let answer = self.answered(customer, sent, 1)?;
        match answer.status {
            // The echo repeats what it was told about the caller.
            200 => {
                let echoed = answer.json();
                let decision = echoed["headers"]["x-sluicegate-decision"].as_str().unwrap();
                self.tally.admit(&customer.account, decision);
            }
            402 => self.tally.of(&customer.account).refused += 1,
            _ => panic!("{answer:?}"),
        }
        Some(())
    }

    fn by_check(&mut self, customer: &Customer) -> Option<()> {
        let sent = send(&mut self.decision, &check(&json!({"key": customer.key})));
        let answer = self.answered(customer, sent, 1)?;
        self.count(customer, &answer.json());
        Some(())
    }

    fn in_a_batch(&mut self, customer: &Customer) -> Option<()> {
        let size = self.dice.below(8) + 1;
        let checks: Vec<Value> = (0..size).map(|_| json!({"key": customer.key})).collect();
        let batch = Asked::new("POST", "/v1/check/batch").json(&json!({"checks": checks}));
        let sent = send(&mut self.decision, &batch);
        let answer = self.answered(customer, sent, size)?.json();
        answer["results"].as_array().unwrap().iter().for_each(|answer| self.count(customer, answer));
        Some(())
    }

    /// What is cut off is sent again under the same name, to the next server: it is charged once all the same.
    fn with_a_name(&mut self, customer: &Customer) -> Option<()> {
        let name = format!("{:016x}", self.dice.roll());
        let asked = check(&json!({"key": customer.key, "idempotency_key": name}));
        loop {
            // The last server is not killed, so this comes to an end.
            if let Sent::Answered(answer) = send(&mut self.decision, &asked) {
                self.count(customer, &answer.json());
                return Some(());
            }
            self.look_for_the_server();
        }
    }

    /// The answer, if there is one; otherwise so many decisions may have been cut off.
    fn answered(&mut self, customer: &Customer, sent: Sent, decisions: u64) -> Option<Answer> {
        match sent {
            Sent::Answered(answer) => return Some(answer),
            Sent::CutOff => self.tally.of(&customer.account).cut_off += decisions,
            Sent::NoServer => {}
        }
        None
    }

    fn count(&mut self, customer: &Customer, answer: &Value) {
        match (answer["allowed"].as_bool(), answer["error"].as_str()) {
            (Some(true), None) => {
                self.tally.admit(&customer.account, answer["decision_id"].as_str().unwrap());
            }
            (Some(false), Some("quota_exceeded")) => self.tally.of(&customer.account).refused += 1,
            _ => panic!("{answer}"),
        }
    }

    fn look_for_the_server(&mut self) {
        wait::pause(Duration::from_millis(2));
        let addresses = *self.load.addresses.read().unwrap();
        (self.gateway, self.decision) = (Caller::new(addresses.gateway), Caller::new(addresses.decision));
    }
}

/// What became of a request.
enum Sent {
    Answered(Answer),
    /// The server may have had it.
    CutOff,
    /// There was no server.
    NoServer,
}

fn send(caller: &mut Caller, asked: &Asked) -> Sent {
    match caller.send(asked) {
        Ok(answer) => Sent::Answered(answer),
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => Sent::NoServer,
        Err(_) => Sent::CutOff,
    }
}

fn customer(bed: &Bed, tier: &'static str, index: u32) -> Customer {
    let account = format!("{tier}-{index}");
    let key = bed.customer(&account, tier);
    Customer { account, tier, key }
}

fn customers(bed: &Bed) -> Vec<Customer> {
    let tiers = [("tight", 12), ("daily", 3), ("wide", 2), ("billed", 1)];
    tiers.iter().flat_map(|(tier, count)| (0..*count).map(|index| customer(bed, tier, index))).collect()
}

#[test]
fn nothing_answered_is_lost_and_no_quota_exceeded_however_often_it_is_killed() {
    kill_again_and_again(POLICY, 20);
}

/// Answers wait for the disk, and most kills come while they do: what was charged is known, and was never answered.
#[test]
fn what_is_killed_between_its_charge_and_its_answer_is_charged_once() {
    kill_again_and_again(&format!("{POLICY}ledger: {{durability: strict}}\n"), 10);
}

fn kill_again_and_again(policy: &str, kills: usize) {
    let kills = if slow() { 10 * kills } else { kills };
    let mut bed = Bed::start_apart(policy);
    let (customers, named) = (customers(&bed), customer(&bed, "named", 0));
    let addresses = RwLock::new(Addresses::of(&bed));
    let load = Load { customers, named, addresses, over: AtomicBool::new(false) };
    let mut tally = Tally::default();
    thread::scope(|scope| {
        let clients: Vec<_> = (0..4)
            .map(|seed| {
                scope.spawn({
                    let load = &load;
                    move || Client::new(load, seed).run()
                })
            })
            .collect();
        let mut dice = Dice::new(20_261_005);
        for _ in 0..kills {
            wait::pause(Duration::from_millis(dice.below(250)));
            bed.server.kill();
            if dice.below(4) == 0 {
                // Again, while it still counts what it had recorded.
                bed.launch.start_and_kill(Duration::from_millis(dice.below(60)));
            }
            bed.restart();
            *load.addresses.write().unwrap() = Addresses::of(&bed);
        }
        // The last server works, too.
        wait::pause(Duration::from_millis(200));
        load.over.store(true, Ordering::Relaxed);
        clients.into_iter().for_each(|client| tally.add(client.join().unwrap()));
    });
    let cut_off: u64 = tally.0.values().map(|seen| seen.cut_off).sum();
    let admitted: usize = tally.0.values().map(|seen| seen.admitted.len()).sum();
    println!("{kills} kills, {admitted} answers, {cut_off} requests cut off");
    assert!(admitted > kills, "only {admitted} requests were answered");
    assert_eq!(tally.0["named-0"].cut_off, 0);
    let customers: Vec<&Customer> = load.customers.iter().chain([&load.named]).collect();
    expect_the_books_to_agree(bed, &customers, &tally);
}

/// The meters, the ledger and the outside count say the same.
fn expect_the_books_to_agree(mut bed: Bed, customers: &[&Customer], tally: &Tally) {
    let metered: Vec<u64> = customers.iter().map(|customer| bed.used(&customer.account, "quota")).collect();
    bed.server.kill();
    let costs = reconcile(tally, &ledger(&spool(&bed.data_dir())));
    for (customer, metered) in customers.iter().zip(metered) {
        let account = &customer.account;
        let Some(&cost) = costs.get(account) else { continue };
        assert_eq!(metered, cost, "{account}: the meter and the ledger differ");
        let quota = match customer.tier {
            "tight" => TIGHT_QUOTA,
            "daily" => DAILY_QUOTA,
            _ => continue,
        };
        assert!(cost <= quota, "{account}: {cost} of {quota}");
        if tally.0[account].refused > 0 {
            assert_eq!(cost, quota, "{account} was refused before its quota was spent");
        }
    }
}
