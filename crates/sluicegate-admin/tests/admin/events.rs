//! Events over a real socket: decisions, changes and ticks, for those who read and for those who do not.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use serde_json::{Value, json};
use sluicegate_admin::AdminService;
use sluicegate_core::policy::ServerSettings;
use sluicegate_engine::Credential;
use sluicegate_engine::pulse::SUBSCRIBERS_MAX;
use sluicegate_server::listen::{self, Listener, ServeSettings, Shutdown};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use crate::blocks::decide;
use crate::place::{Place, TOKEN, wait};

/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(20);

struct Stream(BufReader<TcpStream>);

impl Stream {
    /// Listens. Returns when it does.
    async fn open(address: SocketAddr) -> Self {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let request =
            format!("GET /admin/v1/events HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {TOKEN}\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut stream = Self(BufReader::new(stream));
        assert!(stream.line().await.starts_with("HTTP/1.1 200"));
        let mut headers = String::new();
        while !headers.ends_with("\r\n\r\n") {
            headers.push_str(&stream.line().await);
        }
        assert!(headers.contains("content-type: text/event-stream\r\n"), "{headers}");
        assert!(headers.contains("cache-control: no-store\r\n"), "{headers}");
        while !stream.line().await.starts_with(": listening") {}
        stream
    }

    async fn line(&mut self) -> String {
        let mut line = String::new();
        timeout(PATIENCE, self.0.read_line(&mut line)).await.expect("something is said").unwrap();
        line
    }

    /// The next event, but for ticks unless they are wanted.
    async fn next(&mut self, with_ticks: bool) -> (String, Value) {
        loop {
            let line = self.line().await;
            let Some(name) = line.strip_prefix("event: ") else { continue };
            let data = self.line().await;
            let data = serde_json::from_str(data.strip_prefix("data: ").unwrap().trim()).unwrap();
            if with_ticks || name.trim() != "tick" {
                return (name.trim().to_owned(), data);
            }
        }
    }
}

async fn serve(place: &Place) -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(axum::serve(listener, place.router.clone()).into_future());
    address
}

#[test]
fn decisions_changes_and_ticks_are_heard() {
    let place = Place::new();
    place.account("acme", "pro");
    let (_, key) = place.key("acme");
    wait(async {
        let address = serve(&place).await;
        let mut stream = Stream::open(address).await;
        let decision = decide(&place, Credential::Key(&key));
        let (name, data) = stream.next(false).await;
        assert_eq!(name, "decision");
        assert_eq!(
            data,
            json!({
                "decision_id": decision.id.to_string(), "at": "2026-10-05T12:00:00.000Z", "front": "decision",
                "allowed": true, "status": 200, "error": null, "account": "acme", "client": null, "tier": "pro",
                "route": null, "method": "GET", "path": "/",
            })
        );
        decide(&place, Credential::Key("junk"));
        assert_eq!(stream.next(false).await.1["error"], "invalid_key");
        place.later(1);
        let (name, data) = stream.next(true).await;
        assert_eq!(name, "tick");
        assert_eq!(
            data,
            json!({
                "at": "2026-10-05T12:00:00.000Z", "admitted": 1, "refused": {"invalid_key": 1}, "mode": "normal",
            })
        );
        place
            .engine
            .reload(sluicegate_core::file::read(crate::place::POLICY.as_bytes()).unwrap().policy)
            .unwrap();
        let (name, data) = stream.next(false).await;
        assert_eq!((name.as_str(), &data["what"]), ("change", &json!("reload")));
        assert_eq!(data["text"], "Policy 2 came into force.");
    });
}

/// What a call is said to have changed.
async fn changed(
    place: &Place,
    stream: &mut Stream,
    method: &str,
    path: &str,
    body: Value,
) -> (String, String) {
    let request = crate::place::authorized(method, path)
        .header("content-type", "application/json")
        .header("x-sluicegate-actor", "alice");
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let reply = crate::place::send(place.router.clone(), request.body(body.into()).unwrap()).await;
    assert!((200..300).contains(&reply.status), "{}", reply.text);
    let (name, data) = stream.next(false).await;
    assert_eq!(name, "change");
    (data["what"].as_str().unwrap().to_owned(), data["text"].as_str().unwrap().to_owned())
}

