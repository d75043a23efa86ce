//! The meters of one home, packed: two small ones lie in the cell itself, anything more in a list of its own.
//!
//! Most callers have a rate and a quota, which together fill the cell to the last byte: a decision for them
//! touches one cache line and allocates nothing.

use arrayvec::ArrayVec;
use sluicegate_core::book::LimitId;
use sluicegate_core::image::Written;
use sluicegate_core::meter::{Meter, Moment, SmallMeter, State};
use sluicegate_core::overage::OverageBaseline;
use sluicegate_core::plan::{Charge, ChargePlan, SubjectClass};
use sluicegate_core::rule::concurrency::SlotHold;
use sluicegate_core::rule::{Ask, Rule, Verdict};
use sluicegate_core::settle::{Outcome, Readings, settle};
use sluicegate_core::time::{Nanos, Timestamp};

use super::beside::settle_beside;
use super::entries::{Entries, Entry};
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

/// Which half of the payload holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(u8)]
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
    /// Whose it is. Zero, as in zeroed memory: an account's, or not known.
    class: SubjectClass,
    /// Whether the table has it in its count of homes.
    is_counted: bool,
    payload: Payload,
}

// SAFETY: the list is owned by the home alone, and an entry can be sent.
unsafe impl Send for Home {}

impl Default for Home {
    fn default() -> Self {
        let payload = Payload { small: [Small::default(); SMALL_MAX] };
        Self { form: Form::None, class: SubjectClass::Account, is_counted: false, payload }
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
        self.class
    }

    pub(crate) fn set_class(&mut self, class: SubjectClass) {
        self.class = class;
    }

    #[inline]
    pub(crate) fn is_counted(&self) -> bool {
        self.is_counted
    }

    pub(crate) fn set_counted(&mut self, is_counted: bool) {
        self.is_counted = is_counted;
    }

    /// Whether it has no meters.
    pub(crate) fn is_empty(&self) -> bool {
        self.form == Form::None
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
        let is_ready = |small: &Small, charge: &Charge<'_>| small.is_ready_for(charge, plan.now);
        let ready = match (charges, &*small) {
            ([first, second], [one, other]) => is_ready(one, first) && is_ready(other, second),
            _ => charges.iter().zip(&*small).all(|(charge, small)| is_ready(small, charge)),
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

    /// Has the overage of the billed quota of a plan that was just settled be so much, whatever the limits of now say.
    #[cold]
    pub(crate) fn rebase(&mut self, plan: &ChargePlan<'_>, readings: &Readings, overage: u64) {
        let mut charges = plan.charges().iter().zip(readings);
        let billed = charges.find_map(|(charge, reading)| Some((charge, reading, charge.limit.included()?)));
        let Some((charge, reading, included)) = billed else { return };
        let baseline = OverageBaseline { recorded: overage, used: reading.used };
        let baseline = baseline.for_included(included.get());
        self.with_list(|list| {
            if let Some(place) = exact_place_of(list, charge) {
                list[place].meter.rebase(baseline);
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
        let says =
            |limit, meter: &Meter| book.rule(limit).is_some_and(|rule| meter.reset(rule, now) > Nanos::ZERO);
        if self.form != Form::List
            && self.small_mut().iter().all(|small| {
                let Entry { limit, meter, .. } = small.entry();
                says(limit, &meter)
            })
        {
            // As most homes are in a sweep: nothing to forget, nothing to pack anew.
            return (self.left(), None);
        }
        let next =
            self.with_list(|list| list.retain_before(from, visits, |entry| says(entry.limit, &entry.meter)));
        (self.left(), next)
    }

    pub(crate) fn left(&self) -> Left {
        if self.is_empty() { Left::Nothing } else { Left::Meters }
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
        image::begin(self.class, into);
        self.for_each(|entry| {
            if let (Written::Image, Some(rule)) = (image::encode(entry, &book, into), book.rule(entry.limit))
            {
                last = last.max(Some(entry.meter.reset(rule, now)));
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
        self.form = Form::None;
    }

    /// Puts these meters in place of all there are.
    pub(crate) fn replace(&mut self, meters: Vec<Entry>) {
        drop(self.take_list());
        self.pack(Box::new(meters.into()));
    }

    fn for_each(&mut self, mut f: impl FnMut(&Entry)) {
        if self.form == Form::List {
            // SAFETY: the form says that the payload holds a list, which is the home's alone.
            unsafe { &*self.payload.list.0 }.iter().for_each(f);
        } else {
            self.small_mut().iter().for_each(|small| f(&small.entry()));
        }
    }

    /// Calls `f` with the meters as a list, and packs them again afterwards.
    fn with_list<R>(&mut self, f: impl FnOnce(&mut Entries) -> R) -> R {
        let mut list = match self.take_list() {
            Some(list) => list,
            None => Box::new(self.small_mut().iter().map(|small| small.entry()).collect::<Vec<_>>().into()),
        };
        // An unwind here would forget the meters of the home.
        let whole = AbortOnUnwind;
        let result = f(&mut list);
        self.pack(list);
        std::mem::forget(whole);
        result
    }

    fn pack(&mut self, list: Box<Entries>) {
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

    fn take_list(&mut self) -> Option<Box<Entries>> {
        if self.form != Form::List {
            return None;
        }
        self.form = Form::None;
        // SAFETY: the form said that the payload holds a list, which `pack` made from a box; it does not say
        // so any more.
        Some(unsafe { Box::from_raw(self.payload.list.0) })
    }
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
    #[inline]
    pub(super) fn is_ready_for(self, charge: &Charge<'_>, now: Timestamp) -> bool {
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
    use sluicegate_core::calendar::{Calendar, CalendarUnit};
    use sluicegate_core::limit::{Axis, Excess, Limit, LimitName, Per, RefusalStatus};
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
        assert_eq!(home.form, Form::One);
        home.settle(&plan_at(1_061), &book, &mut readings);
        assert!(home.settle_in_cell(&plan_at(1_062), &mut readings).is_some());
        assert_eq!(readings[1].used, 3);
    }
}
