//! A service behind each of the two layers, over engines that are alike.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::Request as AxumRequest;
use axum::{Extension, Router};
use http::{HeaderMap, Request};
use http_body_util::BodyExt as _;
use sluicegate_core::file;
use sluicegate_core::policy::{Proxies, TierName};
use sluicegate_core::time::Timestamp;
use sluicegate_engine::identify::{DailyHash, SessionKeys};
use sluicegate_engine::{Clock, Engine, EngineParts, PermitKey};
use sluicegate_ledger::{Spool, SpoolSettings};
use sluicegate_server::decision::DecisionService;
use sluicegate_store::database::Database;
use sluicegate_store::directory::{AccountId, Directory, DisplayName, NewAccount, NewKey, Scopes, Writer};
use sluicegate_store::hash::HomeHasher;
use sluicegate_store::key_text::{KeyEnv, KeyHasher};
use sluicegate_tower::{Decision, DecisionClient, RemoteLayer, SluicegateLayer, Unreachable};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tower_service::Service as _;

/// 2026-10-05T12:00:00Z.
const NOW: Timestamp = Timestamp::from_secs(1_791_201_600);

/// Which layer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Way {
    Embedded,
    Remote,
}

/// A service behind one of the layers.
pub(crate) struct Side {
    app: Router,
    key: String,
    pub(crate) dir: TempDir,
}

/// An answer, all of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Answered {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Side {
    /// A service behind the layer, and an account of the tier with a key.
    pub(crate) async fn new(way: Way, policy: &str, tier: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let engine = engine(&dir, policy);
        let key = key(&engine, tier).await;
        let service = Router::new().fallback(said);
        let app = match way {
            Way::Embedded => service.layer(SluicegateLayer::new(Arc::clone(&engine)).holding()),
            Way::Remote => {
                let client = DecisionClient::new(&decision_api(&engine).await).unwrap();
                let remote = RemoteLayer::new(client, Unreachable::Deny).holding();
                service.layer(remote.vouch_for_idempotency_keys())
            }
        };
        Self { app, key, dir }
    }

    /// The answer to a request, in which `<key>` stands for the key. Its body is not read yet.
    pub(crate) async fn begin(&self, line: &str, headers: &[(&str, &str)]) -> http::Response<Body> {
        let (method, path) = line.split_once(' ').unwrap();
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(*name, value.replace("<key>", &self.key));
        }
        self.app.clone().call(request.body(Body::empty()).unwrap()).await.unwrap()
    }

    pub(crate) async fn send(&self, line: &str, headers: &[(&str, &str)]) -> Answered {
        answered(self.begin(line, headers).await).await
    }
}

pub(crate) async fn answered(response: http::Response<Body>) -> Answered {
    let (parts, body) = response.into_parts();
    let body = String::from_utf8(body.collect().await.unwrap().to_bytes().into()).unwrap();
    Answered { status: parts.status.as_u16(), headers: sorted(&parts.headers), body }
}

fn sorted(headers: &HeaderMap) -> Vec<(String, String)> {
    let text = |(name, value): (&http::HeaderName, &http::HeaderValue)| {
        (name.to_string(), value.to_str().unwrap().to_owned())
    };
    // The length is that of the body, which is compared.
    let told = headers.iter().filter(|(name, _)| *name != http::header::CONTENT_LENGTH);
    let mut headers: Vec<_> = told.map(text).collect();
    headers.sort_unstable();
    headers
}

/// What the service knows of its caller.
async fn said(Extension(decision): Extension<Decision>, request: AxumRequest) -> String {
    let limits: Vec<_> = decision.limits().collect();
    let (id, mode) = (decision.id(), decision.mode());
    let told = request.headers().get("x-sluicegate-account").map(|it| it.to_str().unwrap().to_owned());
    format!("{id} {:?} {:?} {mode:?} {told:?} {limits:?}", decision.account(), decision.tier())
}

/// An engine that makes the same ids as any other of these.
fn engine(dir: &TempDir, policy: &str) -> Arc<Engine> {
    let homes = HomeHasher::new([1; 16]);
    let database = Database::open(&dir.path().join("sluicegate.db")).unwrap();
    let directory = Directory::open(database.clone(), homes.clone(), KeyHasher::new(&[2; 32])).unwrap();
    let settings = SpoolSettings { segment_records: 64, ..SpoolSettings::default() };
    let parts = EngineParts {
        policy: file::read(policy.as_bytes()).unwrap().policy,
        directory,
        database,
        spool: Spool::open(&dir.path().join("spool"), settings).unwrap(),
        homes,
        sessions: SessionKeys::new(b"secret", &[]),
        permits: PermitKey::new(b"secret"),
        daily: DailyHash::new(b"secret"),
        proxies: Proxies::default(),
        clock: |_| Clock::fixed(NOW),
        random: 7,
        clients_max: 1_000_000,
        shared: None,
    };
    Arc::new(Engine::open(parts, |_| ()).unwrap().0)
}

async fn key(engine: &Engine, tier: &str) -> String {
    let by = Writer { who: "test".to_owned(), now: NOW };
    let account = NewAccount {
        id: Some(AccountId::new("acme").unwrap()),
        name: DisplayName::new("Acme").unwrap(),
        tier: TierName::new(tier).unwrap(),
        billing_day: None,
        timezone: None,
    };
    engine.directory().create_account(account, &by).await.unwrap();
    let key = NewKey {
        name: DisplayName::new("test").unwrap(),
        env: KeyEnv::Live,
        scopes: Scopes::new([]).unwrap(),
        expires_at: None,
    };
    let (_, key) = engine.directory().create_key("acme", key, &by).await.unwrap();
    key.expose().to_owned()
}

/// The address of the decision API over this engine.
async fn decision_api(engine: &Arc<Engine>) -> String {
    let service = DecisionService::new(Arc::clone(engine));
    let router = Router::new().fallback(move |request: AxumRequest| {
        let service = service.clone();
        async move { service.respond(request, None).await }
    });
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    url
}
