//! Lives on one node whose meters are in memory: every step is compared at once.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;

use sluicegate_core::limit::Axis;
use sluicegate_core::policy::TierName;
use sluicegate_core::time::{Nanos, Timestamp};
use sluicegate_engine::clock::Reading;
use sluicegate_engine::{
    Answer, CallerRequest, Clock, Decision, Embedded, Engine, ErrorCode, FinishError, Front, Hold, Name,
    Permit, Purpose,
};
use sluicegate_ledger::{Position, SpoolSettings};
use sluicegate_store::directory::{AccountId, DisplayName, NewAccount, NewKey, Scopes};
use sluicegate_store::key_text::KeyEnv;
use sluicegate_testkit::dice::Dice;
use tempfile::TempDir;

use super::life::{Handle, Life, NamedBy};
use super::plans::{DAILY, EDITIONS_COUNT, MONTHLY, numbers, policy_text};
use super::sums::Sums;
use crate::place::{NOW, copy_dir, costing, policy, request, wait, writer};

const SECRET: &[u8] = b"a secret of tests";
const YEAR_S: i64 = 365 * 86_400;
const DAY_S: i64 = 86_400;
/// How long a step of the wall clock lasts until it is followed.
const HOLD: Nanos = Nanos::from_secs(600);

thread_local! {
    /// What the clocks of the machine say, also to a process that starts.
    static READING: Cell<Reading> = const { Cell::new(Reading {
        wall: NOW, monotonic: Nanos(0), boottime: Nanos(0), store: None,
    }) };
}

fn clock(not_before: Timestamp) -> Clock {
    Clock::manual(READING.get(), not_before)
}

/// A wall clock that shows another time.
#[derive(Clone, Copy, Debug)]
struct Step {
    ahead_s: i64,
    since: Nanos,
    /// Whether it lasts. If not, the clock is right again before it is followed.
    lasts: bool,
}

/// A node and all its accounts.
pub(crate) struct World {
    engine: Arc<Engine>,
    dir: Arc<TempDir>,
    dice: Dice,
    edition: usize,
    now: Timestamp,
    /// Time that has passed, whatever the wall clock shows.
    monotonic: Nanos,
    step: Option<Step>,
    lives: Vec<Life>,
    /// Admitted, refused, repeated for free, ended, killed or restarted: that none of it is missing from a run.
    pub(crate) counts: BTreeMap<&'static str, u64>,
}

impl World {
    pub(crate) fn new(seed: u64, lives: usize) -> Self {
        let dir = Arc::new(tempfile::tempdir().unwrap());
        READING.set(Reading { wall: NOW, monotonic: Nanos(0), boottime: Nanos(0), store: None });
        let engine = open(&dir, 0);
        let mut world = Self {
            engine,
            dir,
            dice: Dice::new(seed),
            edition: 0,
            now: NOW,
            monotonic: Nanos(0),
            step: None,
            lives: Vec::new(),
            counts: BTreeMap::new(),
        };
        for number in 0..lives {
            let tier = MONTHLY.get(number % 4).copied().unwrap_or(DAILY);
            let life = world.customer(format!("life-{number}"), tier);
            world.lives.push(life);
        }
        world
    }

    fn customer(&self, id: String, tier: &'static str) -> Life {
        let account = NewAccount {
            id: Some(AccountId::new(&id).unwrap()),
            name: DisplayName::new(&id).unwrap(),
            tier: TierName::new(tier).unwrap(),
            billing_day: None,
            timezone: None,
        };
        let key = NewKey {
            name: DisplayName::new("test").unwrap(),
            env: KeyEnv::Live,
            scopes: Scopes::new([]).unwrap(),
            expires_at: None,
        };
        let directory = self.engine.directory();
        wait(directory.create_account(account, &writer())).unwrap();
        let (_, key) = wait(directory.create_key(&id, key, &writer())).unwrap();
        Life::new(id, key.expose().to_owned(), tier)
    }

    /// Lets all lives go on for so many turns.
    pub(crate) fn run(&mut self, turns: usize) {
        for _ in 0..turns {
            match self.dice.below(1_000) {
                0..2 => self.kill(),
                2..4 => self.restart(),
                4..20 => self.reload(),
                20..30 => self.step_clock(),
                30..33 => self.follow_step(),
                33..50 => self.pass_days(),
                _ => self.turn(),
            }
        }
        self.check_ledger();
        for life in &mut self.lives {
            life.check_rate(&life.numbers(self.edition));
            *self.counts.entry("ended late").or_default() += life.ended_late;
            *self.counts.entry("rate intervals").or_default() += life.intervals;
        }
    }

