//! A limit: one rule with its name, who shares it, and what a refusal looks like.

use std::fmt;
use std::sync::Arc;

use crate::calendar::CalendarUnit;
use crate::meter::Terms;
use crate::policy::Percent;
use crate::rule::{Amount, Rule, SLIDING_LOG_ENTRY_BYTES, Windowed, bound};
use crate::time::Nanos;

/// The name of a limit: 1 to 64 characters of `a-z 0-9 . _ -`, starting with a letter or digit.
///
/// The alphabet is that of structured-field strings without anything that needs escaping, so a name can never
/// break a header.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LimitName(Arc<str>);

impl LimitName {
    /// The longest name, in characters.
    pub const LENGTH_MAX: usize = 64;
    /// The name of the `rate` shorthand's limit.
    pub const RATE: &'static str = "rate";
    /// The name of the `concurrency` shorthand's limit.
    pub const CONCURRENCY: &'static str = "concurrency";
    /// The name of the `quota` shorthand's limit.
    pub const QUOTA: &'static str = "quota";
    /// The name of the limit for each address.
    pub const EDGE: &'static str = "edge";
    /// The name under which a caller's reputation is kept. No limit of a policy may have it.
    pub const REPUTATION: &'static str = "reputation";
    /// The name under which a caller's refusals are counted. No limit of a policy may have it.
    pub const STRIKES: &'static str = "strikes";

    /// What the names of limits begin with that a key has of its own. No limit of a policy may begin so.
    pub const KEY_PREFIX: &'static str = "key.";

    /// The name, or nothing if it has a character that names may not have.
    pub fn new(name: &str) -> Option<Self> {
        let inner = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, b'.' | b'_' | b'-');
        let starts_well = name.bytes().next().is_some_and(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
        (starts_well && name.len() <= Self::LENGTH_MAX && name.bytes().all(inner)).then(|| Self(name.into()))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether meters of our own go by it.
    pub fn is_reserved(&self) -> bool {
        matches!(self.as_str(), Self::REPUTATION | Self::STRIKES) || self.0.starts_with(Self::KEY_PREFIX)
    }
}

impl fmt::Display for LimitName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a limit protects, in the order in which limits are asked.
///
/// Rate first: it is cheap, refuses floods, and its refusal is the one a client can wait out. Quota last of those that
/// refuse: whoever is refused by it has been within every other limit.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Axis {
    /// Short windows: the infrastructure.
    Rate,
    /// Requests in flight.
    Concurrency,
    /// Long windows: the plan that was sold.
    Quota,
    /// How the caller has behaved. Only refusals are charged there; it is no limit that anybody sees.
    Conduct,
}

impl Axis {
    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Rate => "rate",
            Self::Concurrency => "concurrency",
            Self::Quota => "quota",
            Self::Conduct => "conduct",
        }
    }
}

/// Who shares one meter of a limit. All of them live in one home, so a plan never spans two.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Per {
    /// Every key has its own.
    Key,
    /// All keys of an account share one.
    Account,
    /// Every caller without a key has its own; a caller with a key counts as that key.
    Client,
}

impl Per {
    /// The word for it, as files have it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Key => "key",
            Self::Account => "account",
            Self::Client => "client",
        }
    }
}

/// What happens to a request that does not fit.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Excess {
    /// It is refused with this status.
    Refuse(RefusalStatus),
    /// It is served, and what it takes beyond the limit is counted for the bill.
    BillOverage,
    /// The same for so much beyond the limit. More is refused.
    BillUpTo(OverageCap),
}

impl Excess {
    /// Whether what goes beyond the limit is billed.
    #[inline]
    pub const fn is_billed(self) -> bool {
        !matches!(self, Self::Refuse(_))
    }

    /// How far beyond the limit requests are served. Nothing: without end.
    pub const fn reach(self) -> Option<u64> {
        match self {
            Self::Refuse(_) => Some(0),
            Self::BillUpTo(cap) => Some(cap.amount.get()),
            Self::BillOverage => None,
        }
    }

    /// The status with which it refuses, if it does.
    pub const fn refusal(self) -> Option<RefusalStatus> {
        match self {
            Self::Refuse(status) | Self::BillUpTo(OverageCap { status, .. }) => Some(status),
            Self::BillOverage => None,
        }
    }

    /// The same with another cap, if there is one.
    fn resized(self, size: impl FnOnce(Amount) -> Amount) -> Self {
        match self {
            Self::BillUpTo(cap) => Self::BillUpTo(OverageCap { amount: size(cap.amount), ..cap }),
            other => other,
        }
    }
}

/// Where billed overage ends.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct OverageCap {
    /// How much is served and billed beyond the limit.
    pub amount: Amount,
    /// The status with which more is refused.
    pub status: RefusalStatus,
}

/// The statuses with which a spent limit may be answered.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RefusalStatus {
    /// 402: the plan is spent; pay or wait for the period's end.
    PaymentRequired,
    /// 403.
    Forbidden,
    /// 429: come back after `Retry-After`.
    TooManyRequests,
}

impl RefusalStatus {
    /// The status code.
    pub const fn code(self) -> u16 {
        match self {
            Self::PaymentRequired => 402,
            Self::Forbidden => 403,
            Self::TooManyRequests => 429,
        }
    }
}

