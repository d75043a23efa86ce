//! What quotas have used by the records, beside what their meters say.
//!
//! Meters that are here are imaged together with the position up to which they count, so the two are compared at the
//! same moment whatever goes on. Meters that are far away are asked before and after: the records must say something in
//! between.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use sluicegate_core::limit::LimitName;
use sluicegate_core::past::PAST_KEPT_FOR;
use sluicegate_core::time::{Nanos, Timestamp};
use sluicegate_ledger::usage::Needs;
use sluicegate_ledger::{Flags, Position, Record};

use super::Books;
use super::baseline::{Baseline, KeysSeen, Progress};
use super::billed::{BilledBooks, Pools};
use super::error::CompareError;
use super::recount::{Accounts, Counted, Quota, Shadow, Used, empty_beside, is_quota, look, looks};
use super::recount::{Measure, quotas, read_all, used};
use sluicegate_store::directory::StoreError;
use sluicegate_store::meters::MeterTable;

use crate::shared::Shared;
use crate::snapshot::PolicySnapshot;

/// How often quotas that do not agree are looked at again, where the meters are far away: a request may have been
/// charged there, and not be recorded yet.
const LOOKS_MAX: u32 = 4;
const PAUSE: Duration = Duration::from_millis(100);

/// What a meter said: where it goes on counting meanwhile, from something to something.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Said {
    /// The least.
    pub least: u64,
    /// The most.
    pub most: u64,
}

/// What a quota has used, or is over, by the records, beside what its meter says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct QuotaCount {
    /// Whose.
    pub account: String,
    /// The number of the key whose own it is; nothing where all keys share it.
    pub key: Option<NonZeroU32>,
    /// Which.
    pub limit: LimitName,
    /// What of it is compared.
    pub measure: Measure,
    /// What the records say. Of one node among several it may be less than nothing: others charged what it gave back.
    pub records: i128,
    /// What the meter says.
    pub meter: Said,
    pub(super) quota: Quota,
}

impl QuotaCount {
    /// What it is called where its records are compared: the name of the limit, with `:overage` or `:billed` behind it
    /// for those.
    pub fn label(&self) -> String {
        self.quota.label()
    }

    /// By how much the records say more than the meter, or of [`Measure::Billed`], than the rule. Nothing if they
    /// agree.
    pub fn drift(&self) -> i128 {
        if !self.measure.is_compared() {
            return 0;
        }
        let records = self.records;
        let (least, most) = (i128::from(self.meter.least), i128::from(self.meter.most));
        records - records.clamp(least.min(most), least.max(most))
    }
}

/// What other nodes have recorded of a quota, where several share its meter: account, number of the key, label.
pub type Others = BTreeMap<(String, Option<NonZeroU32>, String), i128>;

/// The quotas of some accounts, with what it takes to set them right.
pub(super) struct Counts {
    pub(super) accounts: Accounts,
    pub(super) counts: Vec<QuotaCount>,
    /// What the records say of pools beside the rule of overage.
    pub(super) pools: Pools,
    /// How many records were read for it.
    pub(super) read: u64,
}

/// What is counted.
pub(super) struct Counting {
    pub(super) policy: Arc<PolicySnapshot>,
    /// From which record on.
    from: Position,
    /// All records from there to here are of accounts that were seen.
    until: Position,
    pub(super) seen: KeysSeen,
    /// What was counted before.
    pub(super) base: Option<Arc<Baseline>>,
    /// Accounts whose plan is another since.
    changed: BTreeSet<u64>,
}

impl Counting {
    /// A shadow with what was counted before.
    fn shadow<'s>(
        &'s self,
        live: &MeterTable,
        accounts: &'s Accounts,
        now: Timestamp,
    ) -> Result<Shadow<'s>, CompareError> {
        let shadow = Shadow::beside(live, &self.policy, accounts, now)?;
        if let Some(base) = &self.base {
            base.restore(&shadow, &self.changed)?;
        }
        Ok(shadow)
    }

    /// Whether a record is not counted yet.
    fn is_new(&self, position: Position, record: &Record) -> bool {
        self.base.as_ref().is_none_or(|base| base.is_new(record.account, position))
    }
}

/// A part of the spool.
struct Extent {
    from: Position,
    until: Position,
}

/// What the records say that a store was told of.
struct Recorded {
    used: Used,
    pools: Pools,
    read: u64,
    progress: Progress,
}

