//! Which store a data directory belongs to.
//!
//! Every store has an identity: random, with a generation that counts how often it was set up again after it had lost
//! everything. A data directory remembers the identity of the store it is used with, in a file of its own, because its
//! ledger knows the accounts of that store by their serials.

use std::fmt;
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::key_text::{NoRandomness, random_base62};

/// The file in a data directory.
const FILE: &str = "store.json";
/// The version of the file. A reader refuses any other.
const VERSION: u64 = 1;

/// What kind of store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StoreKind {
    /// The database in the data directory.
    Embedded,
    /// A Redis that several nodes share.
    Redis,
}

impl StoreKind {
    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Embedded => "embedded",
            Self::Redis => "redis",
        }
    }

    fn parse(word: &str) -> Option<Self> {
        [Self::Embedded, Self::Redis].into_iter().find(|kind| kind.as_str() == word)
    }
}

/// A store, and how often it was set up again.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StoreId {
    /// Random, so that no two stores have the same.
    pub id: String,
    /// Counts up whenever the store is adopted after it has lost everything.
    pub generation: u64,
}

impl StoreId {
    pub(crate) fn random() -> Result<Self, NoRandomness> {
        Ok(Self { id: random_base62::<22>()?.into_iter().map(char::from).collect(), generation: 1 })
    }

    /// The same store, set up again.
    pub(crate) fn next(&self) -> Self {
        Self { id: self.id.clone(), generation: self.generation + 1 }
    }
}

/// Whether the store is the one that the data directory belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum StoreState {
    /// It is.
    Known,
    /// It has lost everything, or is a copy from before it was last set up. Nothing is written until it is adopted.
    Emptied,
    /// It is another one. Nothing is written until it is adopted.
    Other,
}

impl StoreState {
    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Known => "known",
            Self::Emptied => "emptied",
            Self::Other => "other",
        }
    }

    pub(crate) const fn from_number(number: u8) -> Self {
        match number {
            0 => Self::Known,
            1 => Self::Emptied,
            _ => Self::Other,
        }
    }
}

impl fmt::Display for StoreState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Known => "the store is the one that this node knows",
            Self::Emptied => {
                "the store has lost its accounts and keys: nothing is changed in it until it is restored from a \
                 backup, or adopted as it is with `sluicegate directory adopt`"
            }
            Self::Other => {
                "the store is not the one that this node was started with: nothing is changed in it until it is \
                 back, or this one is adopted with `sluicegate directory adopt`"
            }
        })
    }
}

/// Why a data directory is not used with a store.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum StoreMismatch {
    /// It was used with a store of another kind.
    Kind {
        /// What it was used with.
        remembered: StoreKind,
        /// What it was to be used with.
        found: StoreKind,
    },
    /// It was used with another store of the same kind, or with a later copy of it.
    Other,
    /// What it remembers cannot be read or written.
    Memory(String),
}

impl fmt::Display for StoreMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const HELP: &str = "its ledger counts the usage of that store's accounts; start it with that store, \
                            name another data directory, or take over this store: \
                            sluicegate directory adopt --data-dir <DIR>";
        match self {
            Self::Kind { remembered, found } => write!(
                f,
                "the data directory was used with another store ({}, and this is {}): {HELP}",
                remembered.as_str(),
                found.as_str()
            ),
            Self::Other => write!(f, "the data directory was used with another store: {HELP}"),
            Self::Memory(why) => write!(f, "cannot tell which store the data directory belongs to: {why}"),
        }
    }
}

impl std::error::Error for StoreMismatch {}

/// What a data directory remembers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Remembered {
    /// The store; nothing if none was ever used, or only by versions that remembered nothing.
    pub(crate) store: Option<(StoreKind, StoreId)>,
    /// Whether the next store is taken over, whichever it is.
    pub(crate) adopts: bool,
}

const NOTHING: Remembered = Remembered { store: None, adopts: false };

/// The memory of a data directory.
#[derive(Debug)]
pub struct StoreMemory {
    /// Nothing: it lasts as long as the process.
    path: Option<PathBuf>,
    remembered: Mutex<Remembered>,
}

impl StoreMemory {
    /// A memory that knows no store, and keeps nothing on disk.
    pub fn forgetful() -> Self {
        Self { path: None, remembered: Mutex::new(NOTHING) }
    }

    /// What this data directory remembers.
    pub fn of_directory(dir: &Path) -> Result<Self, StoreMismatch> {
        let path = dir.join(FILE);
        let failed = |why: &dyn fmt::Display| StoreMismatch::Memory(format!("{}: {why}", path.display()));
        let remembered = match fs::read_to_string(&path) {
            Ok(text) => parse(&text).ok_or_else(|| failed(&"it was not written by this version"))?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => NOTHING,
            Err(error) => return Err(failed(&error)),
        };
        Ok(Self { path: Some(path), remembered: Mutex::new(remembered) })
    }

    /// Whether a data directory remembers nothing: it is new, or was used by versions that had no such memory.
    pub(crate) fn is_blank(&self) -> bool {
        self.path.is_some() && *self.remembered.lock() == NOTHING
    }