#[test]
fn whatever_is_written_is_told_once_with_who_and_whom() {
    let place = Place::new();
    place.account("acme", "pro");
    let (id, _) = place.key("acme");
    let client = "cl_0f1e2d3c4b5a69788796a5b4c3d2e1f0";
    wait(async {
        let mut stream = Stream::open(serve(&place).await).await;
        let calls = [
            ("POST", "/admin/v1/accounts".to_owned(), json!({"id": "globex", "name": "G", "tier": "pro"})),
            ("PUT", "/admin/v1/accounts/globex/tier".to_owned(), json!({"tier": "free"})),
            ("PUT", "/admin/v1/accounts/globex/custom".to_owned(), json!({"rate": 5})),
            ("POST", format!("/admin/v1/keys/{id}/rotate"), json!({})),
            ("DELETE", format!("/admin/v1/keys/{id}"), Value::Null),
            ("POST", "/admin/v1/blocks".to_owned(), json!({"client": client})),
            ("DELETE", format!("/admin/v1/blocks/{client}"), Value::Null),
            ("DELETE", format!("/admin/v1/clients/{client}/reputation"), Value::Null),
            ("DELETE", "/admin/v1/accounts/globex".to_owned(), Value::Null),
        ];
        let mut told = Vec::new();
        // Nothing is told of what was refused, read, or only to be shown.
        place.engine.clock().set(crate::place::NOW);
        for (method, path) in
            [("PUT", "/admin/v1/accounts/acme/tier?preview=true"), ("PUT", "/admin/v1/accounts/nobody/tier")]
        {
            let request = crate::place::authorized(method, path).header("content-type", "application/json");
            let body = json!({"tier": "free"}).to_string();
            crate::place::send(place.router.clone(), request.body(body.into()).unwrap()).await;
        }
        for (method, path, body) in calls {
            told.push(changed(&place, &mut stream, method, &path, body).await);
        }
        let line = |what: &str, text: String| (what.to_owned(), format!("admin {text}."));
        assert_eq!(
            told,
            [
                line("account", "made account globex".to_owned()),
                line("account", "gave another tier to account globex".to_owned()),
                line("account", "gave negotiated limits to account globex".to_owned()),
                line("key", format!("gave a new secret to key {id}")),
                line("key", format!("revoked key {id}")),
                line("block", format!("blocked {client}")),
                line("block", format!("lifted the block of {client}")),
                line("block", format!("forgave client {client}")),
                line("account", "deleted account globex".to_owned()),
            ]
        );
    });
}

#[test]
fn a_slow_reader_is_told_what_it_missed_and_holds_nobody_up() {
    let place = Place::new();
    wait(async {
        let mut stream = Stream::open(serve(&place).await).await;
        let path = format!("/{}", "x".repeat(150));
        // Far more than sockets and queues hold, while nobody reads. The tasks get their turn now and then.
        let seconds = 2_000;
        for second in 0..seconds {
            place.later(second);
            for _ in 0..50 {
                decide_at(&place, &path);
            }
            if second % 10 == 0 {
                tokio::task::yield_now().await;
            }
        }
        let (mut heard, mut missed) = (0, 0);
        while heard + missed < u64::from(seconds) * 50 {
            let (name, data) = stream.next(false).await;
            match name.as_str() {
                "decision" => heard += 1,
                "missed" => missed += data["count"].as_u64().unwrap(),
                other => panic!("{other} is not expected"),
            }
        }
        assert_eq!(heard + missed, u64::from(seconds) * 50);
        assert!(missed > 0 && heard >= 256, "{heard} heard, {missed} missed");
    });
}

/// A request that is refused.
fn decide_at(place: &Place, path: &str) {
    use sluicegate_engine::{CallerRequest, Front, Hold, Purpose};
    let request = CallerRequest {
        credential: Credential::Key("junk"),
        address: None,
        method: "GET",
        path,
        cost: None,
        idempotency_key: None,
        purpose: Purpose::Charge,
        hold: Hold::IfNeeded,
        front: Front::Gateway,
    };
    place.engine.decide(&request, place.engine.now());
}

#[test]
fn only_so_many_may_listen_and_whoever_leaves_makes_room() {
    let place = Place::new();
    wait(async {
        let address = serve(&place).await;
        let mut streams = Vec::new();
        for _ in 0..SUBSCRIBERS_MAX {
            streams.push(Stream::open(address).await);
        }
        let request = crate::place::authorized("GET", "/admin/v1/events").body(axum::body::Body::empty());
        let refused = crate::place::send(place.router.clone(), request.unwrap()).await;
        refused.problem(503, "unavailable", None);
        assert!(refused.header("retry-after").is_some());
        streams.pop();
        // The server notices when it next writes to the one who left.
        let again = async {
            loop {
                if let Ok(subscription) = place.engine.pulse().subscribe() {
                    break drop(subscription);
                }
                tokio::task::yield_now().await;
            }
        };
        place.later(1);
        timeout(PATIENCE, again).await.expect("whoever leaves makes room");
    });
}

#[test]
fn an_end_that_has_begun_does_not_wait_for_those_who_listen() {
    let place = Place::new();
    wait(async {
        let listener = Listener::bind(([127, 0, 0, 1], 0).into(), "--admin").unwrap();
        let (address, shutdown) = (listener.local_addr(), Shutdown::new());
        let settings = ServeSettings::new(&ServerSettings::default(), None);
        let admin = AdminService::new(place.router.clone());
        let ended = tokio::spawn(listen::serve(listener, settings, admin, shutdown.clone()));
        let mut stream = Stream::open(address).await;
        shutdown.begin();
        timeout(Duration::from_secs(10), ended).await.expect("it ends at once").unwrap();
        // What was said until then is whole: the stream ends, and is not cut.
        while !stream.line().await.is_empty() {}
    });
}