    /// One account does a few things in a row.
    fn turn(&mut self) {
        let number = usize::try_from(self.dice.below(self.lives.len() as u64)).unwrap();
        let mut life = self.lives.swap_remove(number);
        for _ in 0..=self.dice.below(8) {
            let pause = Nanos(self.dice.below(3) * self.dice.below(900_000_000));
            self.advance(pause);
            life.abandon_old(self.now);
            match self.dice.below(20) {
                0..11 => self.charge(&mut life),
                11..16 => self.finish(&mut life),
                16 => self.renew(&mut life),
                17 => self.finish_again(&mut life),
                18 if self.dice.below(3) == 0 => self.change_tier(&mut life),
                _ => self.advance(Nanos::from_secs(20)),
            }
            self.check(&mut life);
        }
        self.lives.push(life);
    }

    fn charge(&mut self, life: &mut Life) {
        let cost = 1 + self.dice.below(7);
        let (name, by) = match self.dice.below(4) {
            // Always with the same cost: with another it is a conflict.
            0 => (Some(format!("service-{cost}")), NamedBy::Service),
            1 => (Some(format!("caller-{cost}")), NamedBy::Caller),
            _ => (None, NamedBy::Service),
        };
        let repeats = name.as_deref().and_then(|name| life.repeats(name, by, self.now));
        let key = life.key.clone();
        let by_service =
            name.is_none() && self.dice.below(2) == 0 || by == NamedBy::Service && name.is_some();
        let hold_s = u32::try_from(*self.dice.pick(&[60, 60, 60, 3_600, 86_400])).unwrap();
        let asked = CallerRequest {
            idempotency_key: name.as_deref().map(|text| Name::Given { text, query: None }),
            front: if by_service { Front::Decision } else { Front::Gateway },
            method: "POST",
            hold: if by_service { Hold::For(Nanos::from_secs(hold_s)) } else { Hold::Yes },
            ..costing(request(&key), cost)
        };
        let mut decision = self.engine.decide(&asked, self.now);
        let Some(permit) = decision.permit.take() else {
            return self.refused(life, &decision, cost, repeats.is_some(), &asked);
        };
        let handle = if by_service { self.hand_out(permit) } else { Handle::Process(permit) };
        match (repeats, name) {
            (Some(first), Some(name)) => {
                assert_eq!(decision.id, first, "a free repeat has the decision that it repeats");
                self.count("repeated");
                match handle {
                    Handle::Process(_) => life.repeated(handle, cost, name, self.now),
                    Handle::Service { text, ends } => self.rejoin(life, cost, &name, (text, ends)),
                }
            }
            (_, name) => {
                self.admitted(life, &decision, cost);
                life.charged(handle, (decision.id, cost), name, (self.edition, self.now));
            }
        }
    }

    fn hand_out(&self, permit: Box<Permit>) -> Handle {
        let handed = self.engine.keep(permit, self.now).unwrap();
        Handle::Service { text: handed.text, ends: self.now.plus(handed.lives) }
    }

    /// A service was given the permit of its first request again.
    fn rejoin(&mut self, life: &mut Life, cost: u64, name: &str, (text, ends): (String, Timestamp)) {
        if let Some(held) = life.rejoined(cost, name, self.now) {
            held.slot_until = ends;
            held.handle = Handle::Service { text, ends };
            return;
        }
        // The first is finished: so is this one, with the same answer.
        let finished = self.engine.finish_kept_here(&text, Some(200), Some(99), self.now).unwrap();
        assert_ne!(finished.settled, 99, "{}: settled twice", life.account);
    }

    fn admitted(&mut self, life: &mut Life, decision: &Decision, cost: u64) {
        assert!(decision.is_admitted());
        self.count("admitted");
        let numbers = life.numbers(self.edition);
        assert!(life.slots(self.now) < numbers.slots, "{}: more slots than there are", life.account);
        if numbers.refuses() {
            let (used, _) = life.statement.totals(life.period_start(self.now));
            assert!(used + cost <= numbers.quota, "{}: {used} + {cost} of {}", life.account, numbers.quota);
        }
    }

