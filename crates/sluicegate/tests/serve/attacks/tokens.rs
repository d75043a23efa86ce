//! Attacks on the credentials of the admin port and of the decision port.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sluicegate_testkit::http::{Answer, Asked, Caller};
use sluicegate_testkit::server::{ADMIN_TOKEN, Launch};
use sluicegate_testkit::wait;

use crate::bed::{Bed, PROGRAM, check};

const PLANS: &str = "tiers: {free: {rate: 1000, burst: 1000, quota: 1_000}}";

/// Creates a token, and gives its id and its text.
pub(super) fn token(bed: &Bed, body: &Value) -> (String, String) {
    let made = bed.post("/admin/v1/tokens", body);
    assert_eq!(made.status, 201, "{}", made.text());
    let made = made.json();
    (made["id"].as_str().unwrap().to_owned(), made["token"].as_str().unwrap().to_owned())
}

fn admin_with(bed: &Bed, token: &str, path: &str) -> Answer {
    let asked = Asked::get(path).header("Authorization", &format!("Bearer {token}"));
    Caller::new(bed.server.admin()).send(&asked).unwrap()
}

#[test]
#[expect(clippy::disallowed_methods, reason = "how long real answers take is what this is about")]
fn attack_61_guessed_tokens_are_delayed_counted_logged_alerted_and_audited_and_the_right_one_is_not() {
    let mut bed = Bed::start(PLANS);
    let began = Instant::now();
    let guesses = 9_u32;
    for guess in 0..guesses {
        assert_eq!(admin_with(&bed, &format!("guess-{guess:020}"), "/admin/v1/accounts").status, 401);
    }
    // 0, 0, 0, 50, 100, 200, 400, 800 and 1600 ms.
    assert!(began.elapsed() >= Duration::from_secs(3), "{:?}", began.elapsed());
    let right = Instant::now();
    assert_eq!(admin_with(&bed, ADMIN_TOKEN, "/admin/v1/accounts").status, 200);
    assert!(right.elapsed() < Duration::from_secs(1), "{:?}", right.elapsed());
    // Guesses that do not wait for their answers are refused, and counted.
    let mut flood: Vec<_> = (0..20).map(|_| Caller::new(bed.server.admin())).collect();
    let asked = Asked::get("/metrics").header("Authorization", "Bearer one-more-guess-of-many");
    flood.iter_mut().for_each(|caller| caller.begin(&asked).unwrap());
    let refused: Vec<u16> = flood.iter_mut().map(|caller| caller.finish().unwrap().status).collect();
    assert!(
        refused.contains(&429) && refused.iter().all(|status| [401, 429].contains(status)),
        "{refused:?}"
    );
    let metrics = admin_with(&bed, ADMIN_TOKEN, "/metrics").text();
    assert!(metrics.contains("sluicegate_wrong_tokens_total{port=\"admin\"} 29"), "{metrics}");
    wait::until("the alert fires", || {
        let alerts = bed.get("/admin/v1/alerts?state=firing");
        alerts["items"]
            .as_array()
            .unwrap()
            .iter()
            .any(|alert| alert["type"] == "signins.refused")
            .then_some(())
    });
    let lines = bed.server.said().lines().filter(|line| line.contains("wrong tokens")).count();
    assert!((1..=15).contains(&lines), "{lines} lines for 29 guesses");
    bed.server.terminate();
    assert!(bed.server.wait().success());
    bed.restart();
    let audit = bed.get("/admin/v1/audit");
    let entries: Vec<_> = audit["items"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|entry| entry["action"] == "signin.refuse")
        .collect();
    assert!((1..=3).contains(&entries.len()), "one per peer and minute: {audit}");
    let counted: u64 = entries.iter().map(|entry| entry["after"]["count"].as_u64().unwrap()).sum();
    assert_eq!(counted, 29, "{audit}");
    assert!(!audit.to_string().contains("127.0.0.1"), "no address is written down");
}

#[test]
fn attack_62_a_short_owner_token_is_refused_at_start() {
    let folder = tempfile::tempdir().unwrap();
    let ended =
        Launch::new(PROGRAM, folder.path()).variable("SLUICEGATE_ADMIN_TOKEN", "nineteen-characters").run();
    assert_eq!(ended.status, Some(1), "{}", ended.said);
    assert!(
        ended.said.contains("SLUICEGATE_ADMIN_TOKEN") && ended.said.contains("20 characters"),
        "{}",
        ended.said
    );
    assert!(!ended.said.contains("nineteen-characters"), "{}", ended.said);
}

#[test]
fn attack_63_a_small_role_opens_nothing_more_and_a_revoked_token_nothing_at_all() {
    let bed = Bed::start(PLANS);
    let (id, metrics) = token(&bed, &json!({"name": "prometheus", "role": "metrics"}));
    assert_eq!(admin_with(&bed, &metrics, "/metrics").status, 200);
    assert_eq!(admin_with(&bed, &metrics, "/admin/v1/accounts").status, 403);
    assert_eq!(admin_with(&bed, &metrics, "/admin/v1/tokens").status, 403);
    let revoked = bed.admin(Asked::new("DELETE", &format!("/admin/v1/tokens/{id}")));
    assert_eq!(revoked.status, 204, "{}", revoked.text());
    assert_eq!(admin_with(&bed, &metrics, "/metrics").status, 401);
}