/// One limit of a tier, as it was meant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Limit {
    /// What it is called, in headers, answers and the policy file.
    pub name: LimitName,
    /// What it protects.
    pub axis: Axis,
    /// Who shares one meter of it.
    pub per: Per,
    /// The algorithm and its numbers.
    pub rule: Rule,
    /// What happens to a request that does not fit.
    pub excess: Excess,
    /// What the plan sold, where the rule has another size for now: what is admitted is scaled, what is billed is not.
    /// Nothing: what the rule says.
    pub sold: Option<Amount>,
}

impl Limit {
    /// What is included in each period before overage is billed. Nothing where none is: only windows that end as a
    /// whole have periods that a bill can name.
    #[inline]
    pub fn included(&self) -> Option<Amount> {
        if !self.excess.is_billed() {
            return None;
        }
        match &self.rule {
            Rule::FixedWindow(Windowed { limit, .. }) | Rule::Calendar { limit, .. } => {
                Some(self.sold.unwrap_or(*limit))
            }
            _ => None,
        }
    }

    /// Whether its meters keep the period before the one they count in: what was sold in it may turn out to have cost
    /// more or less. A rate per fixed window forgets it.
    #[inline]
    pub fn keeps_past(&self) -> bool {
        match &self.rule {
            Rule::Calendar { .. } => true,
            Rule::FixedWindow(_) => self.axis == Axis::Quota || self.excess.is_billed(),
            _ => false,
        }
    }

    /// What its meters depend on.
    pub fn terms(&self) -> Terms<'_> {
        Terms { rule: &self.rule, included: self.included(), keeps_past: self.keeps_past() }
    }

    /// Whether a request counts that repeats one which was charged already. What protects the service counts it, or one
    /// name would be worth any number of requests; what is sold does not.
    pub fn counts_repeats(&self) -> bool {
        match self.axis {
            Axis::Rate | Axis::Concurrency => true,
            Axis::Quota | Axis::Conduct => matches!(self.rule, Rule::Concurrency { .. }),
        }
    }

    /// The same limit for test keys, where theirs is another: nobody is billed for them, so a quota ends where it ends.
    pub(crate) fn for_test_keys(&self) -> Option<Self> {
        let status = match self.excess {
            Excess::Refuse(_) => return None,
            Excess::BillOverage => RefusalStatus::TooManyRequests,
            Excess::BillUpTo(cap) => cap.status,
        };
        Some(Self { excess: Excess::Refuse(status), ..self.clone() })
    }

    /// For how long what is used of a quota counts: the period of a calendar, or all windows that count. Nothing for
    /// what is no quota.
    pub fn quota_window(&self) -> Option<Nanos> {
        match &self.rule {
            Rule::Concurrency { .. } => None,
            _ if self.axis != Axis::Quota => None,
            Rule::Calendar { calendar, .. } => Some(match calendar.unit() {
                CalendarUnit::Day => Nanos::from_secs(86_400),
                CalendarUnit::Month | CalendarUnit::BillingMonth => Nanos::from_secs(31 * 86_400),
            }),
            rule => Some(rule.counts_for()),
        }
    }

    /// What it admits at most. One that bills all that lies beyond it never refuses.
    pub fn bound(&self) -> String {
        match self.excess {
            Excess::Refuse(_) => self.rule.bound().to_string(),
            Excess::BillOverage => format!("{}; more is billed", self.rule.bound()),
            Excess::BillUpTo(cap) => {
                let included = bound::grouped(self.rule.capacity());
                format!("{}; what is above {included} is billed", self.rule.raised(cap.amount).bound())
            }
        }
    }

    /// What one meter of it takes in memory at the most, in bytes, where that grows with every admission.
    pub fn log_bytes_max(&self) -> Option<u64> {
        match &self.rule {
            Rule::SlidingLog(rule) => {
                let entries = rule.limit.get().saturating_add(self.excess.reach().unwrap_or(0));
                Some(entries.saturating_mul(SLIDING_LOG_ENTRY_BYTES))
            }
            _ => None,
        }
    }

    /// The most that a single request may cost, into an untouched meter. Nothing: whatever it costs, it is billed.
    pub fn max_cost(&self) -> Option<u64> {
        match self.rule {
            Rule::TokenBucket(_) => Some(self.rule.capacity()),
            // A request takes one slot whatever it costs.
            Rule::Concurrency { .. } => None,
            _ => Some(self.rule.capacity().saturating_add(self.excess.reach()?)),
        }
    }

    /// The same limit with a share of its amount, and of its overage. What is billed begins where it did.
    #[must_use]
    pub fn scaled(&self, share: Percent) -> Self {
        let excess = self.excess.resized(|cap| cap.share(share));
        Self { rule: self.rule.scaled(share), excess, sold: self.included(), ..self.clone() }
    }

    /// The same limit for so many callers together. What is billed begins where it did.
    #[must_use]
    pub fn times(&self, callers: u64) -> Self {
        let excess = self.excess.resized(|cap| cap.times(callers));
        Self { rule: self.rule.times(callers), excess, sold: self.included(), ..self.clone() }
    }
}
