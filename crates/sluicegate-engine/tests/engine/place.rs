//! An engine in a directory of its own, and somebody who calls.

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use http::HeaderMap;
use sluicegate_core::file;
use sluicegate_core::policy::{Maxima, Policy, TierName};
use sluicegate_core::rule::Amount;
use sluicegate_core::time::Timestamp;
use sluicegate_engine::{
    CallerRequest, Clock, Credential, Decision, Embedded, Engine, Front, Hold, Purpose, Recovered,
};
use sluicegate_ledger::{Kind, Position, Record, SpoolSettings};
use sluicegate_store::directory::{AccountId, DisplayName, NewAccount, NewKey, Scopes, Writer};
use sluicegate_store::key_text::{KeyEnv, KeyId};
use tempfile::TempDir;

/// 2026-10-05T12:00:00Z.
pub(crate) const NOW: Timestamp = Timestamp::from_secs(1_791_201_600);

pub(crate) fn at(secs: u32) -> Timestamp {
    Timestamp::from_secs(NOW.as_secs() + secs)
}

pub(crate) struct Place {
    pub(crate) engine: Arc<Engine>,
    pub(crate) recovered: Recovered,
    dir: Arc<TempDir>,
    clients_max: u32,
}

pub(crate) struct Caller {
    pub(crate) key: String,
    pub(crate) id: KeyId,
}

pub(crate) fn policy(text: &str) -> Policy {
    file::read(text.as_bytes()).unwrap().policy
}

impl Place {
    pub(crate) fn new(text: &str) -> Self {
        Self::with_clients(text, Maxima::CLIENTS_DEFAULT)
    }

    /// One in which so many callers without a key have meters of their own.
    pub(crate) fn with_clients(text: &str, clients_max: u32) -> Self {
        Self::open(Arc::new(tempfile::tempdir().unwrap()), text, clients_max)
    }

    /// One whose spool has segments of so many records.
    pub(crate) fn with_segments(text: &str, segment_records: u32) -> Self {
        let dir = Arc::new(tempfile::tempdir().unwrap());
        let spool = SpoolSettings { segment_records, ..SpoolSettings::default() };
        let (engine, recovered) =
            Embedded { spool, ..embedded(text) }.open(dir.path(), SECRET, |_| ()).unwrap();
        Self { engine: Arc::new(engine), recovered, dir, clients_max: Maxima::CLIENTS_DEFAULT }
    }

    fn open(dir: Arc<TempDir>, text: &str, clients_max: u32) -> Self {
        let embedded = Embedded { clients_max, ..embedded(text) };
        let (engine, recovered) = embedded.open(dir.path(), SECRET, |_| ()).unwrap();
        Self { engine: Arc::new(engine), recovered, dir, clients_max }
    }

    /// The process is killed, and another starts on a copy of what it left on disk at this moment.
    pub(crate) fn crash(&self, text: &str) -> Self {
        let copy = tempfile::tempdir().unwrap();
        copy_dir(self.dir.path(), copy.path());
        Self::open(Arc::new(copy), text, self.clients_max)
    }

    /// The process ends, something happens to its files, and another starts.
    pub(crate) fn reopen_after(self, text: &str, meanwhile: impl FnOnce()) -> Self {
        let Self { engine, dir, clients_max, .. } = self;
        drop(Arc::into_inner(engine).unwrap());
        meanwhile();
        Self::open(dir, text, clients_max)
    }

    /// The process ends as it should, and another starts.
    pub(crate) fn restart(self, text: &str) -> Self {
        self.engine.save(self.engine.now()).unwrap();
        let Self { engine, dir, clients_max, .. } = self;
        drop(Arc::into_inner(engine).unwrap());
        Self::open(dir, text, clients_max)
    }

    /// The process ends as it should, and another starts with this clock.
    pub(crate) fn restart_with_clock(self, text: &str, clock: fn(Timestamp) -> Clock) -> Self {
        self.engine.save(self.engine.now()).unwrap();
        let Self { engine, dir, clients_max, .. } = self;
        drop(Arc::into_inner(engine).unwrap());
        let embedded = Embedded { clients_max, clock, ..embedded(text) };
        let (engine, recovered) = embedded.open(dir.path(), SECRET, |_| ()).unwrap();
        Self { engine: Arc::new(engine), recovered, dir, clients_max }
    }

