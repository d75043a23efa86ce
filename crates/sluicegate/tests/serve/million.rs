//! A million decisions, and whether everybody agrees on them: those who asked, the ledger, the meters, the chain, and
//! the files that DuckDB reads.
//!
//! The server is ended, killed and killed while it is asked; its policy is edited and its customers change their tiers.
//! Its clock is twenty minutes further on with every start, and stands just before a full hour with some, so that hours
//! end under load, are closed and sealed. While it is asked, its wall clock leaps ahead by two years, and back.
//! `SLUICEGATE_SLOW=1` makes it the whole million, otherwise it is a tenth.

mod customer;
mod model;
mod plans;
mod proof;

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use jiff::civil::{self, DateTime};
use serde_json::json;
use sluicegate_testkit::dice::Dice;
use sluicegate_testkit::faketime::WallClock;
use sluicegate_testkit::http::{Asked, Caller};
use sluicegate_testkit::server::Launch;
use sluicegate_testkit::wait;

use self::customer::{Customer, Told};
use self::model::{Count, Quota, Spent};
use self::plans::{Kind, policy, upgrading_quota, upgrading_tier};
use crate::bed::{Bed, PROGRAM, slow};

/// The first start: every third is two seconds before a full hour.
const FIRST: DateTime = civil::date(2026, 11, 10).at(8, 19, 58, 0);
const STEP_S: i64 = 20 * 60;
/// How far the wall clock leaps.
const LEAP_S: i64 = 2 * 365 * 86_400;

/// After each round something happens.
const ROUNDS: usize = 12;
/// Who asks at the same time. Each has customers of its own, of all kinds.
const WORKERS: u64 = 2;

/// One who asks.
struct Worker {
    dice: Dice,
    customers: Vec<Customer>,
}

/// The server and those who ask.
struct Million {
    bed: Bed,
    wall: WallClock,
    workers: Vec<Worker>,
    starts: i64,
    edition: usize,
    upgraded: bool,
    edits: u64,
    decisions: u64,
}

impl Million {
    fn start(decisions: u64) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let text = policy(0, decisions, 0, &folder.path().join("export"));
        let wall = WallClock::reading(folder.path(), time_of(0));
        let launch = Launch::apart(PROGRAM, folder.path()).policy(&text).wall_clock(&wall);
        let bed = Bed::launched(launch, folder);
        let workers = (0..WORKERS)
            .map(|number| {
                let customers = Kind::ALL.map(|kind| customer(&bed, kind, number, decisions)).into();
                Worker { dice: Dice::new(20_261_116 + number), customers }
            })
            .collect();
        Self { bed, wall, workers, starts: 1, edition: 0, upgraded: false, edits: 0, decisions }
    }

    fn export(&self) -> PathBuf {
        self.bed.folder.path().join("export")
    }

    fn customers(&self) -> impl Iterator<Item = &Customer> {
        self.workers.iter().flat_map(|worker| &worker.customers)
    }

    /// Starts another server where this one was, twenty minutes later.
    fn restart(&mut self) {
        self.wall.set(time_of(self.starts));
        self.starts += 1;
        self.bed.restart();
    }

    fn end(&mut self) {
        self.bed.server.terminate();
        assert!(self.bed.server.wait().success(), "{}", self.bed.server.said());
    }

    /// Everybody asks, while the policy is edited, tiers change, and the wall clock is wrong now and then.
    fn round(&mut self) {
        let export = self.export();
        let Self { bed, wall, workers, edits, edition, decisions, .. } = self;
        let (bed, share, asking) = (&*bed, *decisions / WORKERS / ROUNDS as u64, &AtomicBool::new(true));
        thread::scope(|scope| {
            let running: Vec<_> =
                workers.iter_mut().map(|worker| scope.spawn(move || worker.ask(bed, share))).collect();
            scope.spawn(move || {
                while asking.load(Ordering::Relaxed) {
                    *edits += 1;
                    write(bed, &policy(*edition, *decisions, *edits, &export));
                    move_customers(bed, *edits);
                    wait::pause(Duration::from_millis(100));
                    if edits.is_multiple_of(3) {
                        leap_and_return(bed, wall);
                    }
                }
            });
            let ended: Vec<_> = running.into_iter().map(thread::ScopedJoinHandle::join).collect();
            asking.store(false, Ordering::Relaxed);
            ended.into_iter().for_each(|ended| ended.unwrap());
        });
    }

    /// Accounts move between billed tiers of different sizes: what was included stays so, and what was billed.
    fn change_billed_tiers(&mut self) {
        self.upgraded = !self.upgraded;
        let tier = upgrading_tier(self.upgraded);
        let quota = Quota { amount: upgrading_quota(self.upgraded, self.decisions), spent: Spent::Bills };
        for worker in 0..WORKERS {
            set_tier(&self.bed, &format!("upgrading-{worker}"), tier);
        }
        let all = self.workers.iter_mut().flat_map(|worker| &mut worker.customers);
        all.filter(|customer| customer.kind == Kind::Upgrading)
            .for_each(|customer| customer.count.change(quota));
    }

    /// Kills the server while everybody asks.
    fn kill_in_flight(&mut self, after: Duration) {
        let Self { bed, workers, .. } = self;
        let address = bed.server.decision();
        thread::scope(|scope| {
            for worker in workers {
                let Worker { dice, customers } = worker;
                for customer in customers.iter_mut().filter(|customer| is_cut_off(customer.kind)) {
                    let mut dice = Dice::new(dice.roll());
                    let mut decision = Caller::new(address);
                    scope.spawn(move || customer.ask_until_cut_off(&mut decision, &mut dice, 60));
                }
            }
            wait::pause(after);
            bed.server.kill();
        });
        self.restart();
        let mut decision = Caller::new(self.bed.server.decision());
        for worker in &mut self.workers {
            worker.customers.iter_mut().for_each(|customer| customer.ask_again(&mut decision));
        }
    }

    /// Quotas are raised or lowered: what was used stays.
    fn change_quotas(&mut self) {
        self.edition += 1;
        let text = policy(self.edition, self.decisions, self.edits, &self.export());
        write(&self.bed, &text);
        wait::until("the new quotas are in force", || {
            (self.bed.get("/admin/v1/policy")["text"] == text.as_str()).then_some(())
        });
        let (edition, decisions) = (self.edition, self.decisions);
        for customer in self.workers.iter_mut().flat_map(|worker| &mut worker.customers) {
            if customer.kind != Kind::Upgrading {
                customer.count.change(customer.kind.quota(edition, decisions));
            }
        }
    }

    fn told(&self) -> Told {
        self.customers().fold(Told::default(), |sum, customer| sum.plus(customer.told))
    }
}

