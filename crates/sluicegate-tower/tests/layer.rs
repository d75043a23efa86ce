//! The layer before a service: what passes, what is answered, and what is held until the last byte.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up should fail")]

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{HeaderMap, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use sluicegate_core::file;
use sluicegate_core::policy::TierName;
use sluicegate_core::time::Timestamp;
use sluicegate_engine::{Clock, Embedded, Engine};
use sluicegate_store::directory::{AccountId, DisplayName, NewAccount, NewKey, Scopes, Writer};
use sluicegate_store::key_text::KeyEnv;
use sluicegate_tower::gateway::{UploadFault, UploadState};
use sluicegate_tower::{Decision, GuardedBody, InFlight, Mode, SluicegateLayer};
use tempfile::TempDir;
use tower_layer::Layer as _;
use tower_service::Service;

const NOW: Timestamp = Timestamp::from_secs(1_791_201_600);

const PLANS: &str = "
tiers:
  free: {rate: 10, burst: 2, quota: 50}
  single: {rate: 100, burst: 100, concurrency: 1}
  kind: {rate: 100, burst: 100, quota: 10, refund_on: 5xx}
routes:
  elsewhere: {match: 'GET /elsewhere', upstream: 'http://127.0.0.1:1'}
";

/// A service that answers with the status and headers it was told, and keeps what it was sent.
#[derive(Clone)]
struct Told {
    status: StatusCode,
    headers: HeaderMap,
    seen: Arc<parking_lot::Mutex<Vec<Request<()>>>>,
    calls: Arc<AtomicUsize>,
}

impl Service<Request<()>> for Told {
    type Response = Response<Full<Bytes>>;
    type Error = Infallible;
    type Future = Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<()>) -> Self::Future {
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.seen.lock().push(request);
        let mut response = Response::new(Full::from("body"));
        *response.status_mut() = self.status;
        *response.headers_mut() = self.headers.clone();
        ready(Ok(response))
    }
}

/// Makes an account with a key.
async fn customer(engine: &Engine, id: &str, tier: &str) -> String {
    let by = Writer { who: "test".to_owned(), now: NOW };
    let account = NewAccount {
        id: Some(AccountId::new(id).unwrap()),
        name: DisplayName::new(id).unwrap(),
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
    let (_, key) = engine.directory().create_key(id, key, &by).await.unwrap();
    key.expose().to_owned()
}

struct Place {
    engine: Arc<Engine>,
    inner: Told,
    key: String,
    _dir: TempDir,
}

impl Place {
    async fn new(policy: &str, tier: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let policy = file::read(policy.as_bytes()).unwrap().policy;
        let embedded = Embedded { clock: |_| Clock::fixed(NOW), ..Embedded::new(policy) };
        let (engine, _) = embedded.open(dir.path(), b"a secret of tests", |_| ()).unwrap();
        let key = customer(&engine, "acme", tier).await;
        let inner = Told {
            status: StatusCode::OK,
            headers: HeaderMap::new(),
            seen: Arc::default(),
            calls: Arc::default(),
        };
        Self { engine: Arc::new(engine), inner, key, _dir: dir }
    }

    /// A key of another account.
    async fn another_key(&self, id: &str, tier: &str) -> String {
        customer(&self.engine, id, tier).await
    }

    async fn send(&self, request: http::request::Builder) -> Response<GuardedBody<Full<Bytes>>> {
        self.send_by(&SluicegateLayer::new(Arc::clone(&self.engine)), request).await
    }

    async fn send_by(
        &self,
        layer: &SluicegateLayer,
        request: http::request::Builder,
    ) -> Response<GuardedBody<Full<Bytes>>> {
        layer.layer(self.inner.clone()).call(request.body(()).unwrap()).await.unwrap()
    }

    fn get(&self, path: &str) -> http::request::Builder {
        Request::get(path).header("x-api-key", &self.key)
    }

    async fn used(&self, limit: &str) -> u64 {
        let account = self.engine.directory().account("acme").await.unwrap().unwrap();
        let limits = self.engine.limits_of(&account, &[], NOW).await.unwrap();
        limits.iter().find(|found| found.now.name.as_str() == limit).unwrap().now.used
    }
}

fn header<'r, B>(response: &'r Response<B>, name: &str) -> Option<&'r str> {
    response.headers().get(name).map(|value| value.to_str().unwrap())
}

