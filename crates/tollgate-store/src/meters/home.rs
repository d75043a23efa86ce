//! The meters of one home, packed: two small ones lie in the cell itself, anything more in a list of its own.
//!
//! Most callers have a rate and a quota, which together fill the cell to the last byte: a decision for them
//! touches one cache line and allocates nothing.

use arrayvec::ArrayVec;
use tollgate_core::book::LimitId;
use tollgate_core::meter::{Meter, Moment, Readied, SmallMeter, State};
use tollgate_core::plan::{CHARGES_MAX, Charge, ChargePlan, Mode};
use tollgate_core::rule::concurrency::SlotId;
use tollgate_core::rule::{Ask, Rule, Verdict};
use tollgate_core::settle::{Outcome, Readings, settle};
use tollgate_core::time::{Nanos, Timestamp};

use super::shared_book::SharedBook;

/// How many meters fit a cell.
const SMALL_MAX: usize = 2;

/// A meter whose state is one number and a half: a token bucket's instant, or a count and its window.
#[repr(C, packed(4))]
#[derive(Clone, Copy, Debug, Default)]
struct Small {
    limit: u32,
    sharer: u32,
    value: u64,
    extra: u32,
}

/// A meter in the list of a home that has outgrown its cell.
#[derive(Debug)]
struct Entry {
    limit: LimitId,
    sharer: u32,
    meter: Meter,
}

/// Which half of the payload holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(u32)]
enum Form {
    /// No meters. Zero, so that zeroed memory is a home without meters.
    #[default]
    None = 0,
    One = 1,
    Two = 2,
    List = 3,
}

/// A pointer that a cell can hold without the alignment that would cost it eight bytes.
#[repr(C, packed(4))]
#[derive(Clone, Copy)]
struct ListPointer(*mut Vec<Entry>);

#[repr(C)]
union Payload {
    small: [Small; SMALL_MAX],
    list: ListPointer,
}

/// The meters of one home.
#[repr(C)]
pub(crate) struct Home {
    form: Form,
    payload: Payload,
}

// SAFETY: the list is owned by the home alone, and an entry can be sent.
unsafe impl Send for Home {}

impl Default for Home {
    fn default() -> Self {
        Self { form: Form::None, payload: Payload { small: [Small::default(); SMALL_MAX] } }
    }
}

impl std::fmt::Debug for Home {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Home").field("form", &self.form).finish_non_exhaustive()
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        drop(self.take_list());
    }
}

impl Home {
    /// Settles a plan against the meters of this home.
    #[inline]
    pub(crate) fn settle(
        &mut self,
        plan: &ChargePlan<'_>,
        book: &SharedBook,
        readings: &mut Readings,
    ) -> Outcome {
        match self.settle_in_cell(plan, readings) {
            Some(outcome) => outcome,
            None => self.settle_in_list(plan, book, readings),
        }
    }

    /// Settles a plan whose charges all have their small meters here, in order, written under the very limits
    /// that are asked.
    #[inline]
    fn settle_in_cell(&mut self, plan: &ChargePlan<'_>, readings: &mut Readings) -> Option<Outcome> {
        let charges = plan.charges();
        let small = self.small_mut().get_mut(..charges.len())?;
        let ready = charges.iter().zip(&*small).all(|(charge, small)| small.is_ready_for(charge, plan.now));
        ready.then(|| settle(plan, small, readings))
    }

    /// Settles any plan: meters that are new, large, or were written under other limits.
    #[cold]
    fn settle_in_list(
        &mut self,
        plan: &ChargePlan<'_>,
        book: &SharedBook,
        readings: &mut Readings,
    ) -> Outcome {
        self.with_list(|list| settle_list(list, plan, book, readings))
    }

    /// Forgets the meters that say nothing any more, and says whether any are left.
    pub(crate) fn forget_idle(&mut self, book: &SharedBook, now: Timestamp) -> Left {
        let book = book.read();
        let moment = Moment { now, period: None, slot: SlotId(0) };
        let says = |limit, meter: &Meter| {
            let rule = book.rule(limit);
            rule.is_some_and(|rule| meter.settle(rule, Ask::Look, &moment).1.reset > Nanos::ZERO)
        };
        if self.form != Form::List
            && self.small_mut().iter().all(|small| {
                let Entry { limit, meter, .. } = small.entry();
                says(limit, &meter)
            })
        {
            // As most homes are in a sweep: nothing to forget, nothing to pack anew.
            return if self.form == Form::None { Left::Nothing } else { Left::Meters };
        }
        self.with_list(|list| {
            list.retain(|entry| says(entry.limit, &entry.meter));
            if list.is_empty() { Left::Nothing } else { Left::Meters }
        })
    }

    /// Calls `f` with the meters as a list, and packs them again afterwards.
    fn with_list<R>(&mut self, f: impl FnOnce(&mut Vec<Entry>) -> R) -> R {
        let mut list = match self.take_list() {
            Some(list) => list,
            None => Box::new(self.small_mut().iter().map(|small| small.entry()).collect()),
        };
        // An unwind here would forget the meters of the home.
        let whole = AbortOnUnwind;
        let result = f(&mut list);
        self.pack(list);
        std::mem::forget(whole);
        result
    }

