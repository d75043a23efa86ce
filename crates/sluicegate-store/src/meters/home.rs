//! The meters of one home, packed: two small ones lie in the cell itself, anything more in a list of its own.
//!
//! Most callers have a rate and a quota, which together fill the cell to the last byte: a decision for them
//! touches one cache line and allocates nothing.

use arrayvec::ArrayVec;
use sluicegate_core::book::LimitId;
use sluicegate_core::image::Written;
use sluicegate_core::limit::Axis;
use sluicegate_core::meter::{Meter, Moment, SmallMeter, State};
use sluicegate_core::past::is_kept;
use sluicegate_core::plan::{Charge, ChargePlan, SubjectClass};
use sluicegate_core::rule::concurrency::SlotHold;
use sluicegate_core::rule::{Ask, Rule, Verdict};
use sluicegate_core::settle::{Outcome, Readings, settle};
use sluicegate_core::time::{Nanos, Timestamp};

use super::beside::settle_beside;
use super::entries::{Entries, Entry};
use super::form::{Form, packed, unpacked};
use super::image;
use super::list::{exact_place_of, renew_list, settle_list};
use super::shared_book::SharedBook;
use super::unwind::AbortOnUnwind;

/// How many meters fit a cell.
const SMALL_MAX: usize = 2;

/// A meter whose state is one number and a half: a token bucket's instant, or a count and its window.
#[repr(C, packed(4))]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Small {
    limit: u32,
    sharer: u32,
    value: u64,
    extra: u32,
}

