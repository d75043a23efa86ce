//! Accounts, as the way of a request sees them.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use arc_swap::{ArcSwap, ArcSwapOption};
use sluicegate_core::plan::HomeId;
use sluicegate_core::policy::TierName;
use sluicegate_core::tariff::{AccountCalendar, Plan};

use super::field::FieldError;
use crate::key_text::{NoRandomness, random_base62};

/// The name of an account: 1 to 64 characters of `A-Z a-z 0-9 . _ -`, the first a letter or digit.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AccountId(Arc<str>);

impl AccountId {
    /// The most characters an id may have.
    pub const LENGTH_MAX: usize = 64;

    /// The id that this text is.
    pub fn new(text: &str) -> Result<Self, FieldError> {
        let inner = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'.' | b'_' | b'-');
        let starts_well = text.starts_with(|c: char| c.is_ascii_alphanumeric());
        if starts_well && text.len() <= Self::LENGTH_MAX && text.bytes().all(inner) {
            return Ok(Self(text.into()));
        }
        let problem = format!(
            "is not 1 to {} characters of A-Z a-z 0-9 . _ - that start with a letter or digit",
            Self::LENGTH_MAX
        );
        Err(FieldError::new("id", problem))
    }

    /// An id that nobody has: `acct_` and 95 random bits.
    pub fn random() -> Result<Self, NoRandomness> {
        let random = random_base62::<16>()?;
        let text: String = "acct_".chars().chain(random.into_iter().map(char::from)).collect();
        Ok(Self(text.into()))
    }

    /// Its text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for AccountId {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for AccountId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for AccountId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AccountId({self})")
    }
}

/// Who pays.
#[derive(Debug)]
pub struct Account {
    /// The unique id under which the ledger knows it. No store ever gives it again, not even to an account of the same
    /// id.
    pub serial: u64,
    /// What it is called.
    pub id: AccountId,
    /// Where its meters live.
    pub home: HomeId,
    /// What it has now.
    pub standing: ArcSwap<Standing>,
    /// The last change to it that this process has heard of, where others may change it.
    pub(crate) changed: AtomicU64,
}

/// What a process can say of an account by its id.
#[derive(Clone, Debug)]
pub enum LookedAccount {
    /// It is this one.
    Known(Arc<Account>),
    /// There is none of that id.
    Stranger,
    /// The store has to be asked.
    Ask,
}

impl From<Option<Arc<Account>>> for LookedAccount {
    fn from(found: Option<Arc<Account>>) -> Self {
        found.map_or(Self::Stranger, Self::Known)
    }
}

/// What an account has: its tier and its calendar. Accounts that have the same share one, and with it the plan.
#[derive(Debug)]
pub struct Standing {
    /// Its tier.
    pub tier: TierName,
    /// The body of its negotiated tier, as it was given.
    pub custom: Option<Arc<str>>,
    /// What its calendar windows go by.
    pub calendar: AccountCalendar,
    /// The plan that was last made of it.
    pub memo: ArcSwapOption<PlanMemo>,
}

/// A plan, and the policy it was made under.
#[derive(Debug)]
pub struct PlanMemo {
    /// The number of the policy.
    pub policy: u64,
    /// The plan.
    pub plan: Arc<Plan>,
}