impl Worker {
    /// Asks for so many decisions.
    fn ask(&mut self, bed: &Bed, decisions: u64) {
        let (mut decision, mut gateway) =
            (Caller::new(bed.server.decision()), Caller::new(bed.server.gateway()));
        let mut left = decisions;
        while left > 0 {
            let place = usize::try_from(self.dice.below(self.customers.len() as u64)).unwrap();
            let customer = &mut self.customers[place];
            let size = [1, 30, 300, 1_000][usize::try_from(self.dice.below(4)).unwrap()].min(left);
            for _ in 0..size.min(5) {
                customer.pass(&mut gateway);
            }
            customer.ask(&mut decision, &mut self.dice, size);
            left -= size;
        }
    }
}

/// What the clock says at a start, in seconds since 1970.
fn time_of(start: i64) -> i64 {
    let first = FIRST.to_zoned(jiff::tz::TimeZone::UTC).unwrap().timestamp().as_second();
    first + STEP_S * start
}

fn customer(bed: &Bed, kind: Kind, worker: u64, decisions: u64) -> Customer {
    let account = format!("{}-{worker}", kind.name());
    bed.account(&account, kind.name());
    let keys = (0..kind.keys()).map(|_| bed.key_with(&account, &json!({})).key).collect();
    let count = Count::new(kind.quota(0, decisions), kind.keys());
    Customer::new(account, kind, keys, count)
}

/// Whose requests are under way when the server is killed.
fn is_cut_off(kind: Kind) -> bool {
    matches!(kind, Kind::Monthly | Kind::Billed | Kind::Loose)
}

/// Puts another policy in the place of the old one.
fn write(bed: &Bed, text: &str) {
    let (path, beside) = (bed.policy_path(), bed.policy_path().with_extension("new"));
    fs::write(&beside, text).unwrap();
    fs::rename(&beside, &path).unwrap();
}

fn move_customers(bed: &Bed, edits: u64) {
    let tier = if edits.is_multiple_of(2) { "moving" } else { "moved" };
    for worker in 0..WORKERS {
        set_tier(bed, &format!("moving-{worker}"), tier);
    }
}

fn set_tier(bed: &Bed, account: &str, tier: &str) {
    let path = format!("/admin/v1/accounts/{account}/tier");
    let moved = bed.admin(Asked::new("PUT", &path).json(&json!({"tier": tier})));
    assert_eq!(moved.status, 200, "{}", moved.text());
}

/// The wall clock leaps ahead, the server notices and does not follow, and it is set right again.
fn leap_and_return(bed: &Bed, wall: &WallClock) {
    let is = |state: &str| (bed.health()["clock"]["state"] == state).then_some(());
    wall.step_by(LEAP_S);
    wait::until("the leap is noticed", || is("implausible"));
    wall.step_by(-LEAP_S);
    wait::until("the clock is right again", || is("plausible"));
}

#[test]
fn everybody_agrees_on_what_was_used() {
    let decisions = if slow() { 1_000_000 } else { 100_000 };
    let mut million = Million::start(decisions);
    let mut dice = Dice::new(10);
    for round in 0..ROUNDS {
        million.round();
        million.change_billed_tiers();
        match round % 4 {
            0 => million.change_quotas(),
            1 => {
                million.end();
                million.restart();
            }
            // Everything was answered.
            2 => {
                million.bed.server.kill();
                million.restart();
            }
            _ => million.kill_in_flight(Duration::from_millis(20 + dice.below(200))),
        }
    }
    println!("{:?} in {} starts", million.told(), million.starts);
    proof::expect_everybody_to_agree(million);
}