fn header_of<'r>(request: &'r Request<()>, name: &str) -> &'r str {
    request.headers()[name].to_str().unwrap()
}

#[tokio::test]
async fn what_may_pass_reaches_the_service_and_carries_what_the_limits_say() {
    let place = Place::new(PLANS, "free").await;
    let response = place
        .send(
            place.get("/").header("x-sluicegate-account", "somebody-else").header("x_sluicegate_tier", "pro"),
        )
        .await;
    assert_eq!(response.status(), 200);
    assert_eq!(header(&response, "ratelimit-remaining"), Some("1"));
    assert_eq!(header(&response, "x-quota-used"), Some("1"));
    assert_eq!(response.into_body().collect().await.unwrap().to_bytes(), "body");
    let seen = place.inner.seen.lock();
    let accounts: Vec<_> = seen[0].headers().get_all("x-sluicegate-account").iter().collect();
    assert_eq!(accounts, ["acme"]);
    assert_eq!(seen[0].headers()["x-sluicegate-tier"], "free");
    assert!(!seen[0].headers().contains_key("x_sluicegate_tier"));
}

#[tokio::test]
async fn what_may_not_pass_is_answered_without_asking_the_service() {
    let place = Place::new(PLANS, "free").await;
    for _ in 0..2 {
        assert_eq!(place.send(place.get("/")).await.status(), 200);
    }
    let refused = place.send(place.get("/")).await;
    assert_eq!(refused.status(), 429);
    assert_eq!(header(&refused, "retry-after"), Some("1"));
    assert_eq!(header(&refused, "cache-control"), Some("no-store"));
    assert_eq!(header(&refused, "content-type"), Some("application/problem+json"));
    let unknown = place.send(Request::get("/")).await;
    assert_eq!(unknown.status(), 401);
    assert_eq!(header(&unknown, "www-authenticate"), Some("Bearer"));
    assert_eq!(header(&unknown, "ratelimit-remaining"), None);
    assert_eq!(place.inner.calls.load(Ordering::Relaxed), 2);
}

#[tokio::test]
async fn a_slot_is_free_with_the_last_byte_or_when_the_caller_goes_away() {
    let place = Place::new(PLANS, "single").await;
    let first = place.send(place.get("/")).await;
    assert_eq!(place.send(place.get("/")).await.status(), 429);
    place.inner.seen.lock().clear();
    assert_eq!(place.used("concurrency").await, 1);
    first.into_body().collect().await.unwrap();
    let second = place.send(place.get("/")).await;
    assert_eq!(second.status(), 200);
    assert_eq!(place.used("concurrency").await, 1);
    // The service still has the request, as an upgraded connection would: the slot is held for it.
    drop(second);
    assert_eq!(place.used("concurrency").await, 1);
    assert!(place.inner.seen.lock().iter().all(|request| request.extensions().get::<InFlight>().is_some()));
    place.inner.seen.lock().clear();
    assert_eq!(place.used("concurrency").await, 0);
}

#[tokio::test]
async fn handlers_know_who_calls_and_what_its_limits_say_and_the_gateway_pays_nothing_for_it() {
    let place = Place::new(PLANS, "free").await;
    place.send(place.get("/")).await;
    let request = place.inner.seen.lock().pop().unwrap();
    let decision = request.extensions().get::<Decision>().unwrap();
    assert_eq!((decision.account(), decision.tier()), (Some("acme"), Some("free")));
    assert_eq!(
        (decision.id(), decision.mode()),
        (header_of(&request, "x-sluicegate-decision"), Mode::Normal)
    );
    let left: Vec<_> = decision.limits().map(|limit| (limit.name, limit.limit, limit.remaining)).collect();
    assert_eq!(left, [("rate", 10, 1), ("quota", 50, 49)]);
    assert_eq!(decision.limit("rate").unwrap().reset, std::time::Duration::from_millis(100));

    place.send_by(&SluicegateLayer::of_gateway(Arc::clone(&place.engine)), place.get("/")).await;
    let request = place.inner.seen.lock().pop().unwrap();
    assert!(request.extensions().get::<Decision>().is_none());
}

