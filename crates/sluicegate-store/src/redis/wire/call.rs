//! A call as the script reads it.

use sluicegate_core::plan::{Charge, ChargePlan, Due, Expects, HomeId, Mode};
use sluicegate_core::rule::Amount;
use sluicegate_core::time::Timestamp;

use super::LAYOUT;
use super::blob::front;
use super::limit::{Billing, Kind, WireLimit};
use super::number::{MICRO, micros, put};
use super::outcome::Told;
use crate::redis::meters::{Ask, CallError, HomeCall, NodeId, RequestName, Seq};

/// Requests that owe to a fine token bucket and to a window: the call that is made most.
const COMMON: u8 = 1;
/// Any plans; limits whose meters are large come with their keys.
const PLANS: u8 = 2;
/// Any plans; all limits come with their keys.
const PLANS_WITH_KEYS: u8 = 3;
/// What became of a call, and a fence that keeps it so.
const RESOLVE: u8 = 4;

/// Instead of the instant since when a name is charged: now.
const NOW: f64 = -1.0;

/// The most limits that the plans of one call may have together.
pub(crate) const LIMITS_MAX: usize = 255;

/// Which limits come with their keys.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Keys {
    /// Those whose meters are large.
    Needed,
    /// All of them: some meter was large under the limit that it was written under.
    All,
}

/// Which clock decides.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum DecidesBy {
    /// This instant.
    Given(Timestamp),
    /// The server's own clock up to this instant. Where it is past it, the instant [`TimeBound::STEP_MAX`] before.
    ///
    /// [`TimeBound::STEP_MAX`]: crate::redis::TimeBound::STEP_MAX
    Server {
        /// The latest plausible instant.
        latest: Timestamp,
    },
}

/// When a call is made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct When {
    /// Which clock decides.
    pub(crate) by: DecidesBy,
    /// About when it is there, to choose calendar periods by.
    pub(crate) near: Timestamp,
}

/// A call in bytes.
#[derive(Debug)]
pub(crate) struct WireCall<'p> {
    /// Every limit of its plans once.
    pub(crate) limits: Vec<WireLimit<'p>>,
    /// For each charge of each plan, in order, the place of its limit.
    pub(crate) places: Vec<usize>,
    pub(crate) keys: Vec<Vec<u8>>,
    pub(crate) head: Vec<u8>,
    pub(crate) body: Vec<u8>,
    /// Where the numbers of a home with this head begin, in digits: to turn it into them takes a script long.
    pub(crate) offset: String,
}

impl<'p> WireCall<'p> {
    pub(crate) fn new(call: &HomeCall<'p>, node: NodeId, when: When, keys: Keys) -> Result<Self, CallError> {
        if call.asks.len() > HomeCall::ASKS_MAX || call.asks.iter().any(|ask| refuses_too_late(ask.plan)) {
            return Err(CallError::TooLarge);
        }
        let (limits, places) = limits_of(call.asks)?;
        let head = head_of(&limits);
        let offset = (head.len() + size_of::<f64>()).to_string();
        let home = vec![home_key(call.home)];
        let mut wire = Self { head, limits, places, keys: home, body: Vec::new(), offset };
        if keys == Keys::Needed && wire.is_common(call) {
            wire.put_start(COMMON, node, call.seq, when.by);
            wire.put_common(call, when)?;
            return Ok(wire);
        }
        let operation = if keys == Keys::All { PLANS_WITH_KEYS } else { PLANS };
        wire.put_start(operation, node, call.seq, when.by);
        let writes = call.asks.iter().any(|ask| ask.plan.mode != Mode::Peek);
        wire.body.push(u8::from(writes));
        wire.put_count(call.asks.len())?;
        wire.put_limits(call.home, when, keys);
        wire.put_asks(call.home, call.asks)?;
        Ok(wire)
    }

    fn put_start(&mut self, operation: u8, node: NodeId, seq: Seq, by: DecidesBy) {
        self.body.extend(start(operation, node, seq, by));
    }

    fn put_count(&mut self, count: usize) -> Result<(), CallError> {
        let count = u16::try_from(count).map_err(|_| CallError::TooLarge)?;
        self.body.extend(count.to_le_bytes());
        Ok(())
    }

    fn is_common(&self, call: &HomeCall<'_>) -> bool {
        let [bucket, window] = self.limits.as_slice() else { return false };
        bucket.kind == Kind::FineBucket
            && matches!(window.kind, Kind::FixedWindow | Kind::Calendar)
            && bucket.billing() == Billing::Refused
            && window.billing() == Billing::Refused
            && call.asks.iter().all(|ask| ask.plan.mode == Mode::Charge && ask.plan.is_plain())
            && call.asks.iter().all(|ask| ask.name.is_none())
            && call.asks.iter().all(|ask| ask.plan.charges().len() == 2)
            && self.places.chunks(2).all(|places| places == [0, 1])
    }