impl Books {
    /// Compares every quota of every account, or of one by its serial. What others recorded is added to the records.
    pub async fn quotas(
        self: &Arc<Self>,
        only: Option<u64>,
        others: &Others,
    ) -> Result<Vec<QuotaCount>, CompareError> {
        self.expect_same_time().await?;
        Ok(self.count_quotas(only, others, None).await?.0.counts)
    }

    /// The accounts that records of this node are about.
    pub(super) async fn accounts_of_records(self: &Arc<Self>) -> Result<Accounts, CompareError> {
        let (books, policy) = (Arc::clone(self), self.engine.policy());
        let (_, seen) = {
            let policy = Arc::clone(&policy);
            blocking(move || books.keys_seen(&policy, None, None)).await?
        };
        self.resolve(&policy, seen).await
    }

    pub(super) async fn count_quotas(
        self: &Arc<Self>,
        only: Option<u64>,
        others: &Others,
        base: Option<Arc<Baseline>>,
    ) -> Result<(Counts, Progress), CompareError> {
        let policy = self.engine.policy();
        let base = base.filter(|base| base.fits(&policy, self.engine.spool()));
        let books = Arc::clone(self);
        let (Extent { from, until }, mut seen) = {
            let (policy, base) = (Arc::clone(&policy), base.clone());
            blocking(move || books.keys_seen(&policy, only, base.as_deref())).await?
        };
        self.add_others(&mut seen, only, others).await?;
        let accounts = self.resolve(&policy, seen.clone()).await?;
        let changed = base.as_ref().map(|base| base.changed(&accounts)).unwrap_or_default();
        let counting = Counting { policy, from, until, seen, base, changed };
        let books = Arc::clone(self);
        if self.engine.shared.is_none() {
            return blocking(move || books.count_here(&counting, accounts)).await;
        }
        self.count_there(Arc::new(counting), accounts, others).await
    }

    /// Accounts that only others have seen.
    async fn add_others(
        &self,
        seen: &mut KeysSeen,
        only: Option<u64>,
        others: &Others,
    ) -> Result<(), CompareError> {
        for (id, key, _) in others.keys() {
            let account = self.engine.directory().account(id).await?;
            let Some(account) = account.filter(|account| only.is_none_or(|only| only == account.serial))
            else {
                continue;
            };
            seen.entry(account.serial).or_default().extend(*key);
        }
        Ok(())
    }

    /// From where the records that quotas still count begin, and the keys that accounts have used since.
    fn keys_seen(
        &self,
        policy: &PolicySnapshot,
        only: Option<u64>,
        base: Option<&Baseline>,
    ) -> Result<(Extent, KeysSeen), CompareError> {
        let spool = self.engine.spool();
        let memory = self.longest_memory(policy)?;
        let from = match base {
            Some(base) => base.position,
            None => self.ledger.book().done_before(self.engine.now(), memory, Needs::Closed)?,
        };
        if spool.first() > from {
            return Err(CompareError::Forgotten);
        }
        let mut seen = base.map(Baseline::drifting).unwrap_or_default();
        let known = |serial| base.map(|base| base.keys_of(serial)).unwrap_or_default();
        let until = spool.tail();
        read_all(spool, from, until, |_, record| {
            if record.account != 0 && only.is_none_or(|only| only == record.account) {
                let keys = seen.entry(record.account).or_insert_with(|| known(record.account));
                keys.extend(record.tagged_key_number());
            }
        })?;
        Ok((Extent { from, until }, seen))
    }

    /// How long the quota that remembers longest remembers, with the time for which periods take corrections.
    pub(super) fn longest_memory(&self, policy: &PolicySnapshot) -> Result<Nanos, StoreError> {
        let engine = &self.engine;
        let tiers = policy.policy().tiers.iter().flat_map(|tier| &tier.limits);
        let tiers = tiers.map(|entry| &entry.limit).filter(|limit| is_quota(limit.axis, &limit.rule));
        let mut longest = tiers.map(|limit| limit.rule.counts_for()).max().unwrap_or(Nanos::ZERO);
        for account in engine.directory().custom_accounts().wait()? {
            let plan =
                policy.plan_of(&account.standing.load(), &engine.meters, &engine.names, &engine.counters);
            let limits = plan.iter().flat_map(|plan| plan.tariff.limits());
            let quotas = limits.filter(|limit| is_quota(limit.axis, &limit.rule));
            longest = longest.max(quotas.map(|limit| limit.rule.counts_for()).max().unwrap_or(Nanos::ZERO));
        }
        // A correction that is counted must find the charge that it belongs to.
        Ok(Nanos(longest.0.saturating_add(PAST_KEPT_FOR.0)))
    }

