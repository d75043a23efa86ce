//! What happens beyond a quota: it refuses, or it serves and bills, with an end to that or without.

use crate::file::sink::Sink;
use crate::file::typed::{At, Field, Overrun, Whole};
use crate::limit::{Excess, Limit, OverageCap, RefusalStatus};
use crate::rule::Amount;

use super::limit::MeantLimit;
use super::range;

/// What was typed about it.
pub(super) struct Typed<'b> {
    pub(super) overrun: &'b Field<Overrun>,
    /// What the key of that is called.
    pub(super) key: &'static str,
    pub(super) cap: &'b Field<Whole>,
}

/// What happens beyond a quota of this amount. `status` is that of a refusal.
pub(super) fn excess(
    typed: &Typed<'_>,
    limit: Option<Amount>,
    status: RefusalStatus,
    sink: &mut Sink,
) -> Option<Excess> {
    let bills = match typed.overrun {
        Field::Wrong => return None,
        Field::Given(At { value: Overrun::BillOverage, .. }) => true,
        Field::Given(At { value: Overrun::Block, .. }) | Field::Absent => false,
    };
    match typed.cap {
        Field::Wrong => None,
        Field::Absent if bills => Some(Excess::BillOverage),
        Field::Absent => Some(Excess::Refuse(status)),
        Field::Given(at) if bills => {
            // With the limit, it is a number that can be counted to.
            let most = Amount::MAX - limit.map_or(1, Amount::get);
            let amount = range::amount(at.value.0, most, "`overage_cap`", at.place, sink)?;
            Some(Excess::BillUpTo(OverageCap { amount, status }))
        }
        Field::Given(at) => {
            let help = format!("add `{}: bill_overage`, or remove it", typed.key);
            sink.report(
                at.key,
                "`overage_cap` is for overage that is billed, and nothing is billed here",
                help,
            );
            None
        }
    }
}

/// Reports that a window which slides is billed. `instead` says what to write.
pub(super) fn report_sliding(typed: &Typed<'_>, instead: &str, sink: &mut Sink) {
    let Some(at) = typed.overrun.given() else { return };
    let message =
        "a window that slides has no periods that a bill could name, so its overage cannot be billed";
    let help = format!("{instead}, or `{}: block`", typed.key);
    sink.report(at.place, message, help);
}

/// Whether at most one quota of a tier is billed; reports every further one. `quota` is that of the shorthand.
pub(super) fn check_one_billed(quota: Option<&Limit>, entries: &[MeantLimit], sink: &mut Sink) -> bool {
    let mut billed = quota.filter(|limit| limit.excess.is_billed());
    let mut one_is_billed = true;
    for entry in entries.iter().filter(|entry| entry.limit.limit.excess.is_billed()) {
        let limit = &entry.limit.limit;
        if let Some(first) = billed {
            let message = format!(
                "`{}` bills overage, and `{}` does already: each request would be billed twice",
                limit.name, first.name
            );
            let help =
                "one quota of a tier is billed: write `on_exceeded: block` here, or bill only this one";
            sink.report(entry.place, message, help);
            one_is_billed = false;
        }
        billed = billed.or(Some(limit));
    }
    one_is_billed
}
