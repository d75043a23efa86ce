//! A service over an engine in a directory of its own, and a transcript of what was asked and answered.

use std::fmt::Write as _;
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Request};
use http_body_util::{BodyExt as _, Full};
use sluicegate_core::file;
use sluicegate_core::policy::Permissions;
use sluicegate_core::policy::{Network, Proxies, TierName};
use sluicegate_core::time::Timestamp;
use sluicegate_engine::identify::{DailyHash, SessionKeys};
use sluicegate_engine::{Clock, Engine, EngineParts, PermitKey};
use sluicegate_ledger::{Spool, SpoolSettings};
use sluicegate_server::Access;
use sluicegate_server::decision::DecisionService;
use sluicegate_store::database::Database;
use sluicegate_store::directory::{AccountId, Directory, DisplayName, NewAccount, NewKey, Scopes, Writer};
use sluicegate_store::hash::HomeHasher;
use sluicegate_store::key_text::{KeyEnv, KeyHasher};
use tempfile::TempDir;

/// 2026-10-05T12:00:00Z.
const NOW: Timestamp = Timestamp::from_secs(1_791_201_600);

pub(crate) struct Place {
    pub(crate) service: DecisionService,
    pub(crate) engine: Arc<Engine>,
    /// Callers by the name that stands for their key: `<free>`.
    keys: Vec<(String, String)>,
    transcript: String,
    /// Permits as they were given: none is twice the same.
    permits: Vec<String>,
    _dir: TempDir,
}

/// An answer.
pub(crate) struct Answered {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl Answered {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    /// One member of the JSON body.
    pub(crate) fn member(&self, pointer: &str) -> serde_json::Value {
        let body: serde_json::Value = serde_json::from_str(&self.body).unwrap();
        body.pointer(pointer).unwrap_or(&serde_json::Value::Null).clone()
    }
}

impl Place {
    pub(crate) fn new(policy: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let homes = HomeHasher::new([1; 16]);
        let database = Database::open(&dir.path().join("sluicegate.db")).unwrap();
        let directory = Directory::open(database.clone(), homes.clone(), KeyHasher::new(&[2; 32])).unwrap();
        let settings = SpoolSettings { segment_records: 4_096, ..SpoolSettings::default() };
        let parts = EngineParts {
            policy: file::read(policy.as_bytes()).unwrap().policy,
            directory,
            database,
            spool: Spool::open(&dir.path().join("spool"), settings).unwrap(),
            homes,
            sessions: SessionKeys::new(b"secret", &[]),
            permits: PermitKey::new(b"secret"),
            daily: DailyHash::new(b"secret"),
            proxies: Proxies { trusted: vec![Network::parse("127.0.0.0/8").unwrap()], ..Proxies::default() },
            clock: |_| Clock::fixed(NOW),
            random: 7,
            clients_max: 1_000_000,
            shared: None,
        };
        let engine = Arc::new(Engine::open(parts, |_| ()).unwrap().0);
        let service = DecisionService::new(Arc::clone(&engine)).with_access(Access::open(Permissions::ALL));
        Self { service, engine, keys: Vec::new(), transcript: String::new(), permits: Vec::new(), _dir: dir }
    }

    /// An account of this tier with one key, which `<tier>` stands for.
    pub(crate) fn caller(self, tier: &str) -> Self {
        self.scoped_caller(tier, tier, &[])
    }

    pub(crate) fn scoped_caller(mut self, name: &str, tier: &str, scopes: &[&str]) -> Self {
        let writer = Writer { who: "test".to_owned(), now: NOW };
        let id = format!("acct_{name}");
        let account = NewAccount {
            id: Some(AccountId::new(&id).unwrap()),
            name: DisplayName::new(name).unwrap(),
            tier: TierName::new(tier).unwrap(),
            billing_day: None,
            timezone: None,
        };
        wait(self.engine.directory().create_account(account, &writer)).unwrap();
        let key = NewKey {
            name: DisplayName::new("test").unwrap(),
            env: KeyEnv::Live,
            scopes: Scopes::new(scopes.iter().copied()).unwrap(),
            expires_at: None,
        };
        let (_, secret) = wait(self.engine.directory().create_key(&id, key, &writer)).unwrap();
        self.keys.push((format!("<{name}>"), secret.expose().to_owned()));
        self
    }

