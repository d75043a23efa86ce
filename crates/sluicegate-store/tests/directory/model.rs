//! Random writes against a model of a few lines, with reopening in between.

use std::collections::BTreeMap;

use proptest::prelude::*;
use sluicegate_core::time::Nanos;
use sluicegate_store::directory::{Counts, CustomBody, Directory, What, WriteError};
use sluicegate_store::key_text::SecretText;
use sluicegate_testkit::redis::Engine;

use crate::room::{Room, account_of, at, counts, new_account, new_key, tier};

/// One write, to one of a few accounts or to the key made so many keys ago.
#[derive(Clone, Copy, Debug)]
enum Step {
    CreateAccount(u8),
    SetTier(u8, bool),
    SetCustom(u8),
    DeleteAccount(u8),
    CreateKey(u8),
    RotateKey(usize, u32),
    RevokeKey(usize),
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    let account = 0..6_u8;
    let key = 0..12_usize;
    prop_oneof![
        4 => account.clone().prop_map(Step::CreateAccount),
        4 => (account.clone(), any::<bool>()).prop_map(|(account, pro)| Step::SetTier(account, pro)),
        2 => account.clone().prop_map(Step::SetCustom),
        2 => account.clone().prop_map(Step::DeleteAccount),
        6 => account.prop_map(Step::CreateKey),
        6 => (key.clone(), 0..40_u32).prop_map(|(key, overlap)| Step::RotateKey(key, overlap)),
        3 => key.prop_map(Step::RevokeKey),
        1 => Just(Step::Reopen),
    ]
}

struct Account {
    serial: u64,
    tier: String,
    custom: Option<String>,
    keys_made: u32,
}

struct Key {
    id: sluicegate_store::key_text::KeyId,
    account: String,
    serial: u64,
    is_revoked: bool,
    /// The secrets it ever had, each with the second at which it ends.
    secrets: Vec<(SecretText, u32)>,
}

/// What the directory should say.
#[derive(Default)]
struct Model {
    accounts: BTreeMap<String, Account>,
    keys: Vec<Key>,
    entries: usize,
    last_serial: u64,
}

const NO_ACCOUNT: WriteError = WriteError::NotFound(What::Account);

impl Model {
    fn key(&mut self, back: usize) -> Option<&mut Key> {
        let place = self.keys.len().checked_sub(1 + back)?;
        self.keys.get_mut(place)
    }

    /// Does the step to the directory and to the model: both take it, or both refuse it for the same reason.
    async fn take(&mut self, directory: &Directory, step: Step, now: u32) {
        let is_written = match step {
            Step::CreateAccount(name) => self.create_account(directory, &id(name), now).await,
            Step::SetTier(name, is_pro) => {
                let new = if is_pro { "pro" } else { "free" };
                let done = directory.set_tier(&id(name), tier(new), &at(now)).await;
                self.set_standing(&id(name), new.to_owned(), None, done.map(drop))
            }
            Step::SetCustom(name) => {
                let (id, body) = (id(name), format!("rate: {now}"));
                let done = directory.set_custom(&id, CustomBody::new(&*body).unwrap(), &at(now)).await;
                self.set_standing(&id, format!("custom:{id}"), Some(body), done.map(drop))
            }
            Step::DeleteAccount(name) => self.delete_account(directory, &id(name), now).await,
            Step::CreateKey(name) => self.create_key(directory, &id(name), now).await,
            Step::RotateKey(back, overlap) => self.rotate_key(directory, back, overlap, now).await,
            Step::RevokeKey(back) => self.revoke_key(directory, back, now).await,
            Step::Reopen => false,
        };
        self.entries += usize::from(is_written);
    }

    async fn create_account(&mut self, directory: &Directory, id: &str, now: u32) -> bool {
        let done = directory.create_account(new_account(id), &at(now)).await;
        if self.accounts.contains_key(id) {
            assert!(matches!(done, Err(WriteError::Exists(_))));
            return false;
        }
        let serial = done.unwrap().serial;
        assert!(serial > self.last_serial);
        self.last_serial = serial;
        let account = Account { serial, tier: "free".to_owned(), custom: None, keys_made: 0 };
        self.accounts.insert(id.to_owned(), account);
        true
    }