/// A pointer that a cell can hold without the alignment that would cost it eight bytes.
#[repr(C, packed(4))]
#[derive(Clone, Copy)]
struct ListPointer(*mut Entries);

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
        Self { form: Form::NONE, payload: Payload { small: [Small::default(); SMALL_MAX] } }
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
    /// Whose it is.
    #[inline]
    pub(crate) fn class(&self) -> SubjectClass {
        self.form.class()
    }

    pub(crate) fn set_class(&mut self, class: SubjectClass) {
        self.form = self.form.with_class(class);
    }

    #[inline]
    pub(crate) fn is_counted(&self) -> bool {
        self.form.is_counted()
    }

    pub(crate) fn set_counted(&mut self, is_counted: bool) {
        self.form = self.form.with_counted(is_counted);
    }

    /// Whether it has no meters.
    pub(crate) fn is_empty(&self) -> bool {
        self.form.layout() == Form::NONE
    }

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
        let Some(small) = self.small_mut().get_mut(..charges.len()) else {
            return if plan.is_plain() { None } else { settle_beside(self.small_mut(), plan, readings) };
        };
        let ready = match (charges, &*small) {
            ([first, second], [one, other]) => {
                one.is_ready_for(first, plan) && other.is_ready_for(second, plan)
            }
            _ => charges.iter().zip(&*small).all(|(charge, small)| small.is_ready_for(charge, plan)),
        };
        if ready { Some(settle(plan, small, readings)) } else { None }
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

    /// Has the overage of the quota of a plan that was just settled be as much more, or less, in the period that the
    /// plan belongs to, whatever the limits of now say.
    #[cold]
    pub(crate) fn adjust_overage(&mut self, plan: &ChargePlan<'_>, by: i128) {
        let Some(charge) = billed_charge(plan) else { return };
        self.with_list(|list| {
            if let Some(place) = exact_place_of(list, charge) {
                let meter = &mut list[place].meter;
                let included = charge.limit.included();
                meter.adjust_overage(&charge.limit.rule, &plan.moment(charge), included, by);
            }
        });
    }

    /// Has the concurrency limits of a plan hold these slots.
    #[cold]
    pub(crate) fn renew_slots(&mut self, plan: &ChargePlan<'_>, holds: &[SlotHold], book: &SharedBook) {
        self.with_list(|list| renew_list(list, plan, holds, book));
    }

    /// Forgets the meters that say nothing any more, and says whether any are left. Of a long list so many are looked
    /// at, from the one before `from` down; the answer says from where to go on.
    pub(crate) fn forget_idle(
        &mut self,
        book: &SharedBook,
        now: Timestamp,
        from: usize,
        visits: usize,
    ) -> (Left, Option<usize>) {
        let book = book.read();
        let says = |limit, meter: &Meter| {
            book.terms(limit).is_some_and(|terms| meter.reset(terms, now) > Nanos::ZERO)
        };
        self.forget_packed_past(now);
        if self.form.layout() != Form::LIST
            && self.small_mut().iter().all(|small| {
                let Entry { limit, meter, .. } = small.entry(0);
                says(limit, &meter)
            })
        {
            // As most homes are in a sweep: nothing to forget, nothing to pack anew.
            return (self.left(), None);
        }
        let next = self.with_list(|list| {
            list.retain_before(from, visits, |entry| {
                entry.meter.forget_past(now);
                says(entry.limit, &entry.meter)
            })
        });
        (self.left(), next)
    }

    pub(crate) fn left(&self) -> Left {
        if self.is_empty() { Left::Nothing } else { Left::Meters }
    }

    /// Forgets the past period in the form, if it takes no corrections any more.
    fn forget_packed_past(&mut self, now: Timestamp) {
        let end = match self.small_mut().last() {
            Some(last) => Timestamp::from_secs(last.extra),
            None => return,
        };
        if self.form.past() > 0 && !is_kept(end, now) {
            self.form = self.form.laid_out(self.form.layout());
        }
    }

    /// Whether a meter counts in a period that begins after `at`.
    pub(crate) fn is_ahead_of(&mut self, book: &SharedBook, at: Timestamp) -> bool {
        let book = book.read();
        let mut is_ahead = false;
        self.for_each(|entry| {
            let start = book.rule(entry.limit).and_then(|rule| entry.meter.period_start(rule));
            is_ahead |= start.is_some_and(|start| start > at);
        });
        is_ahead
    }

    /// Appends the image of the meters, and says when the last of them will have nothing to say any more.
    /// Nothing if none has an image.
    pub(crate) fn write_image(
        &mut self,
        book: &SharedBook,
        now: Timestamp,
        into: &mut Vec<u8>,
    ) -> Option<Nanos> {
        let book = book.read();
        let before = into.len();
        let mut last = None;
        image::begin(self.class(), into);
        self.for_each(|entry| {
            if let (Written::Image, Some(terms)) =
                (image::encode(entry, &book, into), book.terms(entry.limit))
            {
                last = last.max(Some(entry.meter.reset(terms, now)));
            }
        });
        if last.is_none() {
            into.truncate(before);
        }
        last
    }

    /// Forgets every meter.
    pub(crate) fn clear(&mut self) {
        drop(self.take_list());
        self.form = self.form.laid_out(Form::NONE);
    }

    /// Puts these meters in place of all there are.
    pub(crate) fn replace(&mut self, meters: Vec<Entry>) {
        drop(self.take_list());
        self.pack(Box::new(meters.into()));
    }

    fn for_each(&mut self, f: impl FnMut(&Entry)) {
        if self.form.layout() == Form::LIST {
            // SAFETY: the form says that the payload holds a list, which is the home's alone.
            unsafe { &*self.payload.list.0 }.iter().for_each(f);
        } else {
            self.small_entries().iter().for_each(f);
        }
    }

    /// The small meters as entries of a list.
    fn small_entries(&mut self) -> ArrayVec<Entry, SMALL_MAX> {
        let past = self.form.past();
        let mut entries: ArrayVec<Entry, SMALL_MAX> =
            self.small_mut().iter().map(|small| small.entry(0)).collect();
        if let (Some(entry), Some(small)) = (entries.last_mut(), self.small_mut().last()) {
            *entry = small.entry(past);
        }
        entries
    }

    /// Calls `f` with the meters as a list, and packs them again afterwards.
    fn with_list<R>(&mut self, f: impl FnOnce(&mut Entries) -> R) -> R {
        let mut list = match self.take_list() {
            Some(list) => list,
            None => Box::new(self.small_entries().into_iter().collect::<Vec<_>>().into()),
        };
        // An unwind here would forget the meters of the home.
        let whole = AbortOnUnwind;
        let result = f(&mut list);
        self.pack(list);
        std::mem::forget(whole);
        result
    }

    fn pack(&mut self, list: Box<Entries>) {
        let small: Option<ArrayVec<(Small, u32), SMALL_MAX>> =
            if list.len() <= SMALL_MAX { list.iter().map(Small::of).collect() } else { None };
        // Only the last has room for its past period.
        let small = small.filter(|small| small.iter().rev().skip(1).all(|(_, past)| *past == 0));
        let Some(small) = small else {
            self.form = self.form.laid_out(Form::LIST);
            self.payload.list = ListPointer(Box::into_raw(list));
            return;
        };
        let past = small.last().map_or(0, |(_, past)| *past);
        self.form = self.form.laid_out(Form::of_small(small.len(), past));
        let mut packed = [Small::default(); SMALL_MAX];
        packed.iter_mut().zip(&small).for_each(|(packed, (small, _))| *packed = *small);
        self.payload.small = packed;
    }

    #[inline]
    fn small_mut(&mut self) -> &mut [Small] {
        let count = self.form.small();
        // SAFETY: the form says that the payload holds so many small meters.
        unsafe { &mut self.payload.small[..count] }
    }

    fn take_list(&mut self) -> Option<Box<Entries>> {
        if self.form.layout() != Form::LIST {
            return None;
        }
        self.form = self.form.laid_out(Form::NONE);
        // SAFETY: the form said that the payload holds a list, which `pack` made from a box; it does not say
        // so any more.
        Some(unsafe { Box::from_raw(self.payload.list.0) })
    }
}