#[tokio::test]
async fn a_handler_says_what_its_request_cost_be_it_more_or_less() {
    let place = Place::new("tiers: {wide: {rate: 100, burst: 100, quota: 1_000}}", "wide").await;
    assert!(place.send(place.get("/")).await.status().is_success());
    assert!(place.inner.seen.lock().pop().unwrap().extensions().get::<InFlight>().is_none());
    assert_eq!(place.used("quota").await, 1);
    let holding = SluicegateLayer::new(Arc::clone(&place.engine)).holding();
    for (said, used) in [(&[7][..], 8), (&[0], 8), (&[5, 2], 10), (&[], 11)] {
        let response = place.send_by(&holding, place.get("/")).await;
        let request = place.inner.seen.lock().pop().unwrap();
        said.iter().for_each(|cost| request.extensions().get::<InFlight>().unwrap().cost(*cost));
        drop(request);
        response.into_body().collect().await.unwrap();
        assert_eq!(place.used("quota").await, used, "{said:?}");
    }
}

#[tokio::test]
async fn where_a_caller_comes_from_is_found_where_the_server_has_it() {
    #[derive(Clone)]
    struct Theirs(std::net::SocketAddr);
    let policy = "{tiers: {wide: {rate: 100}}, edge: {rate: 1, burst: 1}}";
    let place = Place::new(policy, "wide").await;
    let layer = SluicegateLayer::new(Arc::clone(&place.engine))
        .peer_from(|extensions| extensions.get::<Theirs>().map(|peer| peer.0));
    for (peer, expected) in [("192.0.2.1:1", 200), ("192.0.2.1:2", 429), ("192.0.2.2:1", 200)] {
        let request = place.get("/").extension(Theirs(peer.parse().unwrap()));
        assert_eq!(place.send_by(&layer, request).await.status(), expected, "{peer}");
    }
}

#[tokio::test]
async fn a_failed_call_is_given_back_where_the_plan_says_so() {
    let mut place = Place::new(PLANS, "kind").await;
    drop(place.send(place.get("/")).await);
    place.inner.status = StatusCode::BAD_GATEWAY;
    drop(place.send(place.get("/")).await);
    place.inner.seen.lock().clear();
    assert_eq!(place.used("quota").await, 1);
}

/// A service that gives no answer, and one that does not get as far while its caller waits.
#[tokio::test]
async fn a_service_without_an_answer_gives_back_what_the_plan_says_and_a_caller_that_goes_away_gets_nothing()
{
    let place = Place::new(PLANS, "kind").await;
    let layer = SluicegateLayer::new(Arc::clone(&place.engine));
    let request = || place.get("/").body(()).unwrap();
    let broken = tower::service_fn(async |_: Request<()>| {
        Err::<Response<Full<Bytes>>, _>(std::io::Error::other("no connection"))
    });
    let failed = layer.layer(broken).call(request()).await;
    assert_eq!(failed.err().unwrap().to_string(), "no connection");
    assert_eq!(place.used("quota").await, 0);
    let hanging = tower::service_fn(async |_: Request<()>| {
        std::future::pending::<Result<Response<Full<Bytes>>, Infallible>>().await
    });
    let waiting = layer.layer(hanging).call(request());
    tokio::select! {
        biased;
        _ = waiting => panic!("the service answered"),
        () = tokio::task::yield_now() => {}
    }
    assert_eq!(place.used("quota").await, 1);
}

/// A body of which the caller has broken off, or not.
#[derive(Debug)]
struct Broken(bool);

impl UploadState for Broken {
    fn is_callers_fault(&self) -> bool {
        self.0
    }
}

#[tokio::test]
async fn a_grpc_failure_after_a_body_that_its_caller_broke_gives_nothing_back() {
    let place = Place::new(PLANS, "kind").await;
    let layer = SluicegateLayer::of_gateway(Arc::clone(&place.engine));
    for (broken, used) in [(false, 0), (true, 1)] {
        let service = tower::service_fn(move |_: Request<()>| async move {
            let trailers = HeaderMap::from_iter([("grpc-status".parse().unwrap(), "13".parse().unwrap())]);
            let body = Full::from("message").with_trailers(ready(Some(Ok(trailers))));
            let mut response = Response::new(body);
            response.extensions_mut().insert(UploadFault(Arc::new(Broken(broken))));
            Ok::<_, Infallible>(response)
        });
        let call = Request::post("/pkg.Service/Method").header("content-type", "application/grpc");
        let call = call.header("x-api-key", &place.key).body(()).unwrap();
        let answer = layer.layer(service).call(call).await.unwrap();
        answer.into_body().collect().await.unwrap();
        assert_eq!(place.used("quota").await, used);
    }
}

