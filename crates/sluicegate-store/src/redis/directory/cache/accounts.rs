//! The accounts of the keys that are remembered: one for all of its keys, so that a change is a change for all.

use std::collections::HashMap;
use std::hash::RandomState;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use parking_lot::{RwLock, RwLockWriteGuard};

use crate::directory::account::{Account, Standing};
use crate::directory::makings::{Makings, Nonsense, StandingText};
use crate::directory::record::AccountRecord;

/// Accounts by serial, as long as somebody has them.
#[derive(Debug)]
pub(super) struct Accounts(RwLock<Entries>);

#[derive(Debug)]
pub(super) struct Entries {
    by_serial: HashMap<u64, Entry, RandomState>,
    /// At how many entries those that nobody has any more are looked for.
    prune_at: usize,
}

#[derive(Debug)]
struct Entry {
    account: Weak<Account>,
    /// Up to which change its standing goes.
    change: u64,
}

const PRUNE_MIN: usize = 1_024;

impl Accounts {
    pub(super) fn new() -> Self {
        Self(RwLock::new(Entries { by_serial: HashMap::default(), prune_at: PRUNE_MIN }))
    }

    /// The account of this serial, unless a change of it was announced that has not been read: its plan is stale then.
    pub(super) fn get(&self, serial: u64) -> Option<Arc<Account>> {
        let entries = self.0.read();
        let entry = entries.by_serial.get(&serial)?;
        let account = entry.account.upgrade()?;
        (entry.change >= account.changed.load(Ordering::Acquire)).then_some(account)
    }

    /// The account of this record, with the standing that it says unless a later one is known. If the record is not
    /// current, it becomes an account that nobody else sees.
    pub(super) fn enter(
        &self,
        makings: &Makings,
        record: &AccountRecord,
        change: u64,
        is_current: impl FnOnce() -> bool,
    ) -> Result<Arc<Account>, Nonsense> {
        let text = StandingText::of(record);
        let make = |standing| makings.account(record.serial, record.id.clone(), standing);
        let mut entries = self.0.write();
        let is_current = is_current();
        if let Some(entry) = entries.by_serial.get_mut(&record.serial)
            && let Some(account) = entry.account.upgrade()
        {
            if is_current && change >= entry.change {
                entry.change = change;
                // The same standing stays: plans were made of it.
                if !is_standing_of(&account.standing.load(), record) {
                    account.standing.store(makings.standing(text)?);
                }
            }
            return Ok(account);
        }
        let account = make(makings.standing(text)?);
        if is_current && record.deleted_at.is_none() {
            entries.prune();
            let entry = Entry { account: Arc::downgrade(&account), change };
            entries.by_serial.insert(record.serial, entry);
        }
        Ok(account)
    }

    pub(super) fn remove(&self, serial: u64) {
        self.0.write().by_serial.remove(&serial);
    }

    /// Takes in that an account has changed.
    pub(super) fn mark(&self, serial: u64, change: u64) {
        let entries = self.0.read();
        if let Some(account) = entries.by_serial.get(&serial).and_then(|entry| entry.account.upgrade()) {
            account.changed.fetch_max(change, Ordering::AcqRel);
        }
    }

    /// While this is held, nobody can enter or mark anything.
    pub(super) fn hold(&self) -> RwLockWriteGuard<'_, Entries> {
        self.0.write()
    }
}

impl Entries {
    /// Forgets which changes were heard of and read.
    pub(super) fn forget_changes(&mut self) {
        for entry in self.by_serial.values_mut() {
            entry.change = 0;
            if let Some(account) = entry.account.upgrade() {
                account.changed.store(0, Ordering::Release);
            }
        }
    }

    fn prune(&mut self) {
        if self.by_serial.len() >= self.prune_at {
            self.by_serial.retain(|_, entry| entry.account.strong_count() > 0);
            self.prune_at = PRUNE_MIN.max(2 * self.by_serial.len());
        }
    }
}

/// Whether this is what the record says. Its calendar never changes.
fn is_standing_of(standing: &Standing, record: &AccountRecord) -> bool {
    let custom = record.custom.as_ref().map(|body| body.as_str());
    standing.tier == record.tier && standing.custom.as_deref() == custom
}
