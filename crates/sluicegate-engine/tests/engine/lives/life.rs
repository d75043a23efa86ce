//! One account and what its requests did so far, as an observer outside of the engine knows it.

use std::collections::BTreeMap;

use sluicegate_core::time::{Nanos, Timestamp};
use sluicegate_engine::{DecisionId, Finished, Permit};

use super::plans::{DAILY, TierNumbers, numbers};
use super::statement::{LateEnd, RateLog, Statement};

/// How long a slot is held if nobody releases it.
const LEASE_S: u32 = 60;
/// How long a name is remembered.
const NAME_LIVES_S: u32 = 86_400;
/// How often a name may be repeated without a charge.
const FREE_REPEATS_MAX: u32 = 5;

/// How long after its lease a permit can be finished, and how long a request of the process takes at the most.
const DAY_S: u32 = 86_400;
/// How many finished permits of an account are finished once more now and then.
const FINISHED_MAX: usize = 4;

/// How a request is finished.
pub(crate) enum Handle {
    /// By the process that admitted it.
    Process(Box<Permit>),
    /// By a service that has this text until this instant.
    Service { text: String, ends: Timestamp },
}

/// A request that was admitted and has not ended.
pub(crate) struct Held {
    pub(crate) handle: Handle,
    /// Its decision: that of a free repeat is the first's.
    id: DecisionId,
    pub(crate) charged_at: Timestamp,
    /// Until when its slot counts.
    pub(crate) slot_until: Timestamp,
    /// What was reserved; 0: a free repeat.
    pub(crate) reserved: u64,
    /// Whether the tier that it was charged under returns what failed.
    refunds: bool,
    pub(crate) name: Option<String>,
    /// Its entry in the log of the rate, and the epoch of that log.
    rate_entry: (u64, usize),
}

/// What is known of a name.
#[derive(Clone, Copy, Debug)]
struct NameState {
    first: DecisionId,
    since: Timestamp,
    open: u32,
    free: u32,
    delivered: bool,
}

/// Who says the name of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NamedBy {
    /// The caller, through the gateway.
    Caller,
    /// The service that asks for the decision, which vouches for it.
    Service,
}

/// One account.
pub(crate) struct Life {
    /// Permits that were finished, and what was answered.
    pub(crate) finished: Vec<(String, Finished)>,
    pub(crate) account: String,
    pub(crate) key: String,
    pub(crate) tier: &'static str,
    pub(crate) statement: Statement,
    pub(crate) open: Vec<Held>,
    /// How many requests had another cost in the end, after their period.
    pub(crate) ended_late: u64,
    /// How many intervals kept the bound of the rate.
    pub(crate) intervals: u64,
    rate: RateLog,
    rate_epoch: u64,
    names: BTreeMap<String, NameState>,
}

impl Life {
    pub(crate) fn new(account: String, key: String, tier: &'static str) -> Self {
        let statement = Statement::default();
        Self {
            finished: Vec::new(),
            account,
            key,
            tier,
            statement,
            open: Vec::new(),
            ended_late: 0,
            intervals: 0,
            rate: RateLog::default(),
            rate_epoch: 0,
            names: BTreeMap::new(),
        }
    }

    pub(crate) fn numbers(&self, edition: usize) -> TierNumbers {
        numbers(edition, self.tier)
    }

    /// Whether its quota is by the day, not by the month.
    pub(crate) fn is_daily(&self) -> bool {
        self.tier == DAILY
    }

    /// The second in which the period of an instant begins.
    pub(crate) fn period_start(&self, at: Timestamp) -> u64 {
        let days = i64::from(at.as_secs()) / 86_400;
        let first = if self.is_daily() { days } else { days - i64::from(day_of_month(days)) + 1 };
        u64::try_from(first * 86_400).unwrap()
    }

    /// The second in which the period of an instant ends.
    fn period_end(&self, at: Timestamp) -> u64 {
        let longest = if self.is_daily() { 1 } else { 31 };
        let start = self.period_start(at);
        let beyond = Timestamp::from_secs(u32::try_from(start + longest * 86_400).unwrap());
        self.period_start(beyond)
    }

    /// Its numbers have changed. With another rate, what was admitted so far kept the bound of the one before.
    pub(crate) fn changed(&mut self, before: &TierNumbers, edition: usize) {
        if !before.has_rate_of(&self.numbers(edition)) {
            self.begin_rate(before);
        }
    }

    /// What was admitted so far kept the bound. From now on it is counted anew.
    pub(crate) fn begin_rate(&mut self, numbers: &TierNumbers) {
        self.check_rate(numbers);
        self.rate.clear();
        self.rate_epoch += 1;
    }

    /// How many slots are held.
    pub(crate) fn slots(&self, now: Timestamp) -> usize {
        self.open.iter().filter(|held| now < held.slot_until).count()
    }

    /// Whether a request under this name would be a free repeat of which decision.
    pub(crate) fn repeats(&self, name: &str, by: NamedBy, now: Timestamp) -> Option<DecisionId> {
        let state = self.names.get(name)?;
        if now.as_secs() - state.since.as_secs() >= NAME_LIVES_S {
            return None;
        }
        let failed_so_far = state.open == 0 && !state.delivered && state.free < FREE_REPEATS_MAX;
        (by == NamedBy::Service || failed_so_far).then_some(state.first)
    }

