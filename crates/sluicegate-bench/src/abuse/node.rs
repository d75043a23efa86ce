//! One engine with callers that it knows, and ways to be a stranger.

use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use http::{HeaderMap, HeaderValue};
use sluicegate_core::file;
use sluicegate_core::policy::TierName;
use sluicegate_core::time::{Nanos, Timestamp};
use sluicegate_engine::{CallerRequest, Clock, Credential, Embedded, Engine, Front, Hold, Purpose};
use sluicegate_store::directory::{AccountId, DisplayName, NewAccount, NewKey, Scopes, Writer};
use sluicegate_store::key_text::KeyEnv;

use crate::load::caller::runtime;
use crate::timing::stopwatch;

/// Accounts, and as many clients, that are known before strangers come.
pub(super) const KNOWN: u32 = 1_000;

/// When it begins.
const BEGIN: Timestamp = Timestamp::from_secs(1_791_201_600);
/// The time from one request to the next.
const STEP: Nanos = Nanos(2_000);

const POLICY: &str = "
identity: {anonymous: free}
edge: {rate: 50, burst: 100}
reputation: {penalty: 5}
blocks: {after: 10, within: 1m, for: 1h}
pressure: {fingerprints: 10_000}
tiers:
  free: {limits: {daily: {algorithm: fixed_window, limit: 3/day}}}
  pro: {rate: 1_000_000, burst: 1_000_000, quota: 1_000_000_000}
";

/// The engine.
pub(super) struct Node {
    engine: Engine,
    keys: Vec<String>,
    now: Timestamp,
}

impl Node {
    pub(super) fn open(folder: &Path, clients_max: u32) -> Result<Self> {
        let policy = file::read(POLICY.as_bytes()).ok().context("the policy is one")?.policy;
        let embedded = Embedded { clients_max, clock: |_| Clock::fixed(BEGIN), ..Embedded::new(policy) };
        let (engine, _) = embedded.open(folder, b"a secret of this benchmark", |_| ())?;
        let keys = runtime()?.block_on(make_keys(&engine))?;
        let mut node = Self { engine, keys, now: BEGIN };
        for number in 0..KNOWN {
            ensure!(node.known_client(number), "a client is refused before anything was done");
        }
        Ok(node)
    }

    fn admits(&mut self, request: &CallerRequest<'_>) -> bool {
        self.now = self.now.plus(STEP);
        self.engine.decide(request, self.now).is_admitted()
    }

    fn client(&mut self, agent: &str, address: Ipv4Addr) -> bool {
        let mut headers = HeaderMap::with_capacity(1);
        if let Ok(agent) = HeaderValue::from_str(agent) {
            headers.insert(http::header::USER_AGENT, agent);
        }
        let request = of_client(&headers, address);
        self.admits(&request)
    }

    /// A client that is known.
    fn known_client(&mut self, number: u32) -> bool {
        self.client(&format!("known {number}"), Ipv4Addr::from(0x0a00_0000 + number))
    }

    /// Somebody behind an address that nobody has seen.
    pub(super) fn address(&mut self, number: u32) -> bool {
        self.client("stranger", Ipv4Addr::from(0x1000_0000 + number))
    }

    /// Somebody with a fingerprint that nobody has seen, behind one of some addresses.
    pub(super) fn fingerprint(&mut self, number: u32) -> bool {
        self.client(&format!("stranger {number}"), Ipv4Addr::from(0x5000_0000 + number % 20_000))
    }

    /// How many of the clients that were there before do not get the two that are left of their three.
    pub(super) fn known_clients_that_lost_anything(&mut self) -> u32 {
        let lost = |node: &mut Self, number| {
            let answers = [(); 3].map(|()| node.known_client(number));
            u32::from(answers != [true, true, false])
        };
        (0..KNOWN).map(|number| lost(self, number)).sum()
    }

    pub(super) fn known_accounts_refused(&mut self) -> u32 {
        (0..KNOWN).map(|number| u32::from(!self.key(number))).sum()
    }

    fn key(&mut self, number: u32) -> bool {
        let key = self.keys[number as usize % self.keys.len()].clone();
        self.admits(&CallerRequest { credential: Credential::Key(&key), ..anybody() })
    }

    /// How long a decision on a known account takes, in nanoseconds.
    pub(super) fn time_known(&mut self, count: u32) -> f64 {
        let watch = stopwatch();
        for number in 0..count {
            std::hint::black_box(self.key(number));
        }
        per_one(watch.elapsed().as_secs_f64(), count)
    }

    /// How long a decision on a client takes that is within its limits.
    pub(super) fn time_client(&mut self, count: u32) -> f64 {
        self.time_one(count, |number| Ipv4Addr::from(0xc000_0000 + number % 100_000))
    }

    /// How long it takes to answer a client that is blocked.
    pub(super) fn time_blocked(&mut self, count: u32) -> Result<f64> {
        let address = Ipv4Addr::new(203, 0, 113, 9);
        for _ in 0..20 {
            self.client("timed", address);
        }
        ensure!(!self.client("timed", address), "it is not blocked");
        Ok(self.time_one(count, |_| address))
    }

    fn time_one(&mut self, count: u32, address: impl Fn(u32) -> Ipv4Addr) -> f64 {
        let mut headers = HeaderMap::new();
        headers.insert(http::header::USER_AGENT, HeaderValue::from_static("timed"));
        let watch = stopwatch();
        for number in 0..count {
            std::hint::black_box(self.admits(&of_client(&headers, address(number))));
        }
        per_one(watch.elapsed().as_secs_f64(), count)
    }
}

fn per_one(seconds: f64, count: u32) -> f64 {
    seconds * 1e9 / f64::from(count)
}

fn of_client(headers: &HeaderMap, address: Ipv4Addr) -> CallerRequest<'_> {
    let address = Some(IpAddr::V4(address));
    CallerRequest { credential: Credential::Nothing { headers }, address, ..anybody() }
}

const fn anybody() -> CallerRequest<'static> {
    CallerRequest {
        credential: Credential::Ambiguous,
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

async fn make_keys(engine: &Engine) -> Result<Vec<String>> {
    let by = Writer { who: "bench".to_owned(), now: BEGIN };
    let mut keys = Vec::new();
    for number in 0..KNOWN {
        let id = format!("known-{number}");
        let account = NewAccount {
            id: Some(AccountId::new(&id).context("an id")?),
            name: DisplayName::new("Known")?,
            tier: TierName::new("pro").context("a tier")?,
            billing_day: None,
            timezone: None,
        };
        engine.directory().create_account(account, &by).await?;
        let key = NewKey {
            name: DisplayName::new("Known")?,
            env: KeyEnv::Live,
            scopes: Scopes::default(),
            expires_at: None,
        };
        let (_, key) = engine.directory().create_key(&id, key, &by).await?;
        keys.push(key.expose().to_owned());
    }
    Ok(keys)
}