#[tokio::test]
async fn a_repeat_after_no_answer_is_free() {
    let place = Place::new("tiers: {wide: {rate: 100, burst: 100, quota: 9}}", "wide").await;
    let layer = SluicegateLayer::new(Arc::clone(&place.engine));
    let post = || {
        let post = Request::post("/orders").header("x-api-key", &place.key).header("idempotency-key", "a");
        post.body(()).unwrap()
    };
    let broken = tower::service_fn(async |_: Request<()>| {
        Err::<Response<Full<Bytes>>, _>(std::io::Error::other("no connection"))
    });
    for _ in 0..2 {
        assert!(layer.layer(broken).call(post()).await.is_err());
        assert_eq!(place.used("quota").await, 1);
    }
    for expected in [1, 2] {
        drop(layer.layer(place.inner.clone()).call(post()).await.unwrap());
        place.inner.seen.lock().clear();
        assert_eq!(place.used("quota").await, expected);
    }
}

#[tokio::test]
async fn a_repeat_is_passed_on_with_its_name_and_charged_once() {
    let policy =
        "tiers: {wide: {rate: 100, burst: 100, quota: 9}}\nroutes: {all: {match: /**, repeats: free}}";
    let place = Place::new(policy, "wide").await;
    let post =
        |path: &str| Request::post(path).header("x-api-key", &place.key).header("idempotency-key", "a");
    for _ in 0..3 {
        assert_eq!(place.send(post("/orders?a=1")).await.status(), 200);
    }
    assert_eq!(place.used("quota").await, 1);
    let decisions: Vec<_> =
        place.inner.seen.lock().iter().map(|seen| seen.headers()["x-sluicegate-decision"].clone()).collect();
    assert_eq!((decisions.len(), &decisions[0]), (3, &decisions[2]));
    assert!(place.inner.seen.lock().iter().all(|seen| seen.headers()["idempotency-key"] == "a"));
    for path in ["/orders?a=2", "/orders", "/else?a=1"] {
        let conflict = place.send(post(path)).await;
        assert_eq!(conflict.status(), 422, "{path}");
        assert_eq!(header(&conflict, "content-type"), Some("application/problem+json"));
    }
    assert_eq!(place.send(post("/orders").header("idempotency-key", "b")).await.status(), 400);
    assert_eq!(place.inner.calls.load(Ordering::Relaxed), 3);
}

#[tokio::test]
async fn of_two_promises_the_smaller_stands() {
    let mut place = Place::new(PLANS, "free").await;
    place.inner.headers.insert("x-ratelimit-remaining", "0".parse().unwrap());
    place.inner.headers.insert("x-ratelimit-limit", "3".parse().unwrap());
    place.inner.headers.insert("ratelimit", "\"theirs\";r=900;t=1".parse().unwrap());
    let response = place.send(place.get("/")).await;
    assert_eq!(header(&response, "x-ratelimit-remaining"), Some("0"));
    assert_eq!(header(&response, "x-ratelimit-limit"), Some("3"));
    assert_eq!(header(&response, "ratelimit-remaining"), Some("1"));
    assert!(header(&response, "ratelimit").unwrap().starts_with("\"rate\";r=1"));
}

#[tokio::test]
async fn an_upstream_limit_without_what_remains_is_replaced_and_not_doubled() {
    let mut place = Place::new(PLANS, "free").await;
    for name in
        ["x-ratelimit-limit", "ratelimit-limit", "ratelimit-policy", "x-quota-reset", "x-quota-overage"]
    {
        place.inner.headers.insert(name, "3".parse().unwrap());
    }
    let response = place.send(place.get("/")).await;
    let values = |name: &str| -> Vec<String> {
        response.headers().get_all(name).iter().map(|value| value.to_str().unwrap().to_owned()).collect()
    };
    for name in ["x-ratelimit-limit", "ratelimit-limit", "ratelimit-policy", "x-quota-reset"] {
        assert_eq!(values(name).len(), 1, "{name}: {:?}", values(name));
        assert_ne!(values(name), ["3"], "{name}");
    }
    // Ours has no overage, so theirs does not stand among our numbers.
    assert!(values("x-quota-overage").is_empty());
    assert_eq!(values("x-quota-remaining").len(), 1);
}