    /// The accounts that have quotas. Those that were deleted since have none.
    async fn resolve(&self, policy: &PolicySnapshot, seen: KeysSeen) -> Result<Accounts, CompareError> {
        let engine = &self.engine;
        let mut accounts = Accounts::new();
        for (serial, keys) in seen {
            let account = match engine.directory().account_by_serial(serial) {
                Some(account) => Some(account),
                None => match engine.directory().find_account_by_serial(serial).await? {
                    Some(record) => engine.directory().account(record.id.as_str()).await?,
                    None => None,
                },
            };
            // Another one may have its name now.
            let Some(account) = account.filter(|account| account.serial == serial) else { continue };
            let plan =
                policy.plan_of(&account.standing.load(), &engine.meters, &engine.names, &engine.counters);
            let Some(plan) = plan else { continue };
            if plan.tariff.limits().any(|limit| is_quota(limit.axis, &limit.rule)) {
                let counted = Counted { id: account.id.to_string(), home: account.home, plan, keys };
                accounts.insert(serial, counted);
            }
        }
        Ok(accounts)
    }

    fn count_here(
        &self,
        counting: &Counting,
        accounts: Accounts,
    ) -> Result<(Counts, Progress), CompareError> {
        let (engine, spool, changed) = (&self.engine, self.engine.spool(), &counting.changed);
        let shadow = counting.shadow(&engine.meters, &accounts, engine.now())?;
        spool.flush().map_err(CompareError::Flush)?;
        let until = spool.durable();
        let mut read = 0;
        read_all(spool, counting.from, until, |position, record| {
            read += 1;
            if counting.is_new(position, record) && !changed.contains(&record.account) {
                shadow.count(record);
            }
        })?;
        let mut images = BTreeMap::new();
        for (serial, account) in &accounts {
            let mut image = Vec::new();
            let before = spool.tail();
            let imaged = engine.meters.image_of(account.home, engine.now(), &mut image, || spool.tail());
            images.insert(*serial, (imaged.map_or(before, |imaged| imaged.held), image));
        }
        // After the images: they may name limits that were entered meanwhile.
        let live = empty_beside(&engine.meters)?;
        for (serial, (_, image)) in images.iter().filter(|(_, (_, image))| !image.is_empty()) {
            if let Some(account) = accounts.get(serial) {
                live.restore(account.home, image)?;
                if changed.contains(serial) {
                    shadow.restore(account.home, image)?;
                }
            }
        }
        let last = images.values().map(|(position, _)| *position).max().unwrap_or(until);
        read_all(spool, until, last, |position, record| {
            read += 1;
            let counted = images.get(&record.account).is_some_and(|(counted, _)| position < *counted);
            if counted && !changed.contains(&record.account) {
                shadow.count(record);
            }
        })?;
        let now = engine.now();
        let meters = used(&live, &accounts, now);
        shadow.adopt_overage(&meters, changed);
        let records = shadow.used(now);
        let pools = shadow.pools();
        let mut counts = counts(&accounts, records.clone(), &meters, &meters);
        let none = Others::new();
        let billed = BilledBooks { accounts: &accounts, own: &records, pools: &pools, others: &none };
        counts.extend(billed.differences(&counts));
        // The next check goes on behind what is known to be of these accounts, and of each where its image was taken.
        let counted_until = |serial| images.get(&serial).map_or(counting.until, |(counted, _)| *counted);
        let progress = Progress::of(&shadow, counting, counting.until, counted_until, now);
        Ok((Counts { accounts, counts, pools, read }, progress))
    }