    #[expect(clippy::box_collection, reason = "the cell holds one pointer, not three words")]
    fn pack(&mut self, list: Box<Vec<Entry>>) {
        let small: Option<ArrayVec<Small, SMALL_MAX>> =
            if list.len() <= SMALL_MAX { list.iter().map(Small::of).collect() } else { None };
        let Some(small) = small else {
            self.form = Form::List;
            self.payload.list = ListPointer(Box::into_raw(list));
            return;
        };
        self.form = match small.len() {
            0 => Form::None,
            1 => Form::One,
            _ => Form::Two,
        };
        let mut packed = [Small::default(); SMALL_MAX];
        packed[..small.len()].copy_from_slice(&small);
        self.payload.small = packed;
    }

    fn small_mut(&mut self) -> &mut [Small] {
        let count = match self.form {
            Form::None | Form::List => return &mut [],
            Form::One => 1,
            Form::Two => 2,
        };
        // SAFETY: the form says that the payload holds small meters.
        unsafe { &mut self.payload.small[..count] }
    }

    #[expect(clippy::box_collection, reason = "the cell holds one pointer, not three words")]
    fn take_list(&mut self) -> Option<Box<Vec<Entry>>> {
        if self.form != Form::List {
            return None;
        }
        self.form = Form::None;
        // SAFETY: the form said that the payload holds a list, which `pack` made from a box; it does not say
        // so any more.
        Some(unsafe { Box::from_raw(self.payload.list.0) })
    }
}

/// Ends the process when it is dropped, which happens only where a panic unwinds past it: usage that was
/// counted must not be forgotten, and a server that restarts has it on disk.
pub(crate) struct AbortOnUnwind;

impl Drop for AbortOnUnwind {
    fn drop(&mut self) {
        std::process::abort();
    }
}

/// Whether a home still has meters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Left {
    Meters,
    Nothing,
}

/// Settles a plan against meters that were never used: what a home says that does not exist.
pub(crate) fn settle_fresh(plan: &ChargePlan<'_>, readings: &mut Readings) -> Outcome {
    let mut meters: ArrayVec<Meter, CHARGES_MAX> =
        plan.charges().iter().map(|charge| Meter::fresh(&charge.limit.rule)).collect();
    settle(plan, &mut meters, readings)
}

fn settle_list(
    list: &mut Vec<Entry>,
    plan: &ChargePlan<'_>,
    book: &SharedBook,
    readings: &mut Readings,
) -> Outcome {
    let mut places = ArrayVec::<Option<usize>, CHARGES_MAX>::new();
    let mut meters = ArrayVec::<Meter, CHARGES_MAX>::new();
    let mut originals = ArrayVec::<Option<Meter>, CHARGES_MAX>::new();
    for charge in plan.charges() {
        let place = place_of(list, charge, book);
        let meter = match place {
            // Moved out and back again: a long log is not copied for each request.
            Some(place) => std::mem::take(&mut list[place].meter),
            None => Meter::fresh(&charge.limit.rule),
        };
        let edited = place.is_some_and(|place| list[place].limit != charge.id);
        // A peek keeps nothing, not even what has to be changed before it can be answered.
        let at_stake = plan.mode == Mode::Peek && (edited || matches!(meter, Meter::Small(_)));
        originals.push(at_stake.then(|| meter.clone()));
        places.push(place);
        meters.push(meter);
    }
    let readied = bring_up(list, plan, &places, &mut meters, book);
    let outcome = settle(plan, &mut meters, readings);
    let kept = is_kept(outcome, plan.mode, readied);
    let created = outcome.changes_meters(plan.mode) && !matches!(plan.mode, Mode::Refund { .. });
    let settled = originals.into_iter().zip(meters).map(|(original, meter)| original.unwrap_or(meter));
    for ((charge, place), meter) in plan.charges().iter().zip(places).zip(settled) {
        match place {
            Some(place) => {
                list[place].meter = meter;
                if kept {
                    list[place].limit = charge.id;
                }
            }
            None if created => list.push(Entry { limit: charge.id, sharer: charge.sharer.get(), meter }),
            None => {}
        }
    }
    // In the order of plans, in which they are looked for when they fit the cell again.
    if list.len() <= SMALL_MAX {
        list.sort_by_key(|entry| plan.charges().iter().position(|charge| entry.is_exactly(charge)));
    }
    outcome
}

/// Makes the meters that exist ready to be asked.
fn bring_up(
    list: &[Entry],
    plan: &ChargePlan<'_>,
    places: &[Option<usize>],
    meters: &mut [Meter],
    book: &SharedBook,
) -> Readied {
    let mut readied = Readied::AsItWas;
    for ((charge, place), meter) in plan.charges().iter().zip(places).zip(meters) {
        let (rule, moment) = (&charge.limit.rule, plan.moment(charge));
        let changed = match place.map(|place| list[place].limit) {
            None => Readied::AsItWas,
            Some(same) if same == charge.id => meter.bring_up(rule, rule, &moment),
            Some(other) => match book.read().rule(other) {
                Some(written) => meter.bring_up(written, rule, &moment),
                None => Readied::AsItWas,
            },
        };
        if changed == Readied::Changed {
            readied = Readied::Changed;
        }
    }
    readied
}