    /// A request was admitted and charged.
    pub(crate) fn charged(
        &mut self,
        handle: Handle,
        (id, cost): (DecisionId, u64),
        name: Option<String>,
        (edition, now): (usize, Timestamp),
    ) {
        let numbers = self.numbers(edition);
        self.statement.period(self.period_start(now), numbers.included()).used += cost;
        if let Some(name) = &name {
            let new = NameState { first: id, since: now, open: 0, free: 0, delivered: false };
            let lives = |state: &&mut NameState| now.as_secs() - state.since.as_secs() < NAME_LIVES_S;
            match self.names.get_mut(name).filter(lives) {
                Some(state) => state.open += 1,
                None => drop(self.names.insert(name.clone(), NameState { open: 1, ..new })),
            }
        }
        self.hold((handle, id), (cost, cost), !numbers.refuses(), name, now);
    }

    /// A request was admitted as a free repeat.
    pub(crate) fn repeated(&mut self, handle: Handle, cost: u64, name: String, now: Timestamp) {
        let state = self.names.get_mut(&name).unwrap();
        let first = state.first;
        (state.open, state.free) = (state.open + 1, state.free + 1);
        self.hold((handle, first), (0, cost), false, Some(name), now);
    }

    /// A service has asked again for what it was admitted before: it holds the slot of the first once more.
    pub(crate) fn rejoined(&mut self, cost: u64, name: &str, now: Timestamp) -> Option<&mut Held> {
        self.rate.admit(instant(now), cost);
        self.open.iter_mut().find(|held| held.name.as_deref() == Some(name))
    }

    fn hold(
        &mut self,
        (handle, id): (Handle, DecisionId),
        (reserved, cost): (u64, u64),
        refunds: bool,
        name: Option<String>,
        now: Timestamp,
    ) {
        let rate_entry = (self.rate_epoch, self.rate.admit(instant(now), cost));
        let slot_until = match &handle {
            Handle::Process(_) => now.plus(Nanos::from_secs(LEASE_S)),
            Handle::Service { ends, .. } => *ends,
        };
        self.open.push(Held { handle, id, charged_at: now, slot_until, reserved, refunds, name, rate_entry });
    }

    /// A permit was finished.
    pub(crate) fn remember_finished(&mut self, text: String, answer: Finished) {
        if self.finished.len() == FINISHED_MAX {
            self.finished.remove(0);
        }
        self.finished.push((text, answer));
    }

    /// A request has ended and cost `settled`; `failed`: its upstream failed it.
    pub(crate) fn ended(&mut self, held: &Held, settled: u64, failed: bool, edition: usize, now: Timestamp) {
        let refunded = failed && held.refunds && held.reserved > 0;
        let settled = if refunded { 0 } else { settled };
        if let Some(name) = &held.name {
            self.end_name(name, held.id, held.reserved > 0 && settled == 0, failed);
        }
        if held.reserved == 0 || settled == held.reserved {
            return;
        }
        let (start, included) = (self.period_start(held.charged_at), self.numbers(edition).included());
        let start_now = self.period_start(now);
        if start == start_now {
            let period = self.statement.period(start, included);
            period.used = period.used + settled - held.reserved;
        } else {
            self.noticed(edition, now);
            let more = settled.cast_signed() - held.reserved.cast_signed();
            let (end, now) = (self.period_end(held.charged_at), now.as_secs().into());
            let late = LateEnd { start, end, now, start_now, included, more };
            self.statement.end_late(late);
            self.ended_late += 1;
        }
        if settled > held.reserved {
            self.rate.exceed(instant(now), settled - held.reserved);
        } else if !refunded && held.rate_entry.0 == self.rate_epoch {
            self.rate.lower(held.rate_entry.1, settled);
        }
    }

    /// A call was more than a peek: the store knows the plan that is in force.
    pub(crate) fn noticed(&mut self, edition: usize, now: Timestamp) {
        self.statement.notice(self.period_start(now), self.numbers(edition).included());
    }

    /// An attempt under a name has ended. With the charge that the name stands for, the name is forgotten; another
    /// attempt that was charged and got its charge back has delivered nothing.
    fn end_name(&mut self, name: &str, id: DecisionId, refunded: bool, failed: bool) {
        let Some(state) = self.names.get_mut(name) else { return };
        if refunded && state.first == id {
            self.names.remove(name);
        } else {
            state.open = state.open.saturating_sub(1);
            state.delivered |= !failed && !refunded;
        }
    }

    /// The process was killed: its requests died with it, and how attempts have ended is not known. What services
    /// hold they still hold.
    pub(crate) fn killed(&mut self) {
        self.open.retain(|held| matches!(held.handle, Handle::Service { .. }));
        for state in self.names.values_mut() {
            state.delivered = true;
        }
    }

    /// Forgets requests that are too old to be finished. What they reserved stays charged.
    pub(crate) fn abandon_old(&mut self, now: Timestamp) {
        let day = Nanos::from_secs(DAY_S);
        self.open.retain(|held| match &held.handle {
            Handle::Process(_) => now < held.charged_at.plus(day),
            Handle::Service { ends, .. } => now < ends.plus(day),
        });
    }

    /// That every interval kept the bound of the rate.
    pub(crate) fn check_rate(&mut self, numbers: &TierNumbers) {
        let TierNumbers { burst, per_second, .. } = *numbers;
        match self.rate.check(burst, per_second) {
            Ok(checked) => self.intervals += checked,
            Err((from, to, amount)) => {
                panic!("{}: {amount} from {from} to {to}, with {burst} + {per_second}/s", self.account)
            }
        }
    }
}

/// An instant that is known exactly.
fn instant(at: Timestamp) -> (u64, u64) {
    (at.as_nanos(), at.as_nanos())
}

/// The day of the month of a day since 1970, counted from 1.
fn day_of_month(days: i64) -> u8 {
    let date = jiff::civil::date(1970, 1, 1) + jiff::Span::new().days(days);
    u8::try_from(date.day()).unwrap()
}
