//! What accounts and keys in memory are made of: their homes, and the parts that many of them share.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use arc_swap::{ArcSwap, ArcSwapOption};
use jiff::tz::TimeZone;
use sluicegate_core::calendar::BillingDay;
use sluicegate_core::policy::TierName;
use sluicegate_core::tariff::AccountCalendar;

use super::account::{Account, AccountId, Standing};
use super::pool::Pool;
use super::record::AccountRecord;
use super::scopes::{ScopeList, Scopes};
use super::serial::FIRST_UNIQUE;
use crate::database::DatabaseError;
use crate::hash::HomeHasher;

/// Where entries get what they have in common with others.
#[derive(Debug)]
pub(crate) struct Makings {
    homes: HomeHasher,
    standings: Pool<Standing>,
    scopes: Pool<ScopeList>,
}

/// What an account has, as the store keeps it.
#[derive(Clone, Copy)]
pub(crate) struct StandingText<'t> {
    pub(crate) tier: &'t str,
    pub(crate) custom: Option<&'t str>,
    pub(crate) billing_day: Option<u8>,
    pub(crate) timezone: Option<&'t str>,
}

/// The store holds what no version of the program writes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Nonsense(pub(crate) String);

impl From<Nonsense> for DatabaseError {
    fn from(nonsense: Nonsense) -> Self {
        Self::Nonsense(nonsense.0)
    }
}

impl Makings {
    pub(crate) fn new(homes: HomeHasher) -> Self {
        Self { homes, standings: Pool::new(), scopes: Pool::new() }
    }

    pub(crate) fn account(&self, serial: u64, id: AccountId, standing: Arc<Standing>) -> Arc<Account> {
        // Whoever is given the same id later has another serial, and with it meters of its own. Earlier versions hashed
        // the id; accounts that they made keep the meters that they have.
        let home = if serial < FIRST_UNIQUE {
            self.homes.of_parts(&[b"account", id.as_str().as_bytes()])
        } else {
            self.homes.of_parts(&[b"account-serial", &serial.to_le_bytes()])
        };
        let (standing, changed) = (ArcSwap::new(standing), AtomicU64::new(0));
        Arc::new(Account { serial, id, home, standing, changed })
    }

    /// The standing of this text: one for all accounts that have the same, unless it was negotiated.
    pub(crate) fn standing(&self, text: StandingText<'_>) -> Result<Arc<Standing>, Nonsense> {
        if text.custom.is_some() {
            return text.standing().map(Arc::new);
        }
        // None of the three holds a blank.
        let (day, zone) = (text.billing_day.unwrap_or_default(), text.timezone.unwrap_or_default());
        self.standings.get(&format!("{} {day} {zone}", text.tier), || text.standing())
    }

    /// The scopes of this text, the names separated by blanks: one for all keys that have the same.
    pub(crate) fn scopes(&self, text: &str) -> Result<Scopes, Nonsense> {
        let list = self.scopes.get(text, || {
            let list = ScopeList::new(text.split_ascii_whitespace());
            list.map_err(|error| Nonsense(format!("a key: {error}")))
        });
        list.map(Scopes::from)
    }
}

impl<'t> StandingText<'t> {
    pub(crate) fn of(record: &'t AccountRecord) -> Self {
        Self {
            tier: record.tier.as_str(),
            custom: record.custom.as_ref().map(|body| body.as_str()),
            billing_day: record.billing_day,
            timezone: record.timezone.as_deref(),
        }
    }

    pub(crate) fn standing(self) -> Result<Standing, Nonsense> {
        let nonsense =
            |field, value: &dyn std::fmt::Display| Nonsense(format!("an account: {field} {value}"));
        let tier = TierName::new(self.tier).ok_or_else(|| nonsense("tier", &self.tier))?;
        let billing_day = match self.billing_day {
            Some(day) => BillingDay::new(day).ok_or_else(|| nonsense("billing_day", &day))?,
            None => BillingDay::FIRST,
        };
        let zone = match self.timezone {
            Some(name) => TimeZone::get(name).map_err(|_| nonsense("timezone", &name))?,
            None => TimeZone::UTC,
        };
        let calendar = AccountCalendar { zone, billing_day };
        Ok(Standing { tier, custom: self.custom.map(Arc::from), calendar, memo: ArcSwapOption::empty() })
    }
}
