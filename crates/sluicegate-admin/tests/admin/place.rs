//! An admin API in a directory of its own, and somebody who calls it.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use http::{HeaderMap, Request, Response};
use http_body_util::BodyExt as _;
use serde_json::Value;
use sluicegate_admin::{AdminState, AdminToken, router};
use sluicegate_core::file;
use sluicegate_core::policy::Proxies;
use sluicegate_core::time::Timestamp;
use sluicegate_engine::identify::{DailyHash, SessionKeys};
use sluicegate_engine::{Books, Clock, Engine, EngineParts, PermitKey};
use sluicegate_ledger::{Spool, SpoolSettings};
use sluicegate_node::{LoadedPolicy, ReloadState};
use sluicegate_store::database::Database;
use sluicegate_store::directory::Directory;
use sluicegate_store::hash::HomeHasher;
use sluicegate_store::key_text::KeyHasher;
use tempfile::TempDir;
use tower_service::Service as _;

/// 2026-10-05T12:00:00Z.
pub(crate) const NOW: Timestamp = Timestamp::from_secs(1_791_201_600);

pub(crate) const TOKEN: &str = "the-admin-token-of-tests";

pub(crate) const POLICY: &str = "\
tiers:
  free: {rate: 10, burst: 20, quota: 50_000}
  pro:
    rate: 100
    quota: 1_000_000
    on_quota_exceeded: bill_overage
    concurrency: 20
    limits:
      searches: {algorithm: fixed_window, limit: 50/hour, routes: [search], per: account}
  internal: {bypass: true}
identity: {anonymous: free}
reputation: {applies_to: all}
blocks: {applies_to: all}
pressure: {fingerprints: 20, window: 10m, squeeze_to: 50%, for: 1h}
routes:
  search: {match: \"GET /api/search/**\", cost: 5}
";

pub(crate) struct Place {
    pub(crate) engine: Arc<Engine>,
    pub(crate) books: Arc<Books>,
    pub(crate) reload: Arc<ReloadState>,
    pub(crate) router: Router,
    pub(crate) database: Database,
    dir: TempDir,
}

/// What was answered.
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self::with(POLICY)
    }

    /// One under this policy.
    pub(crate) fn with(policy: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let homes = HomeHasher::new([1; 16]);
        let database = Database::open(&dir.path().join("sluicegate.db")).unwrap();
        let directory = Directory::open(database.clone(), homes.clone(), KeyHasher::new(&[2; 32])).unwrap();
        let settings = SpoolSettings { segment_records: 256, ..SpoolSettings::default() };
        let spool = Spool::open(&dir.path().join("spool"), settings).unwrap();
        let parts = EngineParts {
            policy: file::read(policy.as_bytes()).unwrap().policy,
            directory,
            database: database.clone(),
            spool,
            homes,
            sessions: SessionKeys::new(b"secret", &[]),
            permits: PermitKey::new(b"secret"),
            daily: DailyHash::new(b"secret"),
            proxies: Proxies::default(),
            clock: |latest| Clock::fixed(latest.max(NOW)),
            random: 7,
            clients_max: 1_000_000,
            shared: None,
        };
        let engine = Arc::new(Engine::open(parts, |_| ()).unwrap().0);
        let reload = Arc::new(ReloadState::new(LoadedPolicy {
            version: 1,
            path: Some("policy.yaml".to_owned()),
            text: policy.into(),
            at: NOW,
        }));
        let token = AdminToken::new(TOKEN).unwrap();
        let books = {
            let _entered = runtime().enter();
            Arc::new(Books::open(Arc::clone(&engine), dir.path()).unwrap())
        };
        let state = AdminState { books: Arc::clone(&books), token, reload: Arc::clone(&reload) };
        Self { engine, books, reload, router: router(state), database, dir }
    }

    /// The time is so many seconds later than at the start.
    pub(crate) fn later(&self, secs: u32) {
        self.engine.clock().set(Timestamp::from_secs(NOW.as_secs() + secs));
    }

    /// A file lies where the folder of the chain should be.
    pub(crate) fn damage_the_chain(&self) {
        std::fs::write(self.dir.path().join("ledger/chain"), "no folder").unwrap();
    }

    /// Sends a request as it is.
    pub(crate) fn send(&self, request: Request<Body>) -> Reply {
        wait(send(self.router.clone(), request))
    }

    /// Reads a path, with the token.
    pub(crate) fn get(&self, path: &str) -> Reply {
        self.send(authorized("GET", path).body(Body::empty()).unwrap())
    }

    /// Sends a request without a body, with the token.
    pub(crate) fn bare(&self, method: &str, path: &str) -> Reply {
        self.send(authorized(method, path).body(Body::empty()).unwrap())
    }

    /// Sends JSON, with the token.
    pub(crate) fn json(&self, method: &str, path: &str, body: &Value) -> Reply {
        self.text(method, path, "application/json", body.to_string())
    }

    /// Sends a body of some type, with the token.
    pub(crate) fn text(&self, method: &str, path: &str, kind: &str, body: impl Into<Body>) -> Reply {
        let request = authorized(method, path).header("content-type", kind);
        self.send(request.body(body.into()).unwrap())
    }

    /// An account of this tier, called as it is.
    pub(crate) fn account(&self, id: &str, tier: &str) -> Value {
        let body = serde_json::json!({"id": id, "name": id, "tier": tier});
        self.json("POST", "/admin/v1/accounts", &body).expect(201)
    }

    /// A key of this account: its id and its secret.
    pub(crate) fn key(&self, account: &str) -> (String, String) {
        let body = serde_json::json!({"name": "test"});
        let key = self.json("POST", &format!("/admin/v1/accounts/{account}/keys"), &body).expect(201);
        (key["id"].as_str().unwrap().to_owned(), key["key"].as_str().unwrap().to_owned())
    }
}

