//! The engine: everything that a decision needs, in one place that all front ends share.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arc_swap::ArcSwap;
use http::HeaderMap;
use parking_lot::Mutex;
use sluicegate_core::plan::SubjectClass;
use sluicegate_core::policy::{Policy, Proxies};
use sluicegate_core::time::{Nanos, Timestamp};
use sluicegate_ledger::Spool;
use sluicegate_store::alerts::Alerts;
use sluicegate_store::database::{Database, KeptBlock};
use sluicegate_store::directory::Directory;
use sluicegate_store::hash::HomeHasher;
use sluicegate_store::meters::{MeterTable, Swept};
use sluicegate_store::redis::alerts::counts::SharedCounts;
use sluicegate_store::redis::blocks::SharedBlocks;

use crate::abuse::Blocking;
use crate::alerting::Alerting;
use crate::clock::Clock;
use crate::clock_keeping::{ClockDoubt, TimeMark};
use crate::hold_times::HoldTimes;
use crate::idempotency::IdempotencyTable;
use crate::identify::{self, DailyHash, Prefixes, SessionKeys};
use crate::ids::DecisionIds;
use crate::in_flight::InFlight;
use crate::jwt::Tokens;
use crate::names::Names;
use crate::permit::{FinishedPermits, PermitKey};
use crate::pulse::{Change, Changed, Pulse};
use crate::save::Saved;
use crate::shared::{Shared, SharedParts};
use crate::shed::Loads;
use crate::sign_ins::SignIns;
use crate::snapshot::{PolicySnapshot, ReloadError};
use crate::thresholds::Thresholds;
use crate::throttle::{OverflowBuckets, Throttles};
use crate::watch::Watch;

/// What an engine is made of.
pub struct EngineParts {
    /// The policy it starts with.
    pub policy: Policy,
    /// Accounts and keys.
    pub directory: Directory,
    /// Where snapshots of meters are kept.
    pub database: Database,
    /// Where admitted requests are recorded.
    pub spool: Spool,
    /// Names to homes.
    pub homes: HomeHasher,
    /// The keys that sessions are signed with.
    pub sessions: SessionKeys,
    /// The key that permits of services are authenticated with.
    pub permits: PermitKey,
    /// Addresses as analytics know them.
    pub daily: DailyHash,
    /// Who is believed about who called.
    pub proxies: Proxies,
    /// The clock, given the latest instant on record.
    pub clock: fn(Timestamp) -> Clock,
    /// Something that no other process has.
    pub random: u64,
    /// How many callers without a key have meters of their own, and how many subjects that come with the question.
    pub clients_max: u32,
    /// The store that several nodes share; nothing: the meters are in this process.
    pub shared: Option<SharedParts>,
}

impl std::fmt::Debug for EngineParts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EngineParts").finish_non_exhaustive()
    }
}

/// Decides.
pub struct Engine {
    pub(crate) snapshot: ArcSwap<PolicySnapshot>,
    pub(crate) directory: Directory,
    pub(crate) meters: MeterTable,
    pub(crate) spool: Spool,
    pub(crate) homes: HomeHasher,
    pub(crate) names: Names,
    pub(crate) finished: FinishedPermits,
    pub(crate) permit_key: PermitKey,
    pub(crate) in_flight: InFlight,
    pub(crate) holds: HoldTimes,
    pub(crate) idempotency: IdempotencyTable,
    pub(crate) ids: DecisionIds,
    pub(crate) counters: Counters,
    pub(crate) database: Database,
    pub(crate) saved: Mutex<Saved>,
    pub(crate) shared: Option<Shared>,
    pub(crate) watch: Watch,
    pub(crate) thresholds: Thresholds,
    pub(crate) throttles: Throttles,
    pub(crate) overflow: OverflowBuckets,
    pub(crate) alerting: Alerting,
    pub(crate) sessions: SessionKeys,
    pub(crate) tokens: Tokens,
    pub(crate) sign_ins: SignIns,
    daily: DailyHash,
    proxies: Proxies,
    pub(crate) loads: Loads,
    pub(crate) pulse: Pulse,
    clock: Arc<Clock>,
    pub(crate) time_mark: TimeMark,
    pub(crate) clock_doubt: ClockDoubt,
    /// When it was opened.
    pub(crate) opened_at: Timestamp,
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").field("policy", &self.snapshot.load().version()).finish_non_exhaustive()
    }
}