    /// Lets the next start take over the store that it finds, whichever it is.
    pub fn adopt_next(&self) -> Result<(), StoreMismatch> {
        let mut remembered = self.remembered.lock();
        remembered.adopts = true;
        self.write(&remembered)
    }

    /// What is remembered for a store of this kind.
    pub(crate) fn of_kind(&self, found: StoreKind) -> Result<Remembered, StoreMismatch> {
        let remembered = self.remembered.lock().clone();
        match &remembered.store {
            Some((kind, _)) if *kind != found && !remembered.adopts => {
                Err(StoreMismatch::Kind { remembered: *kind, found })
            }
            // The identity of a store of one kind means nothing to one of the other.
            Some((kind, _)) if *kind != found => Ok(Remembered { store: None, adopts: true }),
            _ => Ok(remembered),
        }
    }

    /// Remembers the store, and that nothing else is to be adopted.
    pub(crate) fn remember(&self, kind: StoreKind, id: &StoreId) -> Result<(), StoreMismatch> {
        let now = Remembered { store: Some((kind, id.clone())), adopts: false };
        let mut remembered = self.remembered.lock();
        if *remembered != now {
            self.write(&now)?;
            *remembered = now;
        }
        Ok(())
    }

    /// Under another name first, so that a crash leaves what was there or what is new.
    fn write(&self, remembered: &Remembered) -> Result<(), StoreMismatch> {
        let Some(path) = &self.path else { return Ok(()) };
        let unfinished = path.with_extension("new");
        let write = || -> io::Result<()> {
            let mut options = fs::OpenOptions::new();
            let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&unfinished)?;
            writeln!(file, "{}", text(remembered))?;
            file.sync_all()?;
            fs::rename(&unfinished, path)
        };
        write().map_err(|error| StoreMismatch::Memory(format!("{}: {error}", path.display())))
    }
}

fn text(remembered: &Remembered) -> String {
    let store = remembered
        .store
        .as_ref()
        .map(|(kind, store)| json!({"kind": kind.as_str(), "id": store.id, "generation": store.generation}));
    json!({"v": VERSION, "store": store, "adopt": remembered.adopts}).to_string()
}

fn parse(text: &str) -> Option<Remembered> {
    let read: Value = serde_json::from_str(text).ok()?;
    if read["v"] != VERSION {
        return None;
    }
    let store = match &read["store"] {
        Value::Null => None,
        store => {
            let id =
                StoreId { id: store["id"].as_str()?.to_owned(), generation: store["generation"].as_u64()? };
            Some((StoreKind::parse(store["kind"].as_str()?)?, id))
        }
    };
    Some(Remembered { store, adopts: read["adopt"].as_bool()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_remembered_is_there_after_a_restart() {
        let folder = tempfile::TempDir::new().unwrap();
        let store = StoreId::random().unwrap();
        let memory = StoreMemory::of_directory(folder.path()).unwrap();
        assert_eq!(memory.of_kind(StoreKind::Redis).unwrap(), NOTHING);
        memory.remember(StoreKind::Redis, &store).unwrap();
        let memory = StoreMemory::of_directory(folder.path()).unwrap();
        let same = Remembered { store: Some((StoreKind::Redis, store.clone())), adopts: false };
        assert_eq!(memory.of_kind(StoreKind::Redis).unwrap(), same);
        memory.adopt_next().unwrap();
        let memory = StoreMemory::of_directory(folder.path()).unwrap();
        assert_eq!(memory.of_kind(StoreKind::Redis).unwrap(), Remembered { adopts: true, ..same });
        memory.remember(StoreKind::Redis, &store.next()).unwrap();
        let later = StoreMemory::of_directory(folder.path()).unwrap().of_kind(StoreKind::Redis).unwrap();
        assert_eq!(later, Remembered { store: Some((StoreKind::Redis, store.next())), adopts: false });
    }

    #[test]
    fn a_store_of_another_kind_is_refused_until_it_is_adopted() {
        let memory = StoreMemory::forgetful();
        memory.remember(StoreKind::Redis, &StoreId::random().unwrap()).unwrap();
        let refused = memory.of_kind(StoreKind::Embedded).unwrap_err();
        assert!(refused.to_string().contains("sluicegate directory adopt --data-dir"), "{refused}");
        memory.adopt_next().unwrap();
        assert_eq!(memory.of_kind(StoreKind::Embedded).unwrap(), Remembered { store: None, adopts: true });
    }

    #[test]
    fn a_file_that_cannot_be_read_is_not_taken_for_a_new_directory() {
        let folder = tempfile::TempDir::new().unwrap();
        for text in
            ["", "{}", "{\"v\":2}", "{\"v\":1,\"store\":{},\"adopt\":false}", "{\"v\":1,\"store\":null}"]
        {
            fs::write(folder.path().join(FILE), text).unwrap();
            let refused = StoreMemory::of_directory(folder.path()).unwrap_err();
            assert!(matches!(refused, StoreMismatch::Memory(_)), "{text}: {refused}");
        }
    }
}
