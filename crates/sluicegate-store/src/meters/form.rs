//! How the meters of a home lie in its cell, and the one count of a past period that fits in next to them.
//!
//! Every busy quota has a previous period for two days after its period began. What is usual of it is packed into the
//! bits that the layout leaves free, so that a rate and a quota stay in the cell: a count that is not too large, of the
//! period that ended where the present one begins, under the limit as it is.

use sluicegate_core::meter::{Meter, SmallMeter};
use sluicegate_core::overage::OverageBaseline;
use sluicegate_core::past::PastPeriod;
use sluicegate_core::period_meter::PeriodMeter;
use sluicegate_core::plan::SubjectClass;

/// The bits of the layout.
const LAYOUT: u32 = 0b11;
/// The bits of the class.
const CLASS_SHIFT: u32 = 2;
const CLASS: u32 = 0b11 << CLASS_SHIFT;
/// Whether the table has the home in its count of homes.
const COUNTED: u32 = 1 << 4;
/// What of a home does not depend on its meters.
const OF_HOME: u32 = CLASS | COUNTED;
/// Above all of these lies the count of the previous period of the last small meter.
const PAST_SHIFT: u32 = 5;

/// Which half of the payload holds, whose the home is, and a count of a past period: one word of the cell.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(transparent)]
pub(super) struct Form(u32);

/// The largest count of a past period that a form holds.
const PAST_MAX: u64 = (u32::MAX >> PAST_SHIFT) as u64;

impl Form {
    /// No meters. Zero, so that zeroed memory is a home without meters.
    pub(super) const NONE: Self = Self(0);
    /// One small meter.
    pub(super) const ONE: Self = Self(1);
    /// Two small meters.
    pub(super) const TWO: Self = Self(2);
    /// A list.
    pub(super) const LIST: Self = Self(3);

    /// The layout alone.
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
            1 => Self(Self::ONE.0 | past << PAST_SHIFT),
            _ => Self(Self::TWO.0 | past << PAST_SHIFT),
        }
    }

    /// The count of the previous period; 0: there is none.
    pub(super) const fn past(self) -> u32 {
        self.0 >> PAST_SHIFT
    }

    /// The form of the same home, with the layout and the count of another.
    pub(super) const fn laid_out(self, other: Self) -> Self {
        Self(self.0 & OF_HOME | other.0 & !OF_HOME)
    }

    /// Whose the home is. Zero, as in zeroed memory: an account's, or not known.
    #[inline]
    pub(super) const fn class(self) -> SubjectClass {
        match (self.0 & CLASS) >> CLASS_SHIFT {
            0 => SubjectClass::Account,
            1 => SubjectClass::Client,
            2 => SubjectClass::Asked,
            _ => SubjectClass::Overflow,
        }
    }

    pub(super) const fn with_class(self, class: SubjectClass) -> Self {
        Self(self.0 & !CLASS | (class as u32) << CLASS_SHIFT)
    }

    #[inline]
    pub(super) const fn is_counted(self) -> bool {
        self.0 & COUNTED != 0
    }

    pub(super) const fn with_counted(self, is_counted: bool) -> Self {
        let counted = if is_counted { COUNTED } else { 0 };
        Self(self.0 & !COUNTED | counted)
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
            for class in SubjectClass::ALL {
                let whole = Form::NONE.with_class(class).with_counted(true).laid_out(form);
                assert_eq!((whole.class(), whole.is_counted(), whole.past()), (class, true, form.past()));
                assert_eq!(whole.laid_out(Form::NONE).with_counted(false).class(), class);
            }
        }
        for unusual in [meter(PAST_MAX + 1, 3_600), meter(5, 0)] {
            assert_eq!(packed(&unusual), None, "{unusual:?}");
        }
    }
}