    /// The numbers of the bucket; limit, length (a calendar's is 0) and bounds of the window; whether it keeps the
    /// period before; then the costs.
    fn put_common(&mut self, call: &HomeCall<'_>, when: When) -> Result<(), CallError> {
        for limit in &self.limits {
            let mut numbers = Vec::with_capacity(48);
            limit.put_numbers(when.near, &mut numbers);
            match limit.kind {
                Kind::Calendar => {
                    let (amount, bounds) = numbers.split_at(size_of::<f64>());
                    self.body.extend(amount);
                    put(0, &mut self.body);
                    self.body.extend(bounds);
                }
                Kind::FixedWindow => {
                    self.body.extend(numbers);
                    self.body.extend([0; 4 * size_of::<f64>()]);
                }
                _ => self.body.extend(numbers),
            }
        }
        self.body.push(u8::from(self.limits.iter().any(WireLimit::keeps_past)));
        self.put_count(call.asks.len())?;
        for charge in call.asks.iter().flat_map(|ask| ask.plan.charges()) {
            put(charge.cost.get(), &mut self.body);
        }
        Ok(())
    }

    fn put_limits(&mut self, home: HomeId, when: When, keys: Keys) {
        for limit in &self.limits {
            self.body.push(limit.kind as u8);
            limit.billing().put(limit.keeps_past(), &mut self.body);
            limit.put_numbers(when.near, &mut self.body);
            if keys == Keys::All || limit.kind.is_large() {
                self.keys.push(meter_key(home, limit.id));
            }
        }
    }

