//! A folder with a directory in it, for one test.

use std::path::PathBuf;

use tempfile::TempDir;
use tollgate_core::policy::TierName;
use tollgate_core::time::Timestamp;
use tollgate_store::database::{Database, DatabaseError};
use tollgate_store::directory::{
    AccountId, AccountRecord, Directory, DisplayName, KeyRecord, NewAccount, NewKey, Scopes, Verified, Writer,
};
use tollgate_store::hash::HomeHasher;
use tollgate_store::key_text::{KeyEnv, KeyHasher, PresentedKey, SecretText};

/// Some day in 2026.
pub(crate) const DAY: u32 = 1_790_000_000;

pub(crate) struct Room {
    pub(crate) folder: TempDir,
}

impl Room {
    pub(crate) fn new() -> Self {
        Self { folder: TempDir::new().unwrap() }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("tollgate.db")
    }

    pub(crate) fn open(&self) -> Directory {
        open(Database::open(&self.path()).unwrap()).unwrap()
    }
}

pub(crate) fn open(database: Database) -> Result<Directory, DatabaseError> {
    Directory::open(database, HomeHasher::new([1; 16]), KeyHasher::new(&[2; 32]))
}

/// Who writes at this second.
pub(crate) fn at(secs: u32) -> Writer {
    Writer { who: "ops".to_owned(), now: time(secs) }
}

pub(crate) fn time(secs: u32) -> Timestamp {
    Timestamp::from_secs(DAY + secs)
}

pub(crate) fn tier(name: &str) -> TierName {
    TierName::new(name).unwrap()
}

pub(crate) fn new_account(id: &str) -> NewAccount {
    NewAccount {
        id: Some(AccountId::new(id).unwrap()),
        name: DisplayName::new(&format!("The account {id}")).unwrap(),
        tier: tier("free"),
        billing_day: None,
        timezone: None,
    }
}

pub(crate) fn new_key() -> NewKey {
    NewKey {
        name: DisplayName::new("a key").unwrap(),
        env: KeyEnv::Live,
        scopes: Scopes::default(),
        expires_at: None,
    }
}

pub(crate) async fn make_account(directory: &Directory, id: &str) -> AccountRecord {
    directory.create_account(new_account(id), &at(0)).await.unwrap()
}

pub(crate) async fn make_key(directory: &Directory, account: &str) -> (KeyRecord, SecretText) {
    directory.create_key(account, new_key(), &at(0)).await.unwrap()
}

/// The account whose key this is at this second, or nothing if it is invalid.
pub(crate) fn account_of(directory: &Directory, key: &str, secs: u32) -> Option<String> {
    let presented = PresentedKey::parse(key).unwrap();
    match directory.verify(&presented, time(secs)) {
        Verified::Key(key) => Some(key.account.id.to_string()),
        Verified::Invalid => None,
    }
}