    /// The text with the keys that its placeholders stand for.
    pub(crate) fn with_keys(&self, text: &str) -> String {
        self.keys.iter().fold(text.to_owned(), |text, (name, key)| text.replace(name, key))
    }

    /// So many milliseconds after the start.
    pub(crate) fn at(&mut self, millis: u64) {
        self.engine.clock().set(Timestamp::from_nanos(NOW.as_nanos() + millis * 1_000_000));
        writeln!(self.transcript, "at {millis} ms\n").unwrap();
    }

    /// Asks without writing it down.
    pub(crate) fn ask(&self, method: &str, uri: &str, headers: &[(&str, &str)], body: &str) -> Answered {
        let mut request = Request::builder().method(method).uri(uri);
        if method == "POST" && !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type")) {
            request = request.header("content-type", "application/json");
        }
        for (name, value) in headers {
            request = request.header(*name, self.with_keys(value));
        }
        let body = Full::new(Bytes::from(self.with_keys(body)));
        wait(answered(&self.service, request.body(body).unwrap()))
    }

    /// Asks, and writes down what was asked and answered.
    pub(crate) fn told(&mut self, method: &str, uri: &str, headers: &[(&str, &str)], body: &str) -> Answered {
        let answered = self.ask(method, uri, headers, body);
        self.note_permits(&answered.body);
        let shown = |text: &str| {
            let permits = self.permits.iter().zip(1..);
            permits.fold(text.to_owned(), |text, (permit, number)| {
                text.replace(permit.as_str(), &format!("permit_<{number}>"))
            })
        };
        let (body, answer) = (shown(body), shown(&answered.body));
        let out = &mut self.transcript;
        writeln!(out, "> {method} {uri}").unwrap();
        headers.iter().for_each(|(name, value)| writeln!(out, "> {name}: {value}").unwrap());
        if !body.is_empty() {
            writeln!(out, "> {body}").unwrap();
        }
        writeln!(out, "< {}", answered.status).unwrap();
        for (name, value) in &answered.headers {
            writeln!(out, "< {name}: {}", value.to_str().unwrap()).unwrap();
        }
        if !answer.is_empty() {
            writeln!(out, "< {answer}").unwrap();
        }
        out.push('\n');
        answered
    }

    fn note_permits(&mut self, answer: &str) {
        for part in answer.split("\"permit\":\"").skip(1) {
            let permit = part.split('"').next().unwrap_or_default().to_owned();
            // What is no permit is shown as it was asked.
            if permit.len() > 100 && !self.permits.contains(&permit) {
                self.permits.push(permit);
            }
        }
    }

    pub(crate) fn post(&mut self, uri: &str, body: &str) -> Answered {
        self.told("POST", uri, &[], body)
    }

    pub(crate) fn check(&mut self, body: &str) -> Answered {
        self.post("/v1/check", body)
    }

    /// Compares everything written down so far with a golden file.
    #[track_caller]
    pub(crate) fn matches(&self, golden: &str) {
        crate::golden::check(golden, &self.transcript);
    }

    /// What of the quota of a caller is used.
    pub(crate) fn used(&self, name: &str) -> u64 {
        let peek = format!("{{\"key\":\"<{name}>\",\"peek\":true}}");
        let answered = self.ask("POST", "/v1/check", &[], &peek);
        answered.member("/headers/X-Quota-Used").as_str().unwrap().parse().unwrap()
    }
}

pub(crate) async fn answered<B>(service: &DecisionService, request: Request<B>) -> Answered
where
    B: http_body::Body<Data = Bytes, Error: Send> + Unpin + Send + 'static,
{
    let (parts, body) = service.respond(request, None).await.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    let body = String::from_utf8(body.to_vec()).unwrap();
    Answered { status: parts.status.as_u16(), headers: parts.headers, body }
}

pub(crate) fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}