/// Where the meter of a charge is. The book is asked only if none was written under the very limit: its lock
/// is shared by all.
fn place_of(list: &[Entry], charge: &Charge<'_>, book: &SharedBook) -> Option<usize> {
    let mine = |entry: &&Entry| entry.sharer == charge.sharer.get();
    let exact = list.iter().position(|entry| entry.is_exactly(charge));
    if exact.is_some() || !list.iter().any(|entry| mine(&entry)) {
        return exact;
    }
    let book = book.read();
    list.iter().position(|entry| mine(&entry) && book.same_meter(entry.limit, charge.id))
}

/// Whether the meters of a settled plan are written back: they were charged, or had to be changed before they
/// could be asked.
fn is_kept(outcome: Outcome, mode: Mode, readied: Readied) -> bool {
    outcome.changes_meters(mode) || (readied == Readied::Changed && mode != Mode::Peek)
}

impl Entry {
    /// Whether it is the meter of `charge`, written under the very limit.
    fn is_exactly(&self, charge: &Charge<'_>) -> bool {
        self.limit == charge.id && self.sharer == charge.sharer.get()
    }
}

impl State for Small {
    type Step = SmallMeter;

    #[inline(always)]
    fn settle(&self, rule: &Rule, ask: Ask, moment: &Moment<'_>) -> (SmallMeter, Verdict) {
        self.meter().settle(rule, ask, moment)
    }

    #[inline]
    fn apply(&mut self, step: SmallMeter) {
        (self.value, self.extra) = (step.value, step.extra);
    }
}

impl Small {
    /// Whether it is the meter of `charge` and can be asked as it is.
    #[inline]
    fn is_ready_for(self, charge: &Charge<'_>, now: Timestamp) -> bool {
        self.limit == charge.id.get()
            && self.sharer == charge.sharer.get()
            && self.meter().mended(&charge.limit.rule, now).is_none()
    }

    #[inline]
    fn meter(self) -> SmallMeter {
        SmallMeter { value: self.value, extra: self.extra }
    }

    fn of(entry: &Entry) -> Option<Self> {
        let Meter::Small(meter) = entry.meter else { return None };
        let SmallMeter { value, extra } = meter;
        Some(Self { limit: entry.limit.get(), sharer: entry.sharer, value, extra })
    }

    fn entry(self) -> Entry {
        let limit = LimitId::from_number(self.limit);
        Entry { limit, sharer: self.sharer, meter: Meter::Small(self.meter()) }
    }
}

#[cfg(test)]
mod tests {
    use tollgate_core::calendar::{Calendar, CalendarUnit};
    use tollgate_core::limit::{Axis, Excess, Limit, LimitName, Per, RefusalStatus};
    use tollgate_core::plan::{HomeId, Sharer};
    use tollgate_core::rule::{Amount, TokenBucket};
    use tollgate_core::time::Window;

    use super::*;

    fn limit(name: &str, axis: Axis, rule: Rule) -> Limit {
        let excess = Excess::Refuse(RefusalStatus::TooManyRequests);
        Limit { name: LimitName::new(name).unwrap(), axis, per: Per::Account, rule, excess }
    }

    #[test]
    fn a_rate_and_a_quota_fill_a_cache_line_to_the_last_byte() {
        assert_eq!(size_of::<Small>(), 20);
        assert_eq!(size_of::<Home>(), 44);
        assert_eq!(size_of::<super::super::cell::Cell<Home>>(), 64);
    }

    #[test]
    fn a_rate_that_was_forgotten_and_comes_back_is_found_in_the_cell_again() {
        let calendar = Calendar::utc(CalendarUnit::Month);
        let rate = Rule::TokenBucket(TokenBucket::new(10, Window::SECOND, 20).unwrap());
        let limits = [
            limit("rate", Axis::Rate, rate),
            limit("quota", Axis::Quota, Rule::Calendar { limit: Amount::new(100).unwrap(), calendar }),
        ];
        let (book, mut home, mut readings) = (SharedBook::default(), Home::default(), Readings::new());
        let plan_at = |secs| {
            let mut plan = ChargePlan::new(HomeId(1), Timestamp::from_secs(secs), Mode::Charge, SlotId(0));
            for limit in &limits {
                let id = book.enter(limit);
                plan.add(Charge { limit, id, sharer: Sharer::ALL, cost: Amount::ONE, period: None });
            }
            plan
        };
        home.settle(&plan_at(1_000), &book, &mut readings);
        assert_eq!(home.forget_idle(&book, Timestamp::from_secs(1_060)), Left::Meters);
        assert_eq!(home.form, Form::One);
        home.settle(&plan_at(1_061), &book, &mut readings);
        assert!(home.settle_in_cell(&plan_at(1_062), &mut readings).is_some());
        assert_eq!(readings[1].used, 3);
    }
}