    fn refused(
        &mut self,
        life: &mut Life,
        decision: &Decision,
        cost: u64,
        repeats: bool,
        asked: &CallerRequest<'_>,
    ) {
        let Answer::Denied(denial) = &decision.answer else { panic!("admitted without a permit") };
        self.count(denial.error.as_str());
        let numbers = life.numbers(self.edition);
        if !repeats {
            life.noticed(self.edition, self.now);
        }
        let (used, _) = life.statement.totals(life.period_start(self.now));
        match denial.error {
            ErrorCode::ConcurrencyLimited => assert!(life.slots(self.now) >= numbers.slots),
            ErrorCode::QuotaExceeded => assert!(numbers.refuses() && !repeats && used + cost > numbers.quota),
            ErrorCode::RateLimited => {
                self.advance(denial.retry_after);
                let peek = CallerRequest { purpose: Purpose::Peek, ..*asked };
                let again = self.engine.decide(&peek, self.now).answer;
                let refuses =
                    matches!(&again, Answer::Denied(denial) if denial.error == ErrorCode::RateLimited);
                assert!(!refuses, "{}: Retry-After is not enough: {again:?}", life.account);
            }
            _ => panic!("{}: {denial:?}", life.account),
        }
    }

    fn finish(&mut self, life: &mut Life) {
        if life.open.is_empty() {
            return;
        }
        let number = usize::try_from(self.dice.below(life.open.len() as u64)).unwrap();
        let held = life.open.swap_remove(number);
        let (status, settled) = match self.dice.below(6) {
            0 | 1 => (Some(200), held.reserved),
            2 => (Some(503), held.reserved),
            3 => (Some(200), held.reserved + self.dice.below(15)),
            4 => (Some(200), self.dice.below(held.reserved + 1)),
            // Its caller went away.
            _ => (None, held.reserved),
        };
        self.count("finished");
        match &held.handle {
            Handle::Process(permit) => {
                self.engine.finish(permit, status, Some(settled), self.now).unwrap();
            }
            Handle::Service { text, .. } => {
                let answer = self.engine.finish_kept_here(text, status, Some(settled), self.now).unwrap();
                life.remember_finished(text.clone(), answer);
            }
        }
        life.ended(&held, settled, status == Some(503), self.edition, self.now);
    }

    /// A second finish of a permit gets the answer of the first time, and nothing changes.
    fn finish_again(&mut self, life: &mut Life) {
        for (text, answer) in &life.finished {
            match self.engine.finish_kept_here(text, Some(200), Some(77), self.now) {
                Ok(again) => {
                    assert_eq!(again, *answer, "{}", life.account);
                    *self.counts.entry("finished again").or_default() += 1;
                }
                Err(error) => assert_eq!(error, FinishError::TooLate, "{}", life.account),
            }
        }
    }

    fn renew(&mut self, life: &mut Life) {
        let hold = Nanos::from_secs(1_800);
        for held in &mut life.open {
            let Handle::Service { text, ends } = &mut held.handle else { continue };
            match self.engine.renew_kept_here(text, hold, self.now) {
                Ok(renewed) => {
                    assert!(self.now < *ends, "{}: renewed after its end", life.account);
                    (*text, *ends) = (renewed.text, self.now.plus(hold));
                    held.slot_until = *ends;
                    *self.counts.entry("renewed").or_default() += 1;
                }
                Err(error) => assert_eq!((error, *ends <= self.now), (FinishError::Expired, true)),
            }
        }
    }

    /// Moves the account to another tier, now and then back before it asks for anything.
    fn change_tier(&mut self, life: &mut Life) {
        if life.is_daily() {
            return;
        }
        let before = life.tier;
        let tier = *self.dice.pick(&MONTHLY);
        self.move_to(life, tier);
        if self.dice.below(3) == 0 {
            self.move_to(life, before);
            self.count("changes taken back");
        }
    }

    fn move_to(&mut self, life: &mut Life, tier: &'static str) {
        let before = life.numbers(self.edition);
        life.tier = tier;
        let name = TierName::new(tier).unwrap();
        wait(self.engine.directory().set_tier(&life.account, name, &writer())).unwrap();
        life.changed(&before, self.edition);
        self.count("tier changes");
    }

    /// Another edition, now and then the one before again.
    fn reload(&mut self) {
        self.put_into_force((self.edition + 1) % EDITIONS_COUNT);
        if self.dice.below(3) == 0 {
            self.put_into_force((self.edition + EDITIONS_COUNT - 1) % EDITIONS_COUNT);
            self.count("changes taken back");
        }
    }

    fn put_into_force(&mut self, edition: usize) {
        let before = self.edition;
        self.edition = edition;
        self.engine.reload(policy(&policy_text(edition))).unwrap();
        for life in &mut self.lives {
            life.changed(&numbers(before, life.tier), edition);
        }
        self.count("reloads");
    }

    /// The wall clock is wrong for a while; time goes on as if it were not.
    fn step_clock(&mut self) {
        let ahead_s = *self.dice.pick(&[2 * YEAR_S, 3 * DAY_S, -7_200]);
        self.step = Some(Step { ahead_s, since: self.monotonic, lasts: false });
        for _ in 0..3 {
            self.turn();
        }
        self.step = None;
        self.advance(Nanos::from_secs(1));
        self.count("clock steps");
    }