/// Asks for a decision with these headers.
fn check_with(bed: &Bed, headers: &[(&str, &str)], body: &Value) -> Answer {
    let asked = headers.iter().fold(check(body), |asked, (name, value)| asked.header(name, value));
    Caller::new(bed.server.decision()).send(&asked).unwrap()
}

/// A server whose decision port is open to other machines.
fn off_loopback(policy: &str) -> Bed {
    let folder = tempfile::tempdir().unwrap();
    let launch = launch_with_decision(folder.path(), "0.0.0.0:0").policy(policy);
    Bed::launched(launch, folder)
}

/// A server whose decision port is at this address.
pub(super) fn launch_with_decision(folder: &Path, decision: &str) -> Launch {
    Launch::bare(PROGRAM, folder)
        .variable("SLUICEGATE_ADMIN_TOKEN", ADMIN_TOKEN)
        .arg("--gateway")
        .arg("127.0.0.1:0")
        .arg("--decision")
        .arg(decision)
        .arg("--admin")
        .arg("127.0.0.1:0")
        .arg("--ready-file")
        .arg(folder.join("ready.json"))
        .arg("--data-dir")
        .arg(folder.join("data"))
}

#[test]
fn attack_64_a_decision_port_off_loopback_needs_a_token_unless_the_policy_opens_it() {
    let bed = off_loopback(PLANS);
    let key = bed.customer("acme", "free");
    let port = bed.server.decision().port();
    let ask = |headers: &[(&str, &str)]| {
        let asked = headers
            .iter()
            .fold(check(&json!({"key": key})), |asked, (name, value)| asked.header(name, value));
        Caller::new(([127, 0, 0, 1], port).into()).send(&asked).unwrap()
    };
    assert_eq!(ask(&[]).status, 401);
    let (id, decide) = token(&bed, &json!({"name": "caddy", "role": "decide"}));
    let (_, read) = token(&bed, &json!({"name": "anna", "role": "read"}));
    let (bearer, wrong_role) = (format!("Bearer {decide}"), format!("Bearer {read}"));
    assert_eq!(ask(&[("Authorization", &bearer)]).status, 200);
    assert_eq!(ask(&[("X-Sluicegate-Token", &decide)]).status, 200);
    assert_eq!(ask(&[("Authorization", &wrong_role)]).status, 403);
    assert_eq!(
        ask(&[("Authorization", "Bearer sgt_000000000000_00000000000000000000000000000000000000")]).status,
        401
    );
    // On forward-auth `Authorization` is the caller's.
    let forward = |headers: &[(&str, &str)]| {
        let asked = headers
            .iter()
            .fold(Asked::get("/v1/forward-auth"), |asked, (name, value)| asked.header(name, value));
        let asked = asked.header("X-Forwarded-Method", "GET").header("X-Forwarded-Uri", "/");
        Caller::new(([127, 0, 0, 1], port).into()).send(&asked).unwrap().status
    };
    let caller = format!("Bearer {key}");
    assert_eq!(forward(&[("Authorization", &caller)]), 401);
    assert_eq!(forward(&[("Authorization", &caller), ("X-Sluicegate-Token", &decide)]), 200);
    assert_eq!(bed.admin(Asked::new("DELETE", &format!("/admin/v1/tokens/{id}"))).status, 204);
    assert_eq!(ask(&[("Authorization", &bearer)]).status, 401);
    assert_eq!(Caller::new(([127, 0, 0, 1], port).into()).send(&Asked::get("/health")).unwrap().status, 200);
    let opened = off_loopback(&format!("server: {{decision_auth: none}}\n{PLANS}"));
    let port = opened.server.decision().port();
    let asked = check(&json!({"key": opened.customer("acme", "free")}));
    assert_eq!(Caller::new(([127, 0, 0, 1], port).into()).send(&asked).unwrap().status, 200);
}

#[test]
fn attack_65_a_page_in_a_browser_cannot_ask_for_decisions() {
    let bed = Bed::start(PLANS);
    let key = bed.customer("acme", "free");
    let body = json!({"key": key});
    assert_eq!(check_with(&bed, &[], &body).status, 200);
    let crossing = check_with(&bed, &[("Origin", "https://evil.example")], &body);
    assert_eq!((crossing.status, crossing.json()["error"].as_str()), (403, Some("cross_origin")));
    // What a page may send without asking first is not read: forms, and bodies without a type.
    for kind in [None, Some("text/plain"), Some("application/x-www-form-urlencoded")] {
        let asked = Asked::new("POST", "/v1/check").body(body.to_string());
        let asked = kind.map_or(asked.clone(), |kind| asked.header("Content-Type", kind));
        assert_eq!(Caller::new(bed.server.decision()).send(&asked).unwrap().status, 415, "{kind:?}");
    }
    assert_eq!(bed.used("acme", "quota"), 1);
}