#[tokio::test]
async fn a_route_with_an_upstream_of_its_own_names_it() {
    let place = Place::new(PLANS, "free").await;
    place.send(place.get("/elsewhere")).await;
    let seen = place.inner.seen.lock();
    let passed = seen[0].extensions().get::<sluicegate_tower::gateway::RouteUpstream>().unwrap();
    assert_eq!(passed.upstream.as_str(), "http://127.0.0.1:1");
}

#[tokio::test]
async fn in_strict_mode_the_service_is_asked_once_the_record_is_on_disk() {
    let policy = "{tiers: {free: {rate: 10, quota: 50}}, ledger: {durability: strict}}";
    let place = Place::new(policy, "free").await;
    assert_eq!(place.send(place.get("/")).await.status(), 200);
    assert_eq!(place.engine.spool().durable(), place.engine.spool().tail());
}

/// A service that never answers.
#[derive(Clone)]
struct Silent;

impl Service<Request<()>> for Silent {
    type Response = Response<Full<Bytes>>;
    type Error = Infallible;
    type Future = std::future::Pending<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<()>) -> Self::Future {
        std::future::pending()
    }
}

#[tokio::test]
async fn a_place_at_the_service_is_free_with_the_head_of_its_answer_or_when_nobody_waits() {
    let place = Place::new("{tiers: {free: {rate: 1_000}}, shedding: {}}", "free").await;
    let in_flight = || place.engine.loads().look().in_flight;
    let response = place.send(place.get("/")).await;
    assert_eq!((response.status(), in_flight()), (StatusCode::OK, 0), "before the body was read");
    let mut silent = SluicegateLayer::new(Arc::clone(&place.engine)).layer(Silent);
    let mut ask = || silent.call(place.get("/").body(()).unwrap());
    let mut waiting = vec![ask(), ask()];
    assert_eq!(in_flight(), 2);
    waiting.pop();
    assert_eq!(in_flight(), 1);
    while in_flight() < place.engine.loads().look().limit {
        waiting.push(ask());
    }
    let refused = place.send(place.get("/")).await;
    assert_eq!(
        (refused.status(), header(&refused, "retry-after")),
        (StatusCode::SERVICE_UNAVAILABLE, Some("1"))
    );
    assert_eq!(place.inner.calls.load(Ordering::Relaxed), 1);
    drop(waiting);
    assert_eq!(in_flight(), 0);
}

/// A policy under which the key stands in a header of its own, and the limit has a name of its own.
fn lettered(letter: char) -> String {
    format!(
        "identity: {{api_key: ['header:x-key-{letter}']}}\n\
         tiers: {{wide: {{limits: {{limit_{letter}: {{algorithm: fixed_window, limit: 1_000_000/hour}}}}}}}}"
    )
}

#[tokio::test]
async fn a_request_is_identified_and_decided_by_one_policy_whatever_is_reloaded_meanwhile() {
    let place = Place::new(&lettered('a'), "wide").await;
    let key = place.another_key("other", "wide").await;
    let stop = Arc::new(AtomicUsize::new(0));
    let (engine, stopped) = (Arc::clone(&place.engine), Arc::clone(&stop));
    let reloads = std::thread::spawn(move || {
        let policies = ['b', 'a'].map(|letter| file::read(lettered(letter).as_bytes()).unwrap().policy);
        let mut reloads = 0_usize;
        while stopped.load(Ordering::Relaxed) == 0 {
            engine.reload(policies[reloads % 2].clone()).unwrap();
            reloads += 1;
        }
        reloads
    });
    for _ in 0..20_000 {
        let request = Request::get("/").header("x-key-a", &place.key).header("x-key-b", &key);
        let answer = place.send(request).await;
        let seen = place.inner.seen.lock().pop().unwrap();
        let account = seen.headers()["x-sluicegate-account"].to_str().unwrap();
        let limit = if account == "acme" { "limit_a" } else { "limit_b" };
        let policy = header(&answer, "ratelimit-policy").unwrap();
        assert!(policy.contains(limit), "{account} was decided by {policy}");
    }
    stop.store(1, Ordering::Relaxed);
    assert!(reloads.join().unwrap() > 10);
}
