//! What the writes of a directory work on: the index in memory, and what its entries share.

use std::sync::Arc;

use arc_swap::{ArcSwap, ArcSwapOption};
use jiff::tz::TimeZone;
use tollgate_core::calendar::BillingDay;
use tollgate_core::policy::TierName;
use tollgate_core::tariff::AccountCalendar;

use super::account::{Account, AccountId, Standing};
use super::index::Index;
use super::pool::Pool;
use super::scopes::{ScopeList, Scopes};
use crate::database::DatabaseError;
use crate::hash::HomeHasher;

/// The part of the directory that its threads share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) index: Index,
    homes: HomeHasher,
    standings: Pool<Standing>,
    scopes: Pool<ScopeList>,
}

/// What an account has, as the database keeps it.
#[derive(Clone, Copy)]
pub(super) struct StandingText<'t> {
    pub(super) tier: &'t str,
    pub(super) custom: Option<&'t str>,
    pub(super) billing_day: Option<u8>,
    pub(super) timezone: Option<&'t str>,
}

impl Shared {
    pub(super) fn new(homes: HomeHasher) -> Self {
        Self { index: Index::new(), homes, standings: Pool::new(), scopes: Pool::new() }
    }

    pub(super) fn account(&self, serial: u64, id: AccountId, standing: Arc<Standing>) -> Arc<Account> {
        // By the id alone: an account that is made again finds its meters as they were.
        let home = self.homes.of_parts(&[b"account", id.as_str().as_bytes()]);
        Arc::new(Account { serial, id, home, standing: ArcSwap::new(standing) })
    }

    /// The standing of this text: one for all accounts that have the same, unless it was negotiated.
    pub(super) fn standing(&self, text: StandingText<'_>) -> Result<Arc<Standing>, DatabaseError> {
        if text.custom.is_some() {
            return text.standing().map(Arc::new);
        }
        // None of the three holds a blank.
        let (day, zone) = (text.billing_day.unwrap_or_default(), text.timezone.unwrap_or_default());
        self.standings.get(&format!("{} {day} {zone}", text.tier), || text.standing())
    }

    /// The scopes of this text, the names separated by blanks: one for all keys that have the same.
    pub(super) fn scopes(&self, text: &str) -> Result<Scopes, DatabaseError> {
        let list = self.scopes.get(text, || {
            let list = ScopeList::new(text.split_ascii_whitespace());
            list.map_err(|error| DatabaseError::Nonsense(format!("a key: {error}")))
        });
        list.map(Scopes::from)
    }
}

impl StandingText<'_> {
    fn standing(self) -> Result<Standing, DatabaseError> {
        let nonsense = |field, value: &dyn std::fmt::Display| {
            DatabaseError::Nonsense(format!("an account: {field} {value}"))
        };
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