pub(crate) fn authorized(method: &str, path: &str) -> http::request::Builder {
    Request::builder().method(method).uri(path).header("authorization", format!("Bearer {TOKEN}"))
}

pub(crate) async fn send(mut router: Router, request: Request<Body>) -> Reply {
    let of_the_api =
        ["/admin/", "/metrics", "/health"].iter().any(|start| request.uri().path().starts_with(start));
    let response: Response<Body> = router.call(request).await.unwrap();
    let (parts, body) = response.into_parts();
    let bytes = body.collect().await.unwrap().to_bytes();
    let text = String::from_utf8(bytes.to_vec()).unwrap();
    let cached = parts.headers["cache-control"].to_str().unwrap();
    assert!(cached == "no-store" || (cached == "no-cache" && !of_the_api), "{cached}");
    Reply { status: parts.status.as_u16(), headers: parts.headers, text }
}

/// Where the books ask the directory.
fn runtime() -> &'static tokio::runtime::Runtime {
    static RUNTIME: std::sync::LazyLock<tokio::runtime::Runtime> = std::sync::LazyLock::new(|| {
        tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap()
    });
    &RUNTIME
}

pub(crate) fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

impl Reply {
    /// The JSON of an answer with this status.
    #[track_caller]
    pub(crate) fn expect(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.text);
        let kind = if status < 400 { "application/json" } else { "application/problem+json" };
        assert_eq!(self.header("content-type"), Some(kind));
        let value: Value = serde_json::from_str(&self.text).unwrap();
        if status >= 400 {
            assert_eq!(value["status"], status);
            assert_eq!(value["type"], format!("urn:sluicegate:error:{}", value["error"].as_str().unwrap()));
            for member in ["title", "detail"] {
                assert!(value[member].as_str().is_some_and(|text| text.len() > 5), "{}", self.text);
            }
        }
        value
    }

    /// A problem with this status, error and field.
    #[track_caller]
    pub(crate) fn problem(&self, status: u16, error: &str, field: Option<&str>) -> String {
        let problem = self.expect(status);
        assert_eq!(problem["error"], error, "{}", self.text);
        assert_eq!(problem.get("field").and_then(Value::as_str), field, "{}", self.text);
        problem["detail"].as_str().unwrap().to_owned()
    }

    /// A success without a body.
    #[track_caller]
    pub(crate) fn expect_nothing(&self) {
        assert_eq!((self.status, self.text.as_str()), (204, ""));
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }
}