    fn set_standing(
        &mut self,
        id: &str,
        tier: String,
        custom: Option<String>,
        done: Result<(), WriteError>,
    ) -> bool {
        let Some(account) = self.accounts.get_mut(id) else {
            assert_eq!(done, Err(NO_ACCOUNT));
            return false;
        };
        done.unwrap();
        (account.tier, account.custom) = (tier, custom);
        true
    }

    async fn delete_account(&mut self, directory: &Directory, id: &str, now: u32) -> bool {
        let done = directory.delete_account(id, &at(now)).await;
        let Some(account) = self.accounts.remove(id) else {
            assert_eq!(done.unwrap_err(), NO_ACCOUNT);
            return false;
        };
        assert_eq!(done.unwrap().serial, account.serial);
        for key in self.keys.iter_mut().filter(|key| key.account == id) {
            key.is_revoked = true;
        }
        true
    }

    async fn create_key(&mut self, directory: &Directory, id: &str, now: u32) -> bool {
        let done = directory.create_key(id, new_key(), &at(now)).await;
        let Some(account) = self.accounts.get_mut(id) else {
            assert_eq!(done.unwrap_err(), NO_ACCOUNT);
            return false;
        };
        let (record, secret) = done.unwrap();
        account.keys_made += 1;
        assert_eq!(record.number, account.keys_made);
        assert!(self.keys.last().is_none_or(|last| last.serial < record.serial));
        let secrets = vec![(secret, u32::MAX)];
        let (id, account, serial) = (record.id, id.to_owned(), record.serial);
        self.keys.push(Key { id, account, serial, is_revoked: false, secrets });
        true
    }

    async fn rotate_key(&mut self, directory: &Directory, back: usize, overlap: u32, now: u32) -> bool {
        let Some(key) = self.key(back) else { return false };
        let done = directory.rotate_key(key.id, Nanos::from_secs(overlap), &at(now)).await;
        if key.is_revoked {
            assert_eq!(done.unwrap_err(), WriteError::Revoked);
            return false;
        }
        let current = key.secrets.len() - 1;
        key.secrets[..current].iter_mut().for_each(|(_, end)| *end = (*end).min(now));
        key.secrets[current].1 = now + overlap;
        key.secrets.push((done.unwrap().1, u32::MAX));
        true
    }

    async fn revoke_key(&mut self, directory: &Directory, back: usize, now: u32) -> bool {
        let Some(key) = self.key(back) else { return false };
        directory.revoke_key(key.id, &at(now)).await.unwrap();
        !std::mem::replace(&mut key.is_revoked, true)
    }

    async fn check(&self, directory: &Directory, now: u32) {
        let keys = self.keys.iter().filter(|key| !key.is_revoked).count();
        assert_eq!(counts(directory).await, Counts { accounts: self.accounts.len(), keys });
        for (id, account) in &self.accounts {
            let found = directory.account(id).await.unwrap().unwrap();
            let standing = found.standing.load();
            assert_eq!((found.serial, standing.tier.as_str()), (account.serial, account.tier.as_str()));
            assert_eq!(standing.custom.as_deref(), account.custom.as_deref());
        }
        for key in &self.keys {
            for (secret, end) in &key.secrets {
                let expected = (!key.is_revoked && now < *end).then(|| key.account.clone());
                assert_eq!(account_of(directory, secret.expose(), now).await, expected);
            }
        }
    }
}

fn id(name: u8) -> String {
    format!("account-{name}")
}

async fn run(room: Room, steps: Vec<Step>) {
    let mut directory = room.open().await;
    let mut model = Model::default();
    for (now, step) in (0..).zip(steps) {
        if matches!(step, Step::Reopen) {
            drop(directory);
            directory = room.open().await;
        }
        model.take(&directory, step, now).await;
        model.check(&directory, now).await;
    }
    let newest = directory.list_audit(Default::default()).await.unwrap().items;
    assert_eq!(newest.first().map_or(0, |entry| entry.seq), model.entries as u64);
}

fn block_on(run: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(run);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1, max_shrink_iters: 200, ..ProptestConfig::default() })]

    #[test]
    fn a_thousand_writes_leave_what_the_model_says(steps in prop::collection::vec(step(), 1_000)) {
        block_on(run(Room::embedded(), steps));
    }

    #[test]
    fn as_many_writes_to_redis_leave_what_the_model_says(steps in prop::collection::vec(step(), 1_000)) {
        block_on(run(Room::redis(Engine::Redis), steps));
    }
}