    async fn count_there(
        self: &Arc<Self>,
        counting: Arc<Counting>,
        mut accounts: Accounts,
        others: &Others,
    ) -> Result<(Counts, Progress), CompareError> {
        let Some(shared) = &self.engine.shared else { return Err(CompareError::Ending) };
        for looks in 1.. {
            let before = ask(shared, &accounts, self.engine.now()).await?;
            let (books, count) = (Arc::clone(self), Arc::clone(&counting));
            let work = move || books.count_records(&count, &accounts).map(|counted| (accounts, counted));
            let (counted, Recorded { used: own, pools, read, progress }) = blocking(work).await?;
            let after = ask(shared, &counted, self.engine.now()).await?;
            let records = with_others(own.clone(), &counted, others);
            let mut counts = counts(&counted, records, &before, &after);
            counts.retain(|count| !counting.changed.contains(&count.quota.account));
            let billed = BilledBooks { accounts: &counted, own: &own, pools: &pools, others };
            counts.extend([billed.differences(&counts), billed.prints(&counts)].concat());
            if looks == LOOKS_MAX || counts.iter().all(|count| count.drift() == 0) {
                return Ok((Counts { accounts: counted, counts, pools, read }, progress));
            }
            accounts = counted;
            tokio::time::sleep(PAUSE).await;
        }
        Err(CompareError::Ending)
    }

    /// What the records say that the store was told of.
    fn count_records(&self, counting: &Counting, accounts: &Accounts) -> Result<Recorded, CompareError> {
        let (engine, spool) = (&self.engine, self.engine.spool());
        let shadow = counting.shadow(&engine.meters, accounts, engine.now())?;
        shadow.given_back.borrow_mut().keep();
        spool.flush().map_err(CompareError::Flush)?;
        let durable = spool.durable();
        let told = engine.journal_begins().min(counting.until).max(counting.from);
        let mut read = 0;
        read_all(spool, counting.from, told, |position, record| {
            read += 1;
            if counting.is_new(position, record) {
                shadow.count(record);
            }
        })?;
        // The next check goes on where the store was told of everything.
        let progress = Progress::of(&shadow, counting, told, |_| told, engine.now());
        read_all(spool, told, durable, |_, record| {
            read += 1;
            // By how much the overage changed is recorded when the store was told, or the call undone.
            let unsettled = [Flags::OWED, Flags::CLAIMS, Flags::DOUBT];
            if unsettled.iter().any(|flag| record.flags.contains(*flag)) {
                shadow.leave_unclear(record.account);
            }
            if !record.flags.contains(Flags::OWED) {
                shadow.count(record);
            }
        })?;
        Ok(Recorded { used: shadow.used(engine.now()), pools: shadow.pools(), read, progress })
    }
}

/// What the meters in the store say.
async fn ask(shared: &Shared, accounts: &Accounts, now: Timestamp) -> Result<Used, CompareError> {
    let mut used = Used::new();
    for (serial, account) in accounts {
        for (key, wanted) in looks(account) {
            let request = look(account, key, now);
            let limits = shared.look(&account.plan, request, None).await?;
            let plan = account.plan.tariff.plan(&request);
            let amounts = limits.into_iter().map(|limit| (limit.used, limit.overage));
            used.extend(quotas(*serial, key, wanted, &plan, amounts));
        }
    }
    Ok(used)
}

/// The same with what others have recorded.
fn with_others(mut records: Used, accounts: &Accounts, others: &Others) -> Used {
    for (quota, used) in &mut records {
        let id = accounts.get(&quota.account).map(|account| account.id.clone()).unwrap_or_default();
        let theirs = others.get(&(id, quota.key, quota.label()));
        *used += theirs.copied().unwrap_or(0);
    }
    records
}

fn counts(accounts: &Accounts, records: Used, before: &Used, after: &Used) -> Vec<QuotaCount> {
    let count = |(quota, records): (Quota, i128)| {
        let said = |used: &Used| {
            let said = used.get(&quota).copied().unwrap_or(0);
            u64::try_from(said).unwrap_or(0)
        };
        let (before, after) = (said(before), said(after));
        QuotaCount {
            account: accounts.get(&quota.account).map(|account| account.id.clone()).unwrap_or_default(),
            key: quota.key,
            limit: quota.name.clone(),
            measure: quota.measure,
            records,
            meter: Said { least: before.min(after), most: before.max(after) },
            quota,
        }
    };
    records.into_iter().map(count).collect()
}

/// Does something that waits for the disk where that hinders nobody.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, CompareError> + Send + 'static,
) -> Result<T, CompareError> {
    tokio::task::spawn_blocking(work).await.map_err(|_| CompareError::Ending)?
}
