//! What is asked about a request.

use http::Request;
use serde_json::{Value, json};
use sluicegate_tower::identity::{HeaderName, Identity, KeyPlace, Network, Proxies};
use sluicegate_tower::{Peer, RemoteLayer};

use crate::decider::{Decider, Inner, body_of, header};

const CHECK: &str = "/v1/check";

/// What is asked about one request.
async fn asked(change: impl Fn(RemoteLayer) -> RemoteLayer, request: http::request::Builder) -> Value {
    let decider = Decider::admitting().await;
    let answer = Inner::default().behind(&change(decider.layer()), request).await;
    assert_eq!(answer.status(), 200);
    decider.asked_at(CHECK).pop().unwrap()
}

fn as_is(layer: RemoteLayer) -> RemoteLayer {
    layer
}

fn from(peer: &str) -> Peer {
    Peer(peer.parse().unwrap())
}

#[tokio::test]
async fn a_key_is_found_where_policies_have_it_and_sent_with_method_path_and_address() {
    let expected = json!({"key": "k", "client": {"ip": "192.0.2.1"}, "method": "POST", "path": "/a/b"});
    let post = || Request::post("http://api.example/a/b?c=d").extension(from("192.0.2.1:5"));
    assert_eq!(asked(as_is, post().header("authorization", "Bearer k")).await, expected);
    assert_eq!(asked(as_is, post().header("x-api-key", "k")).await, expected);
    let both = post().header("authorization", "Bearer k").header("x-api-key", "k");
    assert_eq!(asked(as_is, both).await, expected);
    let token = asked(as_is, Request::get("/").header("x-service-token", "t")).await;
    assert_eq!(token, json!({"service_token": "t", "method": "GET", "path": "/"}));
}

#[tokio::test]
async fn a_caller_without_a_key_is_told_by_its_address_cookies_and_fingerprint() {
    let request = Request::get("/")
        .extension(from("[2001:db8::1]:5"))
        .header("cookie", "a=1")
        .header("cookie", "sg_session=v1.x")
        .header("user-agent", "curl/8.0")
        .header("x-secret-of-ours", "no");
    let client = json!({
        "ip": "2001:db8::1", "cookie": "a=1; sg_session=v1.x", "headers": {"user-agent": "curl/8.0"},
    });
    assert_eq!(asked(as_is, request).await, json!({"client": client, "method": "GET", "path": "/"}));
    assert_eq!(asked(as_is, Request::options("*")).await["path"], "/");
}

#[tokio::test]
async fn where_keys_stand_and_who_is_believed_can_be_said() {
    let header = HeaderName::new("x-my-key").unwrap();
    let identity = Identity { api_key: vec![KeyPlace::Header(header)], ..Identity::default() };
    let mine = |layer: RemoteLayer| layer.identity(identity.clone());
    assert_eq!(asked(mine, Request::get("/").header("x-my-key", "k")).await["key"], "k");
    assert_eq!(asked(mine, Request::get("/").header("x-api-key", "k")).await["key"], Value::Null);

    let proxies = Proxies { trusted: vec![Network::parse("10.0.0.0/8").unwrap()], ..Proxies::default() };
    let behind = |layer: RemoteLayer| layer.trusted_proxies(proxies.clone());
    let forwarded = || Request::get("/").header("x-forwarded-for", "192.0.2.7");
    let ip = |check: Value| check["client"]["ip"].clone();
    assert_eq!(ip(asked(behind, forwarded().extension(from("10.0.0.1:9"))).await), "192.0.2.7");
    assert_eq!(ip(asked(behind, forwarded().extension(from("192.0.2.9:9"))).await), "192.0.2.9");
    assert_eq!(ip(asked(as_is, forwarded().extension(from("10.0.0.1:9"))).await), "10.0.0.1");

    #[derive(Clone)]
    struct Theirs(std::net::SocketAddr);
    let theirs = |layer: RemoteLayer| layer.peer_from(|it| it.get::<Theirs>().map(|peer| peer.0));
    let request = Request::get("/").extension(Theirs("192.0.2.3:1".parse().unwrap()));
    assert_eq!(ip(asked(theirs, request).await), "192.0.2.3");
}

#[tokio::test]
async fn the_name_of_a_request_goes_along_only_where_the_service_vouches_for_it() {
    let named = |request: http::request::Builder| request.header("idempotency-key", "\"order 7\"");
    let vouched = RemoteLayer::vouch_for_idempotency_keys;
    assert_eq!(asked(vouched, named(Request::post("/"))).await["idempotency_key"], "order 7");
    assert_eq!(asked(vouched, named(Request::get("/"))).await["idempotency_key"], Value::Null);
    assert_eq!(asked(as_is, named(Request::post("/"))).await["idempotency_key"], Value::Null);
}

#[tokio::test]
async fn what_is_wrong_with_a_request_by_itself_is_not_asked_about() {
    let decider = Decider::admitting().await;
    let (layer, inner) = (decider.layer().vouch_for_idempotency_keys(), Inner::default());
    let two_keys = Request::get("/").header("authorization", "Bearer a").header("x-api-key", "b");
    let no_name = Request::post("/").header("idempotency-key", "\"");
    for (request, error) in [(two_keys, "ambiguous_key"), (no_name, "invalid_idempotency_key")] {
        let answer = inner.behind(&layer, request).await;
        assert_eq!((answer.status().as_u16(), header(&answer, "cache-control")), (400, "no-store"));
        assert_eq!(body_of(answer).await["error"], error);
    }
    assert!(decider.asked.lock().is_empty() && inner.seen.lock().is_empty());
}