    /// The wall clock is ahead, and stays there: after a while it is followed.
    fn follow_step(&mut self) {
        let ahead_s = *self.dice.pick(&[7_200, 2 * DAY_S, 40 * DAY_S]);
        self.step = Some(Step { ahead_s, since: self.monotonic, lasts: true });
        self.advance(Nanos(0));
        while self.step.is_some() {
            self.turn();
            self.advance(Nanos::from_secs(60));
        }
        self.count("steps followed");
    }

    /// Half a day to twenty days pass.
    fn pass_days(&mut self) {
        let half_days = 1 + u32::try_from(self.dice.below(3) * self.dice.below(20)).unwrap();
        self.advance(Nanos::from_secs(half_days * 43_200));
    }

    /// Time passes.
    fn advance(&mut self, by: Nanos) {
        self.now = self.now.plus(by);
        self.monotonic = Nanos(self.monotonic.0 + by.0);
        let has_lasted = self.step.filter(|step| self.monotonic.0 - step.since.0 >= HOLD.0);
        if let Some(step) = has_lasted {
            self.step = None;
            if step.lasts {
                self.now = self.now.plus(Nanos::from_secs(u32::try_from(step.ahead_s).unwrap()));
            }
        }
        let ahead_ns = self.step.map_or(0, |step| step.ahead_s * 1_000_000_000);
        let wall = Timestamp::from_nanos(self.now.as_nanos().checked_add_signed(ahead_ns).unwrap());
        READING.set(Reading { wall, monotonic: self.monotonic, boottime: self.monotonic, store: None });
        self.engine.clock().read(READING.get());
        self.engine.follow_clock();
        assert_eq!(self.engine.now(), self.now, "time goes on by what is plausible: {:?}", self.step);
    }

    fn kill(&mut self) {
        let copy = tempfile::tempdir().unwrap();
        copy_dir(self.dir.path(), copy.path());
        self.dir = Arc::new(copy);
        for life in &mut self.lives {
            // What free repeats took is not recorded, and lost.
            life.begin_rate(&life.numbers(self.edition));
        }
        self.reopen();
        self.count("kills");
    }

    fn restart(&mut self) {
        self.engine.save(self.now).unwrap();
        self.count("restarts");
        // A process ends before another opens its directory.
        self.engine = open(&tempfile::tempdir().unwrap(), 0);
        self.reopen();
    }

    fn reopen(&mut self) {
        self.engine = open(&self.dir, self.edition);
        assert_eq!(self.engine.now(), self.now);
        self.lives.iter_mut().for_each(Life::killed);
        self.check_ledger();
        let mut lives = std::mem::take(&mut self.lives);
        lives.iter_mut().for_each(|life| self.check(life));
        self.lives = lives;
    }

    /// What the meters say of an account is what its statement says.
    fn check(&mut self, life: &mut Life) {
        let peek = CallerRequest { purpose: Purpose::Peek, ..request(&life.key) };
        let decision = self.engine.decide(&peek, self.now);
        let limit = |axis: Axis| decision.limits.iter().find(|limit| limit.axis == axis).unwrap();
        let quota = limit(Axis::Quota);
        let (used, overage) = life.statement.totals(life.period_start(self.now));
        let overage = if life.numbers(self.edition).refuses() { 0 } else { overage };
        assert_eq!((quota.used, quota.overage), (used, overage), "{} at {:?}", life.account, self.now);
        assert_eq!(limit(Axis::Concurrency).used, life.slots(self.now) as u64, "slots of {}", life.account);
    }

    /// What the ledger says of every account and period is what its statement says.
    fn check_ledger(&self) {
        let mut sums = Sums::default();
        self.engine.spool().read(Position(0), |_, record| sums.add(record)).unwrap();
        for life in &self.lives {
            let serial = wait(self.engine.directory().account(&life.account)).unwrap().unwrap().serial;
            let expected = life.statement.all();
            assert_eq!(sums.of(serial, |at| life.period_start(at)), expected, "{}", life.account);
        }
    }

    fn count(&mut self, what: &'static str) {
        *self.counts.entry(what).or_default() += 1;
    }
}

fn open(dir: &TempDir, edition: usize) -> Arc<Engine> {
    let spool = SpoolSettings { segment_records: 1 << 14, ..SpoolSettings::default() };
    let embedded = Embedded { clock, spool, ..Embedded::new(policy(&policy_text(edition))) };
    Arc::new(embedded.open(dir.path(), SECRET, |_| ()).unwrap().0)
}
