//! Writes: what is refused whatever the store, and then the store.

use sluicegate_core::policy::TierName;
use sluicegate_core::time::Nanos;

use super::account::AccountId;
use super::changes::{StandingChange, refuse_custom};
use super::error::{What, WriteError};
use super::field::CustomBody;
use super::record::{AccountRecord, KeyRecord, KeyUpdate, NewAccount, NewKey, Writer};
use super::restrictions::KeyRestrictions;
use super::{Directory, Kind};
use crate::key_text::{self, KeyId, SecretText};

/// Writes to accounts. Each is kept by the store when it returns, seen by the next request, and one audit entry. It is
/// done even if nobody waits for it any more.
impl Directory {
    /// Makes an account.
    pub async fn create_account(&self, new: NewAccount, by: &Writer) -> Result<AccountRecord, WriteError> {
        self.refuse_unadopted()?;
        refuse_custom(&new.tier)?;
        let id = match &new.id {
            Some(id) => id.clone(),
            None => AccountId::random()?,
        };
        match &self.kind {
            Kind::Embedded(own) => own.create_account(id, new, by).await,
            Kind::Redis(own) => own.create_account(id, new, by).await,
        }
    }

    /// Gives an account a tier that the caller has checked to exist. Nothing of a negotiated tier stays in force.
    pub async fn set_tier(
        &self,
        account: &str,
        tier: TierName,
        by: &Writer,
    ) -> Result<AccountRecord, WriteError> {
        refuse_custom(&tier)?;
        self.set_standing(account, StandingChange::Tier(tier), by).await
    }

    /// Gives an account a tier of its own, `custom:<id>`.
    pub async fn set_custom(
        &self,
        account: &str,
        body: CustomBody,
        by: &Writer,
    ) -> Result<AccountRecord, WriteError> {
        let tier = TierName::new(&format!("{}{account}", TierName::CUSTOM_PREFIX));
        // What is no name of a tier is no account's id either.
        let tier = tier.ok_or(WriteError::NotFound(What::Account))?;
        self.set_standing(account, StandingChange::Custom(tier, body), by).await
    }

    async fn set_standing(
        &self,
        account: &str,
        change: StandingChange,
        by: &Writer,
    ) -> Result<AccountRecord, WriteError> {
        self.refuse_unadopted()?;
        match &self.kind {
            Kind::Embedded(own) => own.set_standing(account, change, by).await,
            Kind::Redis(own) => own.set_standing(account, change, by).await,
        }
    }

    /// Deletes an account and revokes its keys. The id may be given again, to an account with other meters and another
    /// serial.
    pub async fn delete_account(&self, account: &str, by: &Writer) -> Result<AccountRecord, WriteError> {
        match &self.kind {
            Kind::Embedded(own) => own.delete_account(account, by).await,
            Kind::Redis(own) => own.delete_account(account, by).await,
        }
    }
}

/// Writes to keys, as those to accounts.
impl Directory {
    /// Makes a key. Its secret is in the answer and nowhere else.
    pub async fn create_key(
        &self,
        account: &str,
        new: NewKey,
        by: &Writer,
    ) -> Result<(KeyRecord, SecretText), WriteError> {
        self.create_restricted_key(account, new, KeyRestrictions::default(), by).await
    }

    /// The same for a key that is narrowed below its account.
    pub async fn create_restricted_key(
        &self,
        account: &str,
        new: NewKey,
        restrictions: KeyRestrictions,
        by: &Writer,
    ) -> Result<(KeyRecord, SecretText), WriteError> {
        self.refuse_unadopted()?;
        new.refuse_expired(by.now)?;
        let id = KeyId::random()?;
        let secret = key_text::make(new.env, id)?;
        let made = (id, self.keys.hash_secret(&secret));
        let record = match &self.kind {
            Kind::Embedded(own) => own.create_key(account, made, (new, restrictions), by).await?,
            Kind::Redis(own) => own.create_key(account, made, (new, restrictions), by).await?,
        };
        Ok((record, secret))
    }

    /// Changes what a key is called and may be used for. One that is so already stays as it is, and nothing is entered.
    pub async fn update_key(
        &self,
        id: KeyId,
        change: KeyUpdate,
        by: &Writer,
    ) -> Result<KeyRecord, WriteError> {
        self.refuse_unadopted()?;
        change.refuse_expired(by.now)?;
        match &self.kind {
            Kind::Embedded(own) => own.update_key(id, change, by).await,
            Kind::Redis(own) => own.update_key(id, change, by).await,
        }
    }

    /// Gives a key a new secret. The one before lives for `overlap`; the one before that, if it still lived, ends now.
    pub async fn rotate_key(
        &self,
        id: KeyId,
        overlap: Nanos,
        by: &Writer,
    ) -> Result<(KeyRecord, SecretText), WriteError> {
        let env = self.find_key(id).await?.ok_or(WriteError::NotFound(What::Key))?.env;
        let secret = key_text::make(env, id)?;
        let made = (id, self.keys.hash_secret(&secret));
        let record = match &self.kind {
            Kind::Embedded(own) => own.rotate_key(made, overlap, by).await?,
            Kind::Redis(own) => own.rotate_key(made, overlap, by).await?,
        };
        Ok((record, secret))
    }

    /// Makes a key invalid, for good. A key that is revoked already stays as it is, and nothing is entered.
    pub async fn revoke_key(&self, id: KeyId, by: &Writer) -> Result<KeyRecord, WriteError> {
        match &self.kind {
            Kind::Embedded(own) => own.revoke_key(id, by).await,
            Kind::Redis(own) => own.revoke_key(id, by).await,
        }
    }
}