/// What happened that should not, or not too often, counted.
#[derive(Debug, Default)]
pub struct Counters {
    /// Requests that were admitted, and could not be recorded.
    pub unrecorded: AtomicU64,
    /// Plans that were resolved for a tier that is not defined.
    pub unknown_tier: AtomicU64,
    /// Requests that were refused at the edge, by their address.
    pub edge_refused: AtomicU64,
    /// Requests of callers that are blocked.
    pub blocked: AtomicU64,
    /// Requests of callers whose limits were squeezed, because of pressure on their address.
    pub squeezed: AtomicU64,
    /// Requests of callers that share a home, because there are too many for one each.
    pub crowded: AtomicU64,
    /// Requests that were admitted as repeats of others.
    pub repeated: AtomicU64,
    /// Requests of callers with a reputation in each bucket, from the best to the worst.
    pub reputation: [AtomicU64; 4],
}

impl Counters {
    pub(crate) fn count(counter: &AtomicU64) {
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

impl Engine {
    /// The engine with the meters, names and repeats that recovery has found.
    pub(crate) fn assemble(parts: EngineParts, found: Found, clock: Clock) -> Self {
        let clients_max = usize::try_from(parts.clients_max).unwrap_or(usize::MAX);
        let tail = parts.spool.tail();
        let clock = Arc::new(clock);
        clock.hold_for(found.snapshot.policy().clock.hold);
        let blocks = match &parts.shared {
            Some(shared) => {
                let clock = Arc::clone(&clock);
                Blocking::shared(SharedBlocks::new(shared.blocks.clone()), move || clock.now())
            }
            None => {
                let memory = found.snapshot.blocks_memory();
                Blocking::alone(parts.database.clone(), found.blocks, memory, clock.now())
            }
        };
        let alerts = match &parts.shared {
            Some(shared) => Alerts::Shared(shared.blocks.clone()),
            None => Alerts::Embedded(parts.database.clone()),
        };
        let pulse = Pulse::new(Arc::clone(&found.names.rows), clock.now());
        let counts =
            parts.shared.as_ref().map(|shared| SharedCounts::new(shared.blocks.clone(), shared.node));
        Self {
            alerting: Alerting::new(Alerts::Embedded(parts.database.clone()), counts),
            thresholds: Thresholds::new(alerts),
            throttles: Throttles::default(),
            overflow: OverflowBuckets::default(),
            watch: Watch::new(&parts.homes, parts.random, clients_max, blocks),
            snapshot: ArcSwap::from_pointee(found.snapshot),
            directory: parts.directory,
            meters: found.meters,
            spool: parts.spool,
            homes: parts.homes,
            names: found.names,
            finished: found.finished,
            permit_key: parts.permits,
            in_flight: InFlight::default(),
            holds: HoldTimes::default(),
            idempotency: found.idempotency,
            ids: DecisionIds::new(parts.random),
            counters: Counters::default(),
            database: parts.database,
            saved: Mutex::new(found.saved),
            shared: parts.shared.map(|shared| Shared::new(shared, tail)),
            sessions: parts.sessions,
            tokens: Tokens::default(),
            sign_ins: SignIns::default(),
            daily: parts.daily,
            proxies: parts.proxies,
            loads: Loads::new(clock.now()),
            pulse,
            opened_at: clock.now(),
            clock_doubt: ClockDoubt::default(),
            time_mark: found.time_mark,
            clock,
        }
    }

    /// The instant, for whoever stands at the edge of the process.
    #[inline]
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// How long the process has run, whatever its clock shows.
    pub fn uptime(&self) -> Nanos {
        self.clock.uptime()
    }

    /// The clock.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// The policy in force.
    pub fn policy(&self) -> Arc<PolicySnapshot> {
        self.snapshot.load_full()
    }

    /// Accounts and keys.
    pub fn directory(&self) -> &Directory {
        &self.directory
    }

    /// Where admitted requests are recorded.
    pub fn spool(&self) -> &Spool {
        &self.spool
    }

    /// What happened that should not.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Where a request comes from, as far as that can be believed.
    pub fn address_of(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        identify::address(peer, headers, &self.proxies)
    }

    /// What an address is counted by.
    pub fn prefixes_of(&self, address: IpAddr) -> Prefixes {
        identify::prefixes(&self.homes, address)
    }

    /// What stands for an address in logs and analytics, today.
    pub fn daily_hash(&self, address: IpAddr, now: Timestamp) -> u64 {
        self.daily.of(address, now)
    }

    /// The keys that sessions are signed with.
    pub fn sessions(&self) -> &SessionKeys {
        &self.sessions
    }

    /// What is known of the tokens of an identity provider.
    pub fn tokens(&self) -> &Tokens {
        &self.tokens
    }

    /// What is known about decisions that were made.
    pub fn pulse(&self) -> &Pulse {
        &self.pulse
    }

    /// What the upstreams bear, where load is shed.
    pub fn loads(&self) -> &Loads {
        &self.loads
    }

    /// Puts another policy into force, as a whole: requests are decided under the old one or under the new one.
    /// Blocking, and not for tasks: names that are new are stored first, and the store is asked for negotiated limits.
    pub fn reload(&self, policy: Policy) -> Result<Arc<PolicySnapshot>, ReloadError> {
        // One at a time, so that versions count up in the order in which policies come into force.
        let _one = self.saved.lock();
        let version = self.snapshot.load().version() + 1;
        let snapshot = Arc::new(PolicySnapshot::new(version, policy, &self.names)?);
        // What was negotiated with accounts went with the policy so far. Only what it depends on is looked at, so that
        // everything else can be changed while the directory cannot be read.
        if snapshot.may_concern_custom(self.snapshot.load().policy()) {
            for account in self.directory.custom_accounts().wait().map_err(ReloadError::Directory)? {
                snapshot.check_custom(account.id.as_str(), &account.standing.load())?;
            }
        }
        self.snapshot.store(Arc::clone(&snapshot));
        self.clock.hold_for(snapshot.policy().clock.hold);
        let text = format!("Policy {version} came into force.");
        self.pulse.tell(Change { at: self.now(), what: Changed::Reload, text });
        Ok(snapshot)
    }

    /// Forgets meters that say nothing any more.
    pub fn sweep(&self, now: Timestamp) -> Swept {
        if let Some(shared) = &self.shared {
            shared.sweep(now);
        }
        self.watch.sweep();
        self.idempotency.sweep(now);
        self.finished.sweep(now);
        self.pulse.sweep(now);
        self.meters.sweep(now)
    }

    /// Beyond so many homes, callers without a key that are new share meters; beyond as many, subjects that come with
    /// the question.
    pub fn clients_max(&self) -> usize {
        self.watch.clients_max()
    }

    /// How many homes have meters.
    pub fn homes(&self) -> usize {
        self.meters.homes()
    }

    /// How many homes of one class have meters.
    pub fn homes_of(&self, class: SubjectClass) -> usize {
        self.meters.homes_of(class)
    }

    /// How many different limits meters may have been written under.
    pub fn limits(&self) -> usize {
        self.meters.limits()
    }
}

/// What recovery finds before there is an engine.
pub(crate) struct Found {
    pub(crate) snapshot: PolicySnapshot,
    pub(crate) meters: MeterTable,
    pub(crate) names: Names,
    pub(crate) idempotency: IdempotencyTable,
    pub(crate) saved: Saved,
    pub(crate) blocks: Vec<KeptBlock>,
    pub(crate) time_mark: TimeMark,
    pub(crate) finished: FinishedPermits,
}
