//! The names that this process knows, bounded as a whole and per account.

use std::collections::{HashMap, VecDeque};
use std::hash::RandomState;

use parking_lot::{Mutex, MutexGuard};
use sluicegate_core::plan::HomeId;
use sluicegate_core::time::Timestamp;
use sluicegate_ledger::Idempotency;

use super::{AttemptEnd, KnownName, REMEMBERED};
use crate::ids::DecisionId;

/// How many names are remembered at the most, over all shards.
const NAMES_MAX: usize = 1 << 20;
/// How many of them may be one account's.
const NAMES_PER_ACCOUNT_MAX: usize = 1 << 16;
const SHARDS: usize = 64;

/// Every name that is remembered.
#[derive(Debug)]
pub(crate) struct IdempotencyTable(Box<[Mutex<Shard>]>);

impl Default for IdempotencyTable {
    fn default() -> Self {
        Self((0..SHARDS).map(|_| Mutex::default()).collect())
    }
}

impl IdempotencyTable {
    /// The shard of a name, held until the request is decided: of two at once, one is charged.
    pub(crate) fn hold(&self, home: HomeId, key: u64) -> MutexGuard<'_, Shard> {
        // Both are keyed hashes: nobody chooses who waits for whom, and one account's names are in all shards.
        self.0[usize::try_from((home.0 ^ u128::from(key)) % SHARDS as u128).unwrap_or(0)].lock()
    }

    /// Forgets what is older than a day.
    pub(crate) fn sweep(&self, now: Timestamp) {
        self.0.iter().for_each(|shard| shard.lock().sweep(now));
    }

    /// The names that were dropped to keep the bounds since this was last asked.
    pub(crate) fn take_evicted(&self) -> Vec<(HomeId, u64)> {
        self.0.iter().flat_map(|shard| std::mem::take(&mut shard.lock().evicted)).collect()
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        self.0.iter().map(|shard| shard.lock().count).sum()
    }
}

/// The names of one shard.
#[derive(Debug, Default)]
pub(crate) struct Shard {
    accounts: HashMap<HomeId, AccountNames, RandomState>,
    count: usize,
    /// Names that were dropped to keep the bounds, for the table on disk.
    evicted: Vec<(HomeId, u64)>,
}

/// The names of one account in one shard.
#[derive(Debug, Default)]
struct AccountNames {
    names: HashMap<u64, KnownName, RandomState>,
    /// The oldest first. A name that was charged again stands here twice; the later entry is its own.
    order: VecDeque<(Timestamp, u64)>,
}

impl AccountNames {
    /// Drops the oldest name.
    fn pop(&mut self) -> Option<u64> {
        while let Some((at, key)) = self.order.pop_front() {
            if self.names.get(&key).is_some_and(|known| known.at == at) {
                self.names.remove(&key);
                return Some(key);
            }
        }
        None
    }

    /// Drops names that are older than a day. Says how many.
    fn expire(&mut self, now: Timestamp) -> usize {
        let before = self.names.len();
        while self.order.front().is_some_and(|(at, _)| now.since(*at) >= REMEMBERED) {
            if let Some((at, key)) = self.order.pop_front()
                && self.names.get(&key).is_some_and(|known| known.at == at)
            {
                self.names.remove(&key);
            }
        }
        before - self.names.len()
    }
}

impl Shard {
    /// What is known of a name.
    pub(crate) fn find(&self, home: HomeId, key: u64, now: Timestamp) -> Option<KnownName> {
        let known = self.accounts.get(&home)?.names.get(&key)?;
        (now.since(known.at) < REMEMBERED).then_some(*known)
    }

    /// An attempt was charged under a name, for the first time or once more.
    pub(crate) fn charged(&mut self, home: HomeId, name: Idempotency, decision: DecisionId, at: Timestamp) {
        let known = match self.find(home, name.key, at) {
            None => KnownName::first(decision, name.request, at),
            Some(known) => KnownName { decision, at, open: known.open.saturating_add(1), ..known },
        };
        self.put(home, name.key, known);
    }

    /// A name is known as it is said.
    pub(crate) fn put(&mut self, home: HomeId, key: u64, known: KnownName) {
        let account = self.accounts.entry(home).or_default();
        self.count -= account.expire(known.at);
        if account.names.insert(key, known).is_none() {
            self.count += 1;
        }
        account.order.push_back((known.at, key));
        // What was charged again stands in the order twice: it must not grow with that.
        if account.order.len() > 2 * account.names.len() + 8 {
            let AccountNames { names, order } = account;
            order.retain(|(at, key)| names.get(key).is_some_and(|known| known.at == *at));
        }
        if account.names.len() > NAMES_PER_ACCOUNT_MAX / SHARDS {
            self.evict(home);
        } else if self.count > NAMES_MAX / SHARDS {
            let fair = self.count / self.accounts.len();
            let largest = self.accounts.iter().max_by_key(|(_, account)| account.names.len());
            let is_fair = self.accounts.get(&home).is_some_and(|account| account.names.len() <= fair);
            let from = largest.filter(|_| is_fair).map_or(home, |(largest, _)| *largest);
            self.evict(from);
        }
    }

