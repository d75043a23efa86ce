//! How the meters of a home lie in its cell, and the one count of a past period that fits in next to them.
//!
//! Every busy quota has a previous period for two days after its period began. What is usual of it is packed into the
//! bits that the layout leaves free, so that a rate and a quota stay in the cell: a count that is not too large, of the
//! period that ended where the present one begins, under the limit as it is.

use sluicegate_core::meter::{Meter, SmallMeter};
use sluicegate_core::overage::OverageBaseline;
use sluicegate_core::past::PastPeriod;
use sluicegate_core::period_meter::PeriodMeter;

/// The bits of the layout.
const LAYOUT: u32 = 0b11;
const LAYOUT_BITS: u32 = 2;

/// Which half of the payload holds, with the count of the previous period of the last small meter above it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(transparent)]
pub(super) struct Form(u32);

/// The largest count of a past period that a form holds.
const PAST_MAX: u64 = (u32::MAX >> LAYOUT_BITS) as u64;

impl Form {
    /// No meters. Zero, so that zeroed memory is a home without meters.
    pub(super) const NONE: Self = Self(0);
    /// One small meter.
    pub(super) const ONE: Self = Self(1);
    /// Two small meters.
    pub(super) const TWO: Self = Self(2);
    /// A list.
    pub(super) const LIST: Self = Self(3);

    /// The same without a count.
    #[inline]
    pub(super) const fn layout(self) -> Self {
        Self(self.0 & LAYOUT)
    }

    /// How many small meters there are.
    #[inline]
    pub(super) const fn small(self) -> usize {
        match self.layout() {
            Self::ONE => 1,
            Self::TWO => 2,
            _ => 0,
        }
    }

    /// The form of so many small meters, of which the last has such a count in its previous period.
    pub(super) const fn of_small(small: usize, past: u32) -> Self {
        match small {
            0 => Self::NONE,
            1 => Self(Self::ONE.0 | past << LAYOUT_BITS),
            _ => Self(Self::TWO.0 | past << LAYOUT_BITS),
        }
    }

    /// The count of the previous period; 0: there is none.
    pub(super) const fn past(self) -> u32 {
        self.0 >> LAYOUT_BITS
    }
}

/// A meter as it lies in a cell: its count, and that of its previous period. Nothing if it has more to it.
pub(super) fn packed(meter: &Meter) -> Option<(SmallMeter, u32)> {
    match meter {
        Meter::Small(small) => Some((*small, 0)),
        Meter::Period(period) => {
            let PeriodMeter { count, baseline, previous } = **period;
            if baseline != OverageBaseline::NONE {
                return None;
            }
            let Some(past) = previous.filter(PastPeriod::says_something) else { return Some((count, 0)) };
            let usual = past.end == count.extra
                && past.baseline == OverageBaseline::NONE
                && past.included.is_none()
                && (1..=PAST_MAX).contains(&past.count);
            let past = u32::try_from(past.count).ok().filter(|_| usual)?;
            Some((count, past))
        }
        Meter::Counts(_) | Meter::Timeline(_) | Meter::Slots(_) => None,
    }
}

/// The meter that lies so in a cell.
pub(super) fn unpacked(count: SmallMeter, past: u32) -> Meter {
    let previous = (past > 0).then(|| PastPeriod {
        count: past.into(),
        end: count.extra,
        baseline: OverageBaseline::NONE,
        included: None,
    });
    PeriodMeter { previous, ..PeriodMeter::from(count) }.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meter(past: u64, end: u32) -> Meter {
        let previous = PastPeriod { count: past, end, baseline: OverageBaseline::NONE, included: None };
        let count = SmallMeter { value: 7, extra: 3_600 };
        PeriodMeter { previous: Some(previous), ..PeriodMeter::from(count) }.into()
    }

    #[test]
    fn a_usual_past_period_lies_in_the_cell_and_comes_back_as_it_was() {
        for past in [1, 2, PAST_MAX] {
            let (count, packed) = packed(&meter(past, 3_600)).unwrap();
            let form = Form::of_small(2, packed);
            assert_eq!((form.small(), form.layout()), (2, Form::TWO));
            assert_eq!(unpacked(count, form.past()), meter(past, 3_600));
        }
        for unusual in [meter(PAST_MAX + 1, 3_600), meter(5, 0)] {
            assert_eq!(packed(&unusual), None, "{unusual:?}");
        }
    }
}