    /// Where it is kept.
    pub(crate) fn dir(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn account(&self, id: &str, tier: &str) {
        let account = NewAccount {
            id: Some(AccountId::new(id).unwrap()),
            name: DisplayName::new(id).unwrap(),
            tier: TierName::new(tier).unwrap(),
            billing_day: None,
            timezone: None,
        };
        wait(self.engine.directory().create_account(account, &writer())).unwrap();
    }

    pub(crate) fn key(&self, account: &str, scopes: &[&str]) -> Caller {
        self.key_for(KeyEnv::Live, account, scopes)
    }

    pub(crate) fn key_for(&self, env: KeyEnv, account: &str, scopes: &[&str]) -> Caller {
        let key = NewKey {
            name: DisplayName::new("test").unwrap(),
            env,
            scopes: Scopes::new(scopes.iter().copied()).unwrap(),
            expires_at: None,
        };
        let (record, key) = wait(self.engine.directory().create_key(account, key, &writer())).unwrap();
        Caller { key: key.expose().to_owned(), id: record.id }
    }

    /// An account of this tier with one key.
    pub(crate) fn caller(&self, tier: &str) -> Caller {
        let id = format!("acct-{tier}");
        self.account(&id, tier);
        self.key(&id, &[])
    }

    pub(crate) fn get(&self, caller: &Caller, path: &str, now: Timestamp) -> Decision {
        self.ask(&CallerRequest { path, ..request(&caller.key) }, now)
    }

    pub(crate) fn ask(&self, request: &CallerRequest<'_>, now: Timestamp) -> Decision {
        self.engine.clock().set(now);
        self.engine.decide(request, now)
    }

    /// Everything in the ledger.
    pub(crate) fn records(&self) -> Vec<Record> {
        let mut records = Vec::new();
        self.engine.spool().read(Position(0), |_, record| records.push(*record)).unwrap();
        records
    }

    /// What the ledger says was used.
    pub(crate) fn ledger_total(&self) -> u64 {
        let (mut used, mut given_back) = (0, 0);
        for record in self.records() {
            match record.kind {
                Kind::Charge | Kind::Correction => used += record.cost,
                Kind::Refund => given_back += record.cost,
            }
        }
        used - given_back
    }
}

/// A GET of `/` with this key.
pub(crate) fn request(key: &str) -> CallerRequest<'_> {
    CallerRequest {
        credential: Credential::Key(key),
        address: None,
        method: "GET",
        path: "/",
        cost: None,
        idempotency_key: None,
        purpose: Purpose::Charge,
        hold: Hold::IfNeeded,
        front: Front::Decision,
    }
}

pub(crate) fn nobody(headers: &HeaderMap) -> CallerRequest<'_> {
    let address = Some("192.0.2.1".parse().unwrap());
    CallerRequest { credential: Credential::Nothing { headers }, address, ..request("") }
}

pub(crate) fn costing(request: CallerRequest<'_>, cost: u64) -> CallerRequest<'_> {
    CallerRequest { cost: Amount::new(cost), ..request }
}

pub(crate) fn writer() -> Writer {
    Writer { who: "test".to_owned(), now: NOW }
}

pub(crate) fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

/// What a decision answers: `200`, or the status and the word for it.
pub(crate) fn answer(decision: &Decision) -> String {
    match &decision.answer {
        sluicegate_engine::Answer::Admitted => "200".to_owned(),
        sluicegate_engine::Answer::Denied(denial) => format!("{} {}", denial.status, denial.error.as_str()),
    }
}

pub(crate) fn header(decision: &Decision, name: &str) -> Option<String> {
    decision.headers().iter().find(|(field, _)| field.name() == name).map(|(_, value)| value.to_owned())
}

const SECRET: &[u8] = b"a secret of tests";

fn embedded(text: &str) -> Embedded {
    let spool = SpoolSettings { segment_records: 256, ..SpoolSettings::default() };
    Embedded { clock: |latest| Clock::fixed(latest.max(NOW)), spool, ..Embedded::new(policy(text)) }
}

pub(crate) fn copy_dir(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            std::fs::create_dir(&target).unwrap();
            copy_dir(&entry.path(), &target);
        } else {
            match std::fs::copy(entry.path(), &target) {
                // The next segment gets its name when it is ready; nothing is in it yet.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                copied => drop(copied.unwrap()),
            }
        }
    }
}