/// The charge of the quota that is billed. Under a plan that bills nothing, the one that may have been before.
fn billed_charge<'p, 'c>(plan: &'p ChargePlan<'c>) -> Option<&'p Charge<'c>> {
    let charges = plan.charges();
    let may_have_been = |charge: &&Charge<'_>| charge.limit.axis == Axis::Quota && charge.limit.keeps_past();
    let billed = charges.iter().find(|charge| charge.limit.included().is_some());
    billed.or_else(|| charges.iter().find(may_have_been))
}

/// Whether a home still has meters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Left {
    Meters,
    Nothing,
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
    // Always inlined: every decision asks it of each of its meters.
    #[inline(always)]
    pub(super) fn is_ready_for(&self, charge: &Charge<'_>, plan: &ChargePlan<'_>) -> bool {
        self.limit == charge.id.get()
            && self.sharer == charge.sharer.get()
            && self.meter().mended(&charge.limit.rule, plan.now).is_none()
            && self.is_of_its_period(charge, plan)
    }

    /// Whether it counts in the period of the plan, and of the charge that the plan belongs to. Otherwise there are two
    /// periods to look at, if both are kept.
    #[inline(always)]
    fn is_of_its_period(&self, charge: &Charge<'_>, plan: &ChargePlan<'_>) -> bool {
        let start = match (&charge.limit.rule, &charge.period) {
            (Rule::Calendar { .. }, Some(period)) => period.start,
            (Rule::Calendar { calendar, .. }, None) => calendar.period_at(plan.now).start,
            (Rule::FixedWindow(windowed), _) if charge.limit.keeps_past() => windowed.aligned(plan.now).start,
            _ => return true,
        };
        self.extra == start.as_secs() && plan.mode.is_of_period(start)
    }

    #[inline]
    fn meter(self) -> SmallMeter {
        SmallMeter { value: self.value, extra: self.extra }
    }

    /// A meter, and the count of its previous period, if they fit a cell.
    fn of(entry: &Entry) -> Option<(Self, u32)> {
        let (SmallMeter { value, extra }, past) = packed(&entry.meter)?;
        Some((Self { limit: entry.limit.get(), sharer: entry.sharer, value, extra }, past))
    }

    /// The meter, with this count in its previous period.
    fn entry(self, past: u32) -> Entry {
        let limit = LimitId::from_number(self.limit);
        Entry { limit, sharer: self.sharer, meter: unpacked(self.meter(), past) }
    }
}

#[cfg(test)]
mod tests {
    use sluicegate_core::calendar::{Calendar, CalendarUnit};
    use sluicegate_core::limit::{Excess, Limit, LimitName, Per, RefusalStatus};
    use sluicegate_core::plan::{Due, HomeId, Mode, Sharer};
    use sluicegate_core::rule::concurrency::SlotId;
    use sluicegate_core::rule::{Amount, TokenBucket};
    use sluicegate_core::time::Window;

    use super::*;

    fn limit(name: &str, axis: Axis, rule: Rule) -> Limit {
        let excess = Excess::Refuse(RefusalStatus::TooManyRequests);
        Limit { name: LimitName::new(name).unwrap(), axis, per: Per::Account, rule, excess, sold: None }
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
                let (cost, due) = (Amount::ONE, Due::Admission);
                plan.add(Charge { limit, id, sharer: Sharer::ALL, cost, period: None, due });
            }
            plan
        };
        home.settle(&plan_at(1_000), &book, &mut readings);
        let swept = home.forget_idle(&book, Timestamp::from_secs(1_060), usize::MAX, usize::MAX);
        assert_eq!(swept, (Left::Meters, None));
        assert_eq!(home.form.layout(), Form::ONE);
        home.settle(&plan_at(1_061), &book, &mut readings);
        assert!(home.settle_in_cell(&plan_at(1_062), &mut readings).is_some());
        assert_eq!(readings[1].used, 3);
    }
}