    fn put_asks(&mut self, home: HomeId, asks: &[Ask<'_>]) -> Result<(), CallError> {
        let mut places = self.places.iter();
        for Ask { plan, holder, name, hold } in asks {
            let slots = plan
                .charges()
                .iter()
                .zip(places.clone())
                .any(|(_, place)| self.limits.get(*place).is_some_and(|limit| limit.kind == Kind::Slots));
            let charges = u8::try_from(plan.charges().len()).map_err(|_| CallError::TooLarge)?;
            // What belongs to no charge before is charged now, whenever that is there.
            let (mode, charged_at, reserved) = match plan.mode {
                Mode::Charge => (0, None, None),
                Mode::Peek => (1, None, None),
                Mode::Force => (2, Some(Timestamp::MAX), None),
                Mode::Correct { charged_at } => (2, Some(charged_at), None),
                Mode::Refund { charged_at, reserved } => (3, Some(charged_at), Some(reserved)),
            };
            // Nothing is expected of a charge that is not there.
            let expects = plan.expects.filter(|expects| expects.place < plan.charges().len());
            let hold = hold.filter(|_| slots);
            let parts = u8::from(slots)
                | u8::from(expects.is_some()) << 1
                | u8::from(name.is_some()) << 2
                | u8::from(hold.is_some()) << 3;
            self.body.extend([mode, parts, charges]);
            charged_at.into_iter().for_each(|at| put(micros(at), &mut self.body));
            reserved.into_iter().for_each(|reserved| put(reserved.get(), &mut self.body));
            if slots {
                self.body.extend(holder.0.to_le_bytes());
                self.body.extend(plan.slot.0.to_le_bytes());
            }
            if let Some(expects) = expects {
                put_expects(expects, &mut self.body);
            }
            if let Some(name) = name {
                // Behind the keys of all limits. The script counts from one.
                self.keys.push(name_key(home, name.key));
                put_name(self.keys.len(), name, &mut self.body)?;
            }
            if let Some(hold) = hold {
                put(hold.0.div_ceil(MICRO), &mut self.body);
            }
            for (charge, place) in plan.charges().iter().zip(&mut places) {
                // The script counts from one, and there are at most 255.
                self.body.push(u8::try_from(place + 1).unwrap_or(u8::MAX));
                self.body.push(due(charge));
                put(charge.cost.get(), &mut self.body);
                let end = charged_at.and_then(|at| self.limits.get(*place)?.period_end(at));
                end.into_iter().for_each(|end| put(micros(end), &mut self.body));
            }
        }
        Ok(())
    }
}

/// Appends a name: the place of its key, the request, the decision, what is done with it, and since when it is charged
/// (below zero: now).
fn put_name(key: usize, name: &RequestName, into: &mut Vec<u8>) -> Result<(), CallError> {
    into.extend(u16::try_from(key).map_err(|_| CallError::TooLarge)?.to_le_bytes());
    into.extend(name.request.to_le_bytes());
    into.extend(name.decision.to_le_bytes());
    into.push(name.used as u8);
    match name.since {
        Some(since) => put(micros(since), into),
        None => into.extend(NOW.to_le_bytes()),
    }
    Ok(())
}

/// When a charge is due: 0 on admission, 1 on refusal, 2 on admission but not by a repeat.
fn due(charge: &Charge<'_>) -> u8 {
    match charge.due {
        Due::Refusal => 1,
        Due::Admission if charge.limit.counts_repeats() => 0,
        Due::Admission => 2,
    }
}

/// Appends what is expected: the place of the charge, and what must remain there.
fn put_expects(expects: Expects, into: &mut Vec<u8>) {
    // The script counts from one, and a plan has fewer than 255 charges.
    into.push(u8::try_from(expects.place + 1).unwrap_or(u8::MAX));
    // No more than this ever remains.
    put(expects.least.min(Amount::MAX + 1), into);
    put(expects.most.min(Amount::MAX), into);
}

/// Whether a charge that may refuse comes too late in a plan for the script to name it.
fn refuses_too_late(plan: &ChargePlan<'_>) -> bool {
    plan.charges().iter().skip(Told::CHARGES_MAX).any(|charge| charge.due == Due::Admission)
}

/// The question what became of a call.
pub(crate) fn resolve(node: NodeId, in_doubt: Seq, fence: Seq, by: DecidesBy) -> Vec<u8> {
    let mut body = start(RESOLVE, node, fence, by);
    put(in_doubt.get(), &mut body);
    body
}

/// The key of a home. Everything of a home has its id in braces, so a cluster keeps it on one node.
pub(crate) fn home_key(home: HomeId) -> Vec<u8> {
    format!("sg{LAYOUT}:{{{:032x}}}", home.0).into_bytes()
}

/// The key of the hash that has the meters of a home, if there are many.
pub(crate) fn many_key(home: HomeId) -> Vec<u8> {
    format!("sg{LAYOUT}:{{{:032x}}}:m", home.0).into_bytes()
}

/// The key of what a meter has that does not fit its home.
pub(crate) fn meter_key(home: HomeId, id: [u8; 8]) -> Vec<u8> {
    format!("sg{LAYOUT}:{{{:032x}}}:{:016x}", home.0, u64::from_be_bytes(id)).into_bytes()
}

/// The key of a permit that was finished.
pub(crate) fn permit_key(home: HomeId, decision: u128) -> Vec<u8> {
    format!("sg{LAYOUT}:{{{:032x}}}:p:{decision:032x}", home.0).into_bytes()
}

/// The key of a name that is remembered.
pub(crate) fn name_key(home: HomeId, name: u64) -> Vec<u8> {
    format!("sg{LAYOUT}:{{{:032x}}}:i:{name:016x}", home.0).into_bytes()
}

/// What every call begins with. An instant below zero is the bound of the server's clock.
fn start(operation: u8, node: NodeId, seq: Seq, by: DecidesBy) -> Vec<u8> {
    let mut body = vec![operation];
    body.extend(node.0.to_le_bytes());
    put(seq.get(), &mut body);
    match by {
        DecidesBy::Given(at) => put(micros(at), &mut body),
        DecidesBy::Server { latest } => {
            let bound = micros(latest).max(1).cast_signed().saturating_neg();
            body.extend((bound as f64).to_le_bytes());
        }
    }
    body
}

/// Every limit once, and for each charge the place of its own.
fn limits_of<'p>(asks: &[Ask<'p>]) -> Result<(Vec<WireLimit<'p>>, Vec<usize>), CallError> {
    let mut limits: Vec<WireLimit<'p>> = Vec::new();
    let mut places = Vec::new();
    for charge in asks.iter().flat_map(|ask| ask.plan.charges()) {
        let place = match limits.iter().position(|limit| limit.has_meter_of(charge)) {
            Some(place) if limits[place].agrees_with(charge) => place,
            Some(_) => return Err(CallError::Mixed),
            None if limits.len() == LIMITS_MAX => return Err(CallError::TooLarge),
            None => {
                limits.push(WireLimit::new(charge));
                limits.len() - 1
            }
        };
        places.push(place);
    }
    Ok((limits, places))
}

fn head_of(limits: &[WireLimit<'_>]) -> Vec<u8> {
    let (mut shape, mut numbers) = (Vec::with_capacity(64), 0);
    for limit in limits {
        limit.put_shape(numbers, &mut shape);
        numbers += limit.width();
    }
    front(&shape, numbers)
}