    fn evict(&mut self, home: HomeId) {
        if let Some(key) = self.accounts.get_mut(&home).and_then(AccountNames::pop) {
            self.count -= 1;
            self.evicted.push((home, key));
        }
    }

    /// An attempt under a name was free.
    pub(crate) fn replayed(&mut self, home: HomeId, key: u64) {
        if let Some(known) = self.known(home, key) {
            known.open = known.open.saturating_add(1);
            known.replays = known.replays.saturating_add(1);
        }
    }

    /// An attempt under a name has ended.
    pub(crate) fn ended(&mut self, home: HomeId, key: u64, decision: DecisionId, end: AttemptEnd) {
        if end == AttemptEnd::Refunded {
            return self.forget(home, key, decision);
        }
        if let Some(known) = self.known(home, key) {
            known.open = known.open.saturating_sub(1);
            known.delivered |= end == AttemptEnd::Delivered;
        }
    }

    /// Forgets a name whose charge was given back: its repeat is charged again.
    pub(crate) fn forget(&mut self, home: HomeId, key: u64, decision: DecisionId) {
        let Some(account) = self.accounts.get_mut(&home) else { return };
        if account.names.get(&key).is_some_and(|known| known.decision == decision) {
            account.names.remove(&key);
            self.count -= 1;
        } else if let Some(known) = account.names.get_mut(&key) {
            // Another attempt has the name by now; this one has delivered nothing.
            known.open = known.open.saturating_sub(1);
        }
    }

    /// Notes whether the shared store knows a name.
    pub(crate) fn set_only_local(&mut self, home: HomeId, key: u64, only_local: bool) {
        if let Some(known) = self.known(home, key) {
            known.only_local = only_local;
        }
    }

    fn known(&mut self, home: HomeId, key: u64) -> Option<&mut KnownName> {
        self.accounts.get_mut(&home)?.names.get_mut(&key)
    }

    fn sweep(&mut self, now: Timestamp) {
        let mut expired = 0;
        self.accounts.retain(|_, account| {
            expired += account.expire(now);
            !account.names.is_empty()
        });
        self.count -= expired;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(secs: u32) -> Timestamp {
        Timestamp::from_secs(secs)
    }

    fn name(key: u64) -> Idempotency {
        Idempotency { key, request: 2 }
    }

    /// Charges so many names of an account.
    fn charge(table: &IdempotencyTable, home: HomeId, names: std::ops::Range<u64>, now: Timestamp) {
        for key in names {
            // As keyed hashes would spread them.
            table.hold(home, key).charged(home, name(key), DecisionId(u128::from(key)), now);
        }
    }

    #[test]
    fn a_name_is_remembered_for_a_day_and_then_forgotten() {
        let table = IdempotencyTable::default();
        charge(&table, HomeId(7), 1..2, at(100));
        let find = |now| table.hold(HomeId(7), 1).find(HomeId(7), 1, now);
        assert_eq!(find(at(86_499)).unwrap().decision, DecisionId(1));
        assert_eq!(find(at(86_500)), None);
        table.sweep(at(86_500));
        assert_eq!(table.len(), 0);
    }

    #[test]
    fn one_account_never_pushes_out_the_names_of_another() {
        let table = IdempotencyTable::default();
        charge(&table, HomeId(1), 0..10, at(1));
        charge(&table, HomeId(2 << 64), 0..1_150_000, at(2));
        for key in 0..10 {
            assert!(table.hold(HomeId(1), key).find(HomeId(1), key, at(3)).is_some(), "name {key}");
        }
        assert_eq!(table.len(), 10 + NAMES_PER_ACCOUNT_MAX);
        assert_eq!(table.take_evicted().len(), 1_150_000 - NAMES_PER_ACCOUNT_MAX);
    }

    #[test]
    fn beyond_the_bound_the_account_with_the_most_names_loses_its_oldest() {
        let table = IdempotencyTable::default();
        let per_account = NAMES_PER_ACCOUNT_MAX as u64;
        for account in 0..20_u128 {
            charge(&table, HomeId(account << 64), 0..per_account, at(1));
        }
        assert_eq!(table.len(), NAMES_MAX);
        charge(&table, HomeId(99 << 64), 0..64, at(2));
        assert_eq!(table.len(), NAMES_MAX);
        for key in 0..64 {
            let home = HomeId(99 << 64);
            assert!(table.hold(home, key).find(home, key, at(3)).is_some(), "name {key}");
        }
    }

    #[test]
    fn a_name_that_is_charged_over_and_over_takes_no_more_room() {
        let table = IdempotencyTable::default();
        for second in 0..1_000 {
            charge(&table, HomeId(7), 1..2, at(second));
        }
        let shard = table.hold(HomeId(7), 1);
        assert!(shard.accounts[&HomeId(7)].order.len() <= 10);
        assert_eq!(shard.find(HomeId(7), 1, at(1_000)).unwrap().open, 1_000);
    }
}
