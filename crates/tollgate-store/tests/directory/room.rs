//! Stores for one test, and what is done with the directory in them.

use std::path::{Path, PathBuf};

use tempfile::TempDir;
use tollgate_core::policy::TierName;
use tollgate_core::time::Timestamp;
use tollgate_store::database::{Database, DatabaseError};
use tollgate_store::directory::{
    AccountId, AccountRecord, Counts, Directory, DisplayName, KeyRecord, Looked, NewAccount, NewKey, Scopes,
    Verified, Writer,
};
use tollgate_store::hash::HomeHasher;
use tollgate_store::key_text::{KeyEnv, KeyHasher, PresentedKey, SecretText};

/// Some day in 2026.
pub(crate) const DAY: u32 = 1_790_000_000;

/// A folder with a database in it.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    pub(crate) fn dir(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.0.path().join("tollgate.db")
    }

    pub(crate) fn open(&self) -> Directory {
        open(Database::open(&self.path()).unwrap()).unwrap()
    }
}

/// A store for one test, whichever it is.
pub(crate) enum Room {
    Embedded(Folder),
}

impl Room {
    pub(crate) fn embedded() -> Self {
        Self::Embedded(Folder::new())
    }

    /// A store of the same kind that has nothing to do with this one.
    pub(crate) fn another(&self) -> Self {
        match self {
            Self::Embedded(_) => Self::embedded(),
        }
    }

    /// The directory in it, as a process finds it that starts now.
    pub(crate) async fn open(&self) -> Directory {
        match self {
            Self::Embedded(folder) => folder.open(),
        }
    }

    /// Everything that the store has written to a disk.
    pub(crate) fn bytes_on_disk(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut folders = match self {
            Self::Embedded(folder) => vec![folder.dir().to_owned()],
        };
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() { folders.push(path) } else { bytes.extend(std::fs::read(path).unwrap()) }
            }
        }
        bytes
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

/// What a request with this key finds at this second.
pub(crate) async fn verified(directory: &Directory, key: &str, secs: u32) -> Verified {
    let presented = PresentedKey::parse(key).unwrap();
    match directory.verify(&presented, time(secs)) {
        Looked::Known(verified) => verified,
        Looked::Ask => directory.fetch(&presented, time(secs)).await.unwrap(),
    }
}

/// The account whose key this is at this second, or nothing if it is invalid.
pub(crate) async fn account_of(directory: &Directory, key: &str, secs: u32) -> Option<String> {
    match verified(directory, key, secs).await {
        Verified::Key(key) => Some(key.account.id.to_string()),
        Verified::Invalid => None,
    }
}

pub(crate) async fn counts(directory: &Directory) -> Counts {
    directory.counts().await.unwrap()
}
