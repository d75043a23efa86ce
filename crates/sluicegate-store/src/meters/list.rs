//! Meters in a list: those that are new, large, more than a cell holds, or were written under limits edited since.

use arrayvec::ArrayVec;
use sluicegate_core::meter::{Meter, Readied};
use sluicegate_core::plan::{CHARGES_MAX, Charge, ChargePlan, Due, Mode};
use sluicegate_core::rule::Rule;
use sluicegate_core::rule::concurrency::{SlotHold, SlotLease};
use sluicegate_core::settle::{Outcome, Readings, settle};

use super::entries::{Entries, Entry};
use super::shared_book::SharedBook;

/// Settles a plan against the meters of a list.
pub(crate) fn settle_list(
    list: &mut Entries,
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
        // A peek keeps nothing, not even what has to be changed before it can be answered; nor does a plan that
        // turns out to be the wrong one.
        let may_keep_nothing = plan.mode == Mode::Peek || plan.expects.is_some();
        let at_stake = may_keep_nothing && (edited || matches!(meter, Meter::Small(_)));
        originals.push(at_stake.then(|| meter.clone()));
        places.push(place);
        meters.push(meter);
    }
    let readied = bring_up(list, plan, &places, &mut meters, book);
    let outcome = settle(plan, &mut meters, readings);
    let kept = is_kept(outcome, plan.mode, readied);
    let settled = originals.into_iter().zip(meters).map(|(original, meter)| match original {
        Some(original) if keeps_nothing(outcome, plan.mode) => original,
        _ => meter,
    });
    for ((charge, place), meter) in plan.charges().iter().zip(places).zip(settled) {
        match place {
            Some(place) => {
                list[place].meter = meter;
                if kept {
                    list[place].limit = charge.id;
                }
            }
            None if is_created(outcome, charge.due, plan.mode) => {
                list.push(Entry { limit: charge.id, sharer: charge.sharer.get(), meter });
            }
            None => {}
        }
    }
    // In the order of plans, in which they are looked for when they fit the cell again. Long lists stay as they are.
    if list.len() <= plan.charges().len() && !keeps_nothing(outcome, plan.mode) {
        list.sort_by_key(|entry| {
            let place = plan.charges().iter().position(|charge| is_exactly(entry, charge));
            place.unwrap_or(usize::MAX)
        });
    }
    outcome
}

/// Has the concurrency limits of a plan hold these slots.
pub(crate) fn renew_list(list: &mut Entries, plan: &ChargePlan<'_>, holds: &[SlotHold], book: &SharedBook) {
    for charge in plan.charges() {
        let Rule::Concurrency { limit, lease } = &charge.limit.rule else { continue };
        let until = |hold: &SlotHold| plan.now.plus(hold.hold.unwrap_or(*lease));
        let leases: Vec<SlotLease> =
            holds.iter().map(|hold| SlotLease { id: hold.id, until: until(hold) }).collect();
        let place = place_of(list, charge, book).unwrap_or_else(|| {
            let meter = Meter::fresh(&charge.limit.rule);
            list.push(Entry { limit: charge.id, sharer: charge.sharer.get(), meter });
            list.len() - 1
        });
        let entry = &mut list[place];
        entry.limit = charge.id;
        if !matches!(entry.meter, Meter::Slots(_)) {
            entry.meter = Meter::fresh(&charge.limit.rule);
        }
        if let Meter::Slots(slots) = &mut entry.meter {
            slots.renew_all(limit.get(), &leases, plan.now);
        }
    }
}

/// Makes the meters that exist ready to be asked.
fn bring_up(
    list: &Entries,
    plan: &ChargePlan<'_>,
    places: &[Option<usize>],
    meters: &mut [Meter],
    book: &SharedBook,
) -> Readied {
    let mut readied = Readied::AsItWas;
    for ((charge, place), meter) in plan.charges().iter().zip(places).zip(meters) {
        let (terms, moment) = (charge.limit.terms(), plan.moment(charge));
        let changed = match place.map(|place| list[place].limit) {
            None => Readied::AsItWas,
            Some(same) if same == charge.id => meter.bring_up(terms, terms, &moment),
            Some(other) => match book.read().terms(other) {
                Some(written) => meter.bring_up(written, terms, &moment),
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
fn place_of(list: &Entries, charge: &Charge<'_>, book: &SharedBook) -> Option<usize> {
    let sharer = charge.sharer.get();
    let exact = exact_place_of(list, charge);
    if exact.is_some() || list.places_of(sharer).next().is_none() {
        return exact;
    }
    let book = book.read();
    list.places_of(sharer).find(|place| book.is_named(list[*place].limit, &charge.limit.name))
}

/// Where the meter of a charge is that was written under the very limit.
pub(super) fn exact_place_of(list: &Entries, charge: &Charge<'_>) -> Option<usize> {
    list.places_of(charge.sharer.get()).find(|place| is_exactly(&list[*place], charge))
}

/// Settles a plan against meters that were never used: what a home says that does not exist.
pub(crate) fn settle_fresh(plan: &ChargePlan<'_>, readings: &mut Readings) -> Outcome {
    let mut meters: ArrayVec<Meter, CHARGES_MAX> =
        plan.charges().iter().map(|charge| Meter::fresh(&charge.limit.rule)).collect();
    settle(plan, &mut meters, readings)
}

/// Whether meters stay as they were, even where they had to be changed before they could be asked.
fn keeps_nothing(outcome: Outcome, mode: Mode) -> bool {
    mode == Mode::Peek || matches!(outcome, Outcome::Elsewhere { .. })
}

/// Whether the meters of a settled plan are written back: they were charged, or had to be changed before they
/// could be asked.
fn is_kept(outcome: Outcome, mode: Mode, readied: Readied) -> bool {
    let charged = [Due::Admission, Due::Refusal].into_iter().any(|due| outcome.charges(due, mode));
    charged || (readied == Readied::Changed && !keeps_nothing(outcome, mode))
}

/// Whether a charge makes the meter that it did not find. What is given back makes none.
fn is_created(outcome: Outcome, due: Due, mode: Mode) -> bool {
    outcome.charges(due, mode) && !matches!(mode, Mode::Refund { .. })
}

/// Whether an entry is the meter of `charge`, written under the very limit.
fn is_exactly(entry: &Entry, charge: &Charge<'_>) -> bool {
    entry.limit == charge.id && entry.sharer == charge.sharer.get()
}
