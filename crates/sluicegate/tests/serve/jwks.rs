//! Tokens of an identity provider: its keys by URL and by file, rotated, and out of reach.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use sluicegate_testkit::http::{Asked, Caller};
use sluicegate_testkit::jwt::{Signer, jwks};
use sluicegate_testkit::redis::{Engine, RedisLaunch};
use sluicegate_testkit::wait;

use crate::bed::Bed;
use crate::nodes::node;

/// 2100: longer than any test.
pub(crate) const LATER: u64 = 4_102_444_800;

/// Where an identity provider publishes its keys.
pub(crate) struct Provider {
    address: SocketAddr,
    /// What it answers; nothing: it hangs up.
    keys: Arc<Mutex<Option<String>>>,
    asked: Arc<AtomicUsize>,
}

impl Provider {
    pub(crate) fn start(keys: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let provider = Self { address, keys: Arc::new(Mutex::new(Some(keys))), asked: Arc::default() };
        let (keys, asked) = (Arc::clone(&provider.keys), Arc::clone(&provider.asked));
        // It ends with the test process.
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                asked.fetch_add(1, Ordering::Relaxed);
                let body = keys.lock().unwrap().clone();
                let Some(body) = body else { continue };
                let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
                while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
                let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
                let _ = stream.write_all(format!("{head}{body}").as_bytes());
            }
        });
        provider
    }

    pub(crate) fn policy(&self) -> String {
        policy(&format!("http://{}/jwks.json", self.address))
    }

    fn publish(&self, keys: Option<String>) {
        *self.keys.lock().unwrap() = keys;
    }
}

fn policy(jwks: &str) -> String {
    format!(
        "
identity:
  jwt: {{jwks: '{jwks}', issuer: https://login.test, audience: api, account: org, tier: plan, scopes: scope}}
tiers:
  pro: {{rate: 100_000, burst: 100_000, quota: 1_000}}
  free: {{rate: 100_000, burst: 100_000, quota: 2}}
routes:
  write: {{match: POST /write, scope: 'doc:write'}}
"
    )
}

pub(crate) fn claims(other: &Value) -> Value {
    let mut claims = json!({"iss": "https://login.test", "aud": "api", "org": "acme", "exp": LATER});
    claims.as_object_mut().unwrap().extend(other.as_object().unwrap().clone());
    claims
}

pub(crate) fn bearer(token: &str) -> Asked {
    Asked::get("/").header("Authorization", &format!("Bearer {token}"))
}

/// Waits until a token is answered so.
pub(crate) fn becomes(bed: &Bed, token: &str, status: u16) {
    wait::within(Duration::from_secs(20), "another answer to a token", || {
        (bed.gateway(&bearer(token)).status == status).then_some(())
    });
}

#[test]
fn a_token_is_read_wherever_a_key_is() {
    let signer = Signer::es256("one");
    let provider = Provider::start(jwks(&[&signer]));
    let bed = Bed::start(&provider.policy());
    bed.account("acme", "pro");
    let token = signer.token(&claims(&json!({"scope": "doc:write"})));
    becomes(&bed, &token, 200);
    let answer = bed.check(&json!({"key": token, "method": "POST", "path": "/write"})).json();
    assert_eq!((&answer["allowed"], &answer["account"]), (&json!(true), &json!("acme")));
    let forwarded = Asked::get("/v1/forward-auth").header("Authorization", &format!("Bearer {token}"));
    let forwarded = forwarded.header("X-Forwarded-Method", "POST").header("X-Forwarded-Uri", "/write");
    assert_eq!(Caller::new(bed.server.decision()).send(&forwarded).unwrap().status, 200);
    let narrow = signer.token(&claims(&json!({})));
    let refused = bed.check(&json!({"key": narrow, "method": "POST", "path": "/write"})).json();
    assert_eq!(refused["error"], "insufficient_scope");
    let vouched = signer.token(&claims(&json!({"org": "globex", "plan": "free"})));
    assert_eq!(bed.check(&json!({"key": vouched})).json()["tier"], "free");
    let unknown = signer.token(&claims(&json!({"org": "globex"})));
    assert_eq!(bed.check(&json!({"key": unknown})).json()["error"], "invalid_key");
    // The token is in no file and in no log.
    let log = bed.server.said();
    assert!(!log.contains(&token), "{log}");
}

#[test]
fn keys_at_a_url_are_rotated_and_an_outage_changes_nothing() {
    let (old, new) = (Signer::eddsa("old"), Signer::rs256("new"));
    let provider = Provider::start(jwks(&[&old]));
    let bed = Bed::start(&provider.policy());
    bed.account("acme", "pro");
    let (before, after) = (old.token(&claims(&json!({}))), new.token(&claims(&json!({}))));
    becomes(&bed, &before, 200);
    // The provider is out of reach: what was fetched stays in use, and tokens by unknown keys are refused.
    provider.publish(None);
    assert_eq!(bed.gateway(&bearer(&after)).status, 403);
    assert_eq!(bed.gateway(&bearer(&before)).status, 200);
    // It is back, with other keys: a token that names one has them fetched, and the old one has ended.
    provider.publish(Some(jwks(&[&new])));
    becomes(&bed, &after, 200);
    assert_eq!(bed.gateway(&bearer(&before)).status, 403);
    // However many tokens name keys that nobody has, the provider is asked once in a while.
    let asked = provider.asked.load(Ordering::Relaxed);
    for number in 0..200 {
        let stranger = Signer::eddsa(&format!("unknown-{number}"));
        assert_eq!(bed.gateway(&bearer(&stranger.token(&claims(&json!({}))))).status, 403);
    }
    assert!(provider.asked.load(Ordering::Relaxed) <= asked + 2);
    // What is no set of keys replaces none.
    provider.publish(Some("{}".to_owned()));
    assert_eq!(bed.gateway(&bearer(&after)).status, 200);
}

#[test]
fn keys_in_a_file_are_read_again() {
    let (old, new) = (Signer::eddsa("old"), Signer::es256("new"));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("jwks.json");
    std::fs::write(&file, jwks(&[&old])).unwrap();
    let bed = Bed::start(&policy(&format!("file:{}", file.display())));
    bed.account("acme", "pro");
    becomes(&bed, &old.token(&claims(&json!({}))), 200);
    std::fs::write(&file, jwks(&[&new])).unwrap();
    becomes(&bed, &new.token(&claims(&json!({}))), 200);
    becomes(&bed, &old.token(&claims(&json!({}))), 403);
}

#[test]
fn tokens_of_an_account_are_limited_together_over_nodes() {
    let signer = Signer::eddsa("one");
    let provider = Provider::start(jwks(&[&signer]));
    let redis = RedisLaunch::new(Engine::Redis).start();
    let nodes = [node(&provider.policy(), &redis.url()), node(&provider.policy(), &redis.url())];
    nodes[0].account("acme", "free");
    let token = signer.token(&claims(&json!({})));
    for node in &nodes {
        wait::within(Duration::from_secs(20), "the keys of the provider", || {
            let answer = node.check(&json!({"key": token, "peek": true})).json();
            (answer["allowed"] == true).then_some(())
        });
    }
    let check = |node: &Bed| node.check(&json!({"key": token})).json()["error"].clone();
    assert_eq!((check(&nodes[0]), check(&nodes[1])), (Value::Null, Value::Null));
    assert_eq!((check(&nodes[0]), check(&nodes[1])), (json!("quota_exceeded"), json!("quota_exceeded")));
}
