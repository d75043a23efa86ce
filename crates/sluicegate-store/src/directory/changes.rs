//! What writes make of records: the rules that hold in every store.

use sluicegate_core::policy::TierName;
use sluicegate_core::time::{Nanos, Timestamp};

use super::account::AccountId;
use super::audited::Action;
use super::error::WriteError;
use super::field::{CustomBody, FieldError, ZoneName};
use super::record::{AccountRecord, KeyRecord, KeyUpdate, NewAccount, NewKey};
use super::restrictions::KeyRestrictions;
use crate::key_text::KeyId;

/// What an account is to have from now on.
#[derive(Clone, Debug)]
pub(crate) enum StandingChange {
    /// This tier, and nothing negotiated.
    Tier(TierName),
    /// What was negotiated, under its name.
    Custom(TierName, CustomBody),
}

impl StandingChange {
    pub(crate) const fn action(&self) -> Action {
        match self {
            Self::Tier(_) => Action::AccountSetTier,
            Self::Custom(..) => Action::AccountSetCustom,
        }
    }

    /// The account with the change.
    pub(crate) fn of(&self, before: &AccountRecord) -> AccountRecord {
        let (tier, custom) = match self {
            Self::Tier(tier) => (tier, None),
            Self::Custom(tier, body) => (tier, Some(body)),
        };
        AccountRecord { tier: tier.clone(), custom: custom.cloned(), ..before.clone() }
    }
}

/// A negotiated tier without its body would mean nothing.
pub(super) fn refuse_custom(tier: &TierName) -> Result<(), WriteError> {
    if tier.is_custom() {
        let problem = "is a negotiated one, which is set by its limits";
        return Err(FieldError::new("tier", problem).into());
    }
    Ok(())
}

impl NewAccount {
    /// The account, but for its serial, which the store gives.
    pub(crate) fn record(self, id: AccountId, now: Timestamp) -> AccountRecord {
        AccountRecord {
            serial: 0,
            id,
            name: self.name,
            tier: self.tier,
            custom: None,
            billing_day: self.billing_day.map(|day| day.get()),
            timezone: self.timezone.map(ZoneName::into_text),
            created_at: now,
            deleted_at: None,
        }
    }
}

impl AccountRecord {
    pub(crate) fn deleted(&self, now: Timestamp) -> Self {
        Self { deleted_at: Some(now), ..self.clone() }
    }
}

impl NewKey {
    pub(super) fn refuse_expired(&self, now: Timestamp) -> Result<(), FieldError> {
        match self.expires_at {
            Some(at) if at <= now => Err(FieldError::new("expires_at", "is not in the future")),
            _ => Ok(()),
        }
    }

    /// The key, but for its serial and number, which the store gives.
    pub(crate) fn record(
        self,
        id: KeyId,
        account: AccountId,
        restrictions: KeyRestrictions,
        now: Timestamp,
    ) -> KeyRecord {
        KeyRecord {
            serial: 0,
            number: 0,
            id,
            account,
            name: self.name,
            env: self.env,
            scopes: self.scopes,
            expires_at: self.expires_at,
            restrictions,
            created_at: now,
            rotated_at: None,
            previous_until: None,
            revoked_at: None,
        }
    }
}

impl KeyUpdate {
    pub(super) fn refuse_expired(&self, now: Timestamp) -> Result<(), FieldError> {
        match self.expires_at {
            Some(Some(at)) if at <= now => Err(FieldError::new("expires_at", "is not in the future")),
            _ => Ok(()),
        }
    }

    /// The key with the change; nothing if it is as it should be already.
    pub(crate) fn of(&self, before: &KeyRecord) -> Result<Option<KeyRecord>, WriteError> {
        if before.revoked_at.is_some() {
            return Err(WriteError::Revoked);
        }
        let change = self.clone();
        let (held, restrictions) = (before.clone(), before.restrictions.clone());
        let after = KeyRecord {
            name: change.name.unwrap_or(held.name),
            scopes: change.scopes.unwrap_or(held.scopes),
            expires_at: change.expires_at.unwrap_or(held.expires_at),
            restrictions: KeyRestrictions {
                allowed_ips: change.allowed_ips.unwrap_or(restrictions.allowed_ips),
                allowed_origins: change.allowed_origins.unwrap_or(restrictions.allowed_origins),
                limits: change.limits.unwrap_or(restrictions.limits),
            },
            ..before.clone()
        };
        Ok((after != *before).then_some(after))
    }
}

impl KeyRecord {
    /// The key with another secret, the one before living for `overlap`.
    pub(crate) fn rotated(&self, overlap: Nanos, now: Timestamp) -> Result<Self, WriteError> {
        if self.revoked_at.is_some() {
            return Err(WriteError::Revoked);
        }
        if self.expires_at.is_some_and(|at| at <= now) {
            return Err(WriteError::Expired);
        }
        let previous_until = (overlap > Nanos::ZERO).then(|| now.plus(overlap));
        Ok(Self { rotated_at: Some(now), previous_until, ..self.clone() })
    }

    /// The key, revoked; nothing if it is already.
    pub(crate) fn revoked(&self, now: Timestamp) -> Option<Self> {
        self.revoked_at.is_none().then(|| Self { revoked_at: Some(now), ..self.clone() })
    }
}
