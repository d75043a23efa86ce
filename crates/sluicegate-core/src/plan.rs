//! A plan: everything one request owes, resolved, as data.
//!
//! The same plan is settled in memory and by the reference model, and can be by a store that is far away.

use arrayvec::ArrayVec;

use crate::book::LimitId;
use crate::calendar::Period;
use crate::key_env::KeyEnv;
use crate::limit::Limit;
use crate::meter::Moment;
use crate::policy::{Conduct, Tier};
use crate::rule::Amount;
use crate::rule::concurrency::SlotId;
use crate::time::Timestamp;

/// The most charges a plan may have.
pub const CHARGES_MAX: usize = Tier::LIMITS_MAX + Conduct::METERS_MAX;

/// Where the meters of an account or a client live: a keyed hash, so that nobody can choose to collide with another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct HomeId(pub u128);

/// Who within a home shares a meter.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Sharer(u32);

impl Sharer {
    /// Everybody in the home: the account as a whole, or the one client it is.
    pub const ALL: Self = Self(0);

    /// All test keys of the account.
    pub const TEST_KEYS: Self = Self(KeyEnv::TEST_KEYS.get());

    /// One key of the account, by its number among the account's keys, counted from 1 and tagged with its environment
    /// where test keys are apart.
    #[inline]
    pub const fn key(number: std::num::NonZeroU32) -> Self {
        Self(number.get())
    }

    /// The number that stands for it in stores.
    #[inline]
    pub const fn get(self) -> u32 {
        self.0
    }
}

/// Which kind of subject a home belongs to. Each kind has a bound of its own, so that none crowds out another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[repr(u8)]
pub enum SubjectClass {
    /// An account that the directory knows, or a home whose kind is not known yet.
    #[default]
    Account = 0,
    /// A caller without a key.
    Client = 1,
    /// A subject that comes with the question: of a limit that belongs to no account, or a name that a front end
    /// vouches for.
    Asked = 2,
    /// Several subjects together, beyond the bound of their kind. What is given back never refills it: it may have been
    /// another's.
    Overflow = 3,
}

impl SubjectClass {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 4] = [Self::Account, Self::Client, Self::Asked, Self::Overflow];

    /// The class with this number.
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }
}

/// When a charge is due.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Due {
    /// When the request is admitted, which it is only if the charge fits.
    Admission,
    /// When the request is refused: a signal. It is never asked whether it fits, and refuses nothing by itself.
    Refusal,
}

/// What one of the meters of a plan must say, or the plan is not the one to settle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Expects {
    /// The place of the charge whose meter it is.
    pub place: usize,
    /// The least that may remain there before anything is charged.
    pub least: u64,
    /// The most.
    pub most: u64,
}

/// What a request owes to one meter.
#[derive(Clone, Copy, Debug)]
pub struct Charge<'p> {
    /// Under which limit.
    pub limit: &'p Limit,
    /// The limit's number in the book.
    pub id: LimitId,
    /// Whose meter of it.
    pub sharer: Sharer,
    /// How much. A concurrency limit takes one slot whatever the cost.
    pub cost: Amount,
    /// For a calendar limit, the period of `now`, when it is known already.
    pub period: Option<Period>,
    /// When it is due.
    pub due: Due,
}

/// What is done with the charges of a plan.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Charge all of them if they all fit; if one of them does not now, those that are due on refusal.
    Charge,
    /// Say what charging would answer, and change nothing.
    Peek,
    /// Charge all of them whether they fit or not: usage that has happened already. Only a slot that is not
    /// free still refuses.
    Force,
    /// The same for more of what was charged then, as it turned out: quotas count it in the period of that instant.
    Correct {
        /// When it was charged.
        charged_at: Timestamp,
    },
    /// Give back what a plan like this one charged then, or a part of it; concurrency slots are released.
    Refund {
        /// When it was charged.
        charged_at: Timestamp,
        /// How much was charged then.
        reserved: Amount,
    },
}

impl Mode {
    /// The instant of the charge that a plan at `now` belongs to.
    #[inline]
    pub fn charged_at(self, now: Timestamp) -> Timestamp {
        match self {
            Self::Charge | Self::Peek | Self::Force => now,
            Self::Correct { charged_at } | Self::Refund { charged_at, .. } => charged_at,
        }
    }

    /// Whether it belongs to a charge that was made before, maybe in a period that is over.
    #[inline]
    pub const fn is_correction(self) -> bool {
        matches!(self, Self::Correct { .. } | Self::Refund { .. })
    }

    /// Whether it belongs to the period that began then, in which the plan is settled.
    #[inline]
    pub fn is_of_period(self, start: Timestamp) -> bool {
        match self {
            Self::Charge | Self::Peek | Self::Force => true,
            Self::Correct { charged_at } | Self::Refund { charged_at, .. } => charged_at >= start,
        }
    }

    /// Whether it charges without asking whether that fits.
    #[inline]
    pub const fn is_forced(self) -> bool {
        matches!(self, Self::Force | Self::Correct { .. })
    }
}

/// Everything one request owes, in the order in which it is asked: rate, concurrency, quota, conduct.
#[derive(Clone, Debug)]
pub struct ChargePlan<'p> {
    /// Whose meters they are.
    pub home: HomeId,
    /// Which kind of subject that is.
    pub class: SubjectClass,
    /// The instant of the decision.
    pub now: Timestamp,
    /// What is done with the charges.
    pub mode: Mode,
    /// The id under which concurrency slots are taken.
    pub slot: SlotId,
    /// What must hold for any of this.
    pub expects: Option<Expects>,
    has_signals: bool,
    charges: ArrayVec<Charge<'p>, CHARGES_MAX>,
}

impl<'p> ChargePlan<'p> {
    /// A plan without charges: everything passes.
    #[inline]
    pub fn new(home: HomeId, now: Timestamp, mode: Mode, slot: SlotId) -> Self {
        let (class, charges) = (SubjectClass::Account, ArrayVec::new());
        Self { home, class, now, mode, slot, expects: None, has_signals: false, charges }
    }

    /// Adds a charge behind those of its axis and before those of later ones. A plan that is full stays as it
    /// is: tiers are checked to have at most [`CHARGES_MAX`] limits.
    #[inline]
    pub fn add(&mut self, charge: Charge<'p>) {
        debug_assert!(!self.charges.is_full(), "a tier has at most CHARGES_MAX limits");
        self.has_signals |= charge.due == Due::Refusal;
        match self.charges.last() {
            Some(last) if last.limit.axis > charge.limit.axis => {
                let place = self.charges.partition_point(|earlier| earlier.limit.axis <= charge.limit.axis);
                let _ = self.charges.try_insert(place, charge);
            }
            _ => {
                let _ = self.charges.try_push(charge);
            }
        }
    }

    /// The charges, in order.
    #[inline]
    pub fn charges(&self) -> &[Charge<'p>] {
        &self.charges
    }

    /// Whether all charges are due on admission, and nothing is expected: what most plans are.
    #[inline]
    pub fn is_plain(&self) -> bool {
        !self.has_signals && self.expects.is_none()
    }

    /// The moment as the meter of `charge` sees it.
    #[inline]
    pub fn moment<'m>(&self, charge: &'m Charge<'_>) -> Moment<'m> {
        Moment {
            now: self.now,
            period: charge.period.as_ref(),
            slot: self.slot,
            charged_at: self.mode.charged_at(self.now),
            keeps_past: charge.limit.keeps_past(),
        }
    }
}
