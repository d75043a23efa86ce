//! Which limits the end of a request concerns: when it ends, and whenever its record is counted again.
//!
//! Rates protect the service, quotas are sold. So a failure returns quotas only. A limit that has another algorithm
//! since the charge has a meter in which the charge is not to be found, and an overflow bucket is shared with
//! strangers: both are left alone.

use sluicegate_core::plan::Mode;
use sluicegate_core::policy::RefundOn;
use sluicegate_core::rule::{Amount, Rule};
use sluicegate_core::tariff::{Charges, LimitPlaces, Plan, Tariff};
use sluicegate_core::time::Timestamp;
use sluicegate_ledger::{Flags, Kind, Record, Settlement};

use crate::clock::STEP_MAX;
use crate::finish::Finished;
use crate::permit::{Permit, SameBy, Settles, others_than};
use crate::record::{billed_print, record};

/// How the difference between what was reserved and what a request cost is settled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Difference {
    kind: Kind,
    amount: Amount,
    /// What the record says of it.
    settlement: Settlement,
    /// With those of the permit.
    flags: Flags,
}

/// How a request ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ending {
    /// It turned out to cost something.
    TrueCost,
    /// It failed, and its plan returns what failed.
    Failed,
}

impl Ending {
    /// That of a request with this permit, which the upstream failed or not.
    pub(crate) fn of(permit: &Permit, failed: bool) -> Self {
        let returned = failed && permit.refund_on == RefundOn::ServerError;
        if returned && permit.settles == Settles::TrueCost { Self::Failed } else { Self::TrueCost }
    }
}

impl Difference {
    /// That between what was reserved and what a request cost, under the limits that its caller has now. Nothing: there
    /// is none.
    fn of(
        permit: &Permit,
        Finished { reserved, settled }: Finished,
        ending: Ending,
        now: &Tariff,
    ) -> Option<Self> {
        let amount = Amount::new(reserved.abs_diff(settled))?;
        let then = &permit.plan.tariff;
        let (kind, skipped) = match (settled > reserved, &permit.limits) {
            (true, None) => (Kind::Correction, now.others_than(then, Rule::is_algorithm_of)),
            (false, None) => (Kind::Refund, now.others_than(then, Rule::reads_states_of)),
            (true, Some(then)) => (Kind::Correction, others_than(now, then, SameBy::Algorithm)),
            (false, Some(then)) => (Kind::Refund, others_than(now, then, SameBy::State)),
        };
        let flags = match ending {
            Ending::TrueCost => permit.flags,
            Ending::Failed => permit.flags | Flags::FAILED,
        };
        Some(Self { kind, amount, settlement: Settlement { reserved, skipped }, flags })
    }

    /// As it is in a record that otherwise would be this.
    ///
    /// A charge that lies ahead of now was made under a wrong clock. An excess counts now, in the meters and in the
    /// ledger. What is given back is given back to its charge in the ledger, and to no meter: none has it.
    fn recorded(&self, record: Record) -> Record {
        let record = Record { settlement: self.settlement, flags: self.flags, ..record };
        if record.charged_at <= record.at.plus(STEP_MAX) {
            return record;
        }
        match record.kind {
            Kind::Charge | Kind::Correction => Record { charged_at: record.at, ..record },
            Kind::Refund => {
                let settlement = Settlement { skipped: LimitPlaces::ALL, ..record.settlement };
                Record { settlement, ..record }
            }
        }
    }
}

/// The record of what a request cost more or less than was reserved, when it ends under a plan that its caller has now.
/// Nothing: there is no difference. Its change of overage is not known yet. In memory, over a store and after a
/// restart, what is settled follows from this record: see [`mode_of`] and [`charges_of`].
pub(crate) fn difference_record(
    permit: &Permit,
    finished: Finished,
    ending: Ending,
    sold: &Plan,
    now: Timestamp,
) -> Option<Record> {
    let difference = Difference::of(permit, finished, ending, &sold.tariff)?;
    let record = record(permit, difference.kind, Some(difference.amount), 0, now);
    // Only what gives back all of a charge concerns the name that it was charged under.
    let idempotency = permit.name.filter(|_| finished.settled == 0).map(|name| name.idempotency);
    Some(Record { idempotency, billed: billed_print(sold), ..difference.recorded(record) })
}

/// What counting a record does with the meters.
pub(crate) fn mode_of(record: &Record) -> Mode {
    match record.kind {
        // Also a charge, which may be settled long after it was made.
        Kind::Charge | Kind::Correction => Mode::Correct { charged_at: record.charged_at },
        Kind::Refund => {
            // What older programs recorded was all that was reserved, as far as anybody knows.
            let reserved = record.settlement.reserved.max(record.cost);
            let reserved = Amount::new(reserved).unwrap_or(Amount::ONE);
            Mode::Refund { charged_at: record.charged_at, reserved }
        }
    }
}

/// Which limits of a caller a record concerns.
pub(crate) fn charges_of(record: &Record, limits: &Tariff) -> Charges {
    let mut skipped = record.settlement.skipped;
    if record.flags.contains(Flags::FAILED) {
        skipped = skipped.and(limits.rates());
    }
    if record.flags.contains(Flags::OVERFLOW) && record.kind != Kind::Charge {
        skipped = LimitPlaces::ALL;
    }
    Charges::AmountsBut(skipped)
}
