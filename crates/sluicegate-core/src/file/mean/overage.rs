//! What happens beyond a quota: it refuses, or it serves and bills, with an end to that or without.

use crate::file::sink::Sink;
use crate::file::typed::{At, Field, Overrun, Whole};
use crate::limit::{Excess, OverageCap, RefusalStatus};
use crate::rule::Amount;

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
