//! Stores for one test, and what is done with the directory in them.

use std::path::{Path, PathBuf};
use std::time::Duration;

use sluicegate_core::policy::TierName;
use sluicegate_core::time::Timestamp;
use sluicegate_store::database::Database;
use sluicegate_store::directory::{
    AccountId, AccountRecord, CacheLimits, Counts, Directory, DisplayName, KeyRecord, Looked, NewAccount,
    NewKey, Scopes, StoreError, Verified, Writer,
};
use sluicegate_store::hash::HomeHasher;
use sluicegate_store::key_text::{KeyEnv, KeyHasher, PresentedKey, SecretText};
use sluicegate_store::redis::{Address, Link, LinkOptions, Password};
use sluicegate_testkit::redis::{Engine, RedisLaunch, RedisServer};
use tempfile::TempDir;

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
        self.0.path().join("sluicegate.db")
    }

    pub(crate) fn open(&self) -> Directory {
        open(Database::open(&self.path()).unwrap()).unwrap()
    }
}

/// A store for one test, whichever it is.
pub(crate) enum Room {
    Embedded(Folder),
    Redis(RedisServer),
}

impl Room {
    pub(crate) fn embedded() -> Self {
        Self::Embedded(Folder::new())
    }

    pub(crate) fn redis(engine: Engine) -> Self {
        Self::Redis(RedisLaunch::new(engine).append_only().start())
    }

    /// A store of the same kind that has nothing to do with this one.
    pub(crate) fn another(&self) -> Self {
        match self {
            Self::Embedded(_) => Self::embedded(),
            Self::Redis(server) => Self::redis(server.engine()),
        }
    }

    /// The directory in it, as a process finds it that starts now.
    pub(crate) async fn open(&self) -> Directory {
        match self {
            Self::Embedded(folder) => folder.open(),
            Self::Redis(server) => open_shared(&server.url()).await,
        }
    }

    /// Everything that the store has written to a disk.
    pub(crate) fn bytes_on_disk(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut folders = match self {
            Self::Embedded(folder) => vec![folder.dir().to_owned()],
            Self::Redis(server) => vec![server.folder().to_owned()],
        };
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                // A server's folder holds a socket as well.
                match path.metadata().unwrap() {
                    kind if kind.is_dir() => folders.push(path),
                    kind if kind.is_file() => bytes.extend(std::fs::read(path).unwrap()),
                    _ => {}
                }
            }
        }
        bytes
    }
}

/// A link to the server at this URL that waits longer than any test does on purpose.
pub(crate) async fn link(url: &str) -> Link {
    link_with(url, PATIENT).await
}

const PATIENT: LinkOptions = LinkOptions {
    deadline: Duration::from_secs(5),
    username: None,
    password: None,
    sentinel_password: None,
    trusted_pem: None,
};

async fn link_with(url: &str, options: LinkOptions) -> Link {
    let link = Link::open(&Address::parse(url).unwrap(), &options).unwrap();
    link.ready(Duration::from_secs(10)).await.unwrap();
    link
}

/// The directory in the server at this URL, as a node finds it that starts now.
pub(crate) async fn open_shared(url: &str) -> Directory {
    shared(link(url).await).await
}

/// The same, of a node whose requests wait this long for the server.
pub(crate) async fn open_within(url: &str, deadline: Duration) -> Directory {
    shared(link_with(url, LinkOptions { deadline, ..PATIENT }).await).await
}

/// The same, of a node that is this user, whose password is the same word.
pub(crate) async fn open_as(url: &str, user: &str) -> Directory {
    let (username, password) = (Some(user.to_owned()), Some(Password::new(user.to_owned())));
    shared(link_with(url, LinkOptions { username, password, ..PATIENT }).await).await
}

async fn shared(link: Link) -> Directory {
    let (homes, keys) = (HomeHasher::new([1; 16]), KeyHasher::new(&[2; 32]));
    Directory::shared(link, homes, keys, CacheLimits::default()).await.unwrap()
}

pub(crate) fn open(database: Database) -> Result<Directory, StoreError> {
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
