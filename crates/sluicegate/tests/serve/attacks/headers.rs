//! Headers that say two things, or what only Sluicegate may say.

use std::io::Write as _;

use serde_json::json;
use sluicegate_testkit::http::Asked;
use sluicegate_testkit::upstream::Upstream;
use sluicegate_testkit::wait;

use super::{THREE, admitted, forwarded};
use crate::bed::Bed;

#[test]
fn attack_05_spellings_of_a_key_share_its_meter_or_are_no_key() {
    let bed = Bed::start(THREE);
    let key = bed.customer("acme", "pro");
    let spellings = [key.clone(), format!("  {key}"), format!("{key}\t ")];
    assert_eq!(admitted(&bed, spellings.iter().map(|key| Asked::get("/").key(key))), 3);
    assert_eq!(admitted(&bed, [Asked::get("/").header("Authorization", &format!("bEaReR   {key}"))]), 0);
    assert_eq!(bed.gateway(&Asked::get("/").key(&key.to_uppercase())).status, 403);
}

#[test]
fn attack_06_two_keys_in_one_request_are_no_choice() {
    let bed = Bed::start(THREE);
    let (one, two) = (bed.customer("one", "pro"), bed.customer("two", "pro"));
    let twice = bed.gateway(&Asked::get("/").key(&one).key(&two));
    assert_eq!((twice.status, twice.json()["error"].as_str()), (400, Some("ambiguous_key")));
    let elsewhere = Asked::get("/").key(&one).header("Authorization", &format!("Bearer {two}"));
    assert_eq!(bed.gateway(&elsewhere).status, 400);
    let joined = bed.gateway(&Asked::get("/").key(&format!("{one}, {two}")));
    assert_eq!(joined.status, 403);
    assert_eq!((bed.used("one", "daily"), bed.used("two", "daily")), (0, 0));
}

#[test]
fn attack_07_an_underscore_is_no_hyphen() {
    let upstream = Upstream::start(|head, mut stream| {
        let length = head.len();
        let answer =
            format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{head}");
        let _ = stream.write_all(answer.as_bytes());
    });
    let bed =
        Bed::start(&THREE.replace("server: {", &format!("server: {{upstream: \"{}\", ", upstream.url())));
    let key = bed.customer("acme", "pro");
    let aliased = Asked::get("/").header("X_API_Key", &key).header("X_Forwarded_For", "203.0.113.5");
    let told = bed.gateway(&aliased).text();
    assert!(told.starts_with("GET / "), "{told}");
    // It is a caller without a key, and nothing of it goes on.
    assert_eq!(bed.used("acme", "daily"), 0);
    assert!(!told.contains("x_") && !told.contains("203.0.113.5"), "{told}");
    let ours = Asked::get("/").key(&key).header("X_Sluicegate_Account", "somebody-else");
    let told = bed.gateway(&ours).text();
    assert!(told.contains("acme") && !told.contains("somebody-else"), "{told}");
}

#[test]
fn attack_08_a_connection_header_strips_nothing_of_ours() {
    let bed = Bed::start(THREE);
    let key = bed.customer("acme", "pro");
    let hops = "X-Forwarded-For, X-API-Key, X-Sluicegate-Account, RateLimit-Limit";
    let answer = bed.gateway(&forwarded("203.0.113.8").key(&key).header("Connection", hops));
    assert_eq!(answer.status, 200);
    assert_eq!(answer.json()["headers"]["x-sluicegate-account"], "acme");
    assert!(answer.header("ratelimit-limit").is_some());
    // The caller is still the one behind the proxy.
    let nobody =
        |number: u8| forwarded(&format!("203.0.113.{number}")).header("Connection", "X-Forwarded-For");
    assert_eq!(admitted(&bed, (20..30).map(nobody)), 10);
}

#[test]
fn attack_09_nobody_says_who_it_is_but_sluicegate() {
    let bed = Bed::start(THREE);
    let key = bed.customer("acme", "pro");
    let asked = Asked::get("/")
        .key(&key)
        .header("X-Sluicegate-Account", "victim")
        .header("x-sluicegate-tier", "enterprise")
        .header("X-Sluicegate-Anything", "else");
    let told = bed.gateway(&asked).json();
    assert_eq!(told["headers"]["x-sluicegate-account"], "acme");
    assert_eq!(told["headers"]["x-sluicegate-tier"], "pro");
    assert!(told["headers"].get("x-sluicegate-anything").is_none());
}

#[test]
fn attack_18_no_refusal_is_kept_by_a_cache() {
    let bed = Bed::start(THREE);
    let key = bed.customer("acme", "pro");
    let refused = [(); 4].map(|()| bed.gateway(&Asked::get("/").key(&key)))[3].clone();
    assert_eq!((refused.status, refused.header("cache-control")), (429, Some("no-store")));
    let unknown = bed.gateway(&Asked::get("/").key("junk"));
    assert_eq!((unknown.status, unknown.header("cache-control")), (403, Some("no-store")));
}

#[test]
fn attack_19_no_name_breaks_a_header() {
    let bed = Bed::start(THREE);
    for id in ["a\r\nSet-Cookie: x=1", "a\nb", "a\0b", "a\"b"] {
        let made = bed.post("/admin/v1/accounts", &json!({"id": id, "name": "x", "tier": "pro"}));
        assert!((400..=422).contains(&made.status), "{id:?}: {}", made.status);
    }
    let tier = json!({"limits": {"a\r\nb": {"algorithm": "fixed_window", "limit": "3/day"}}});
    bed.account("acme", "pro");
    let put = Asked::new("PUT", "/admin/v1/accounts/acme/custom").json(&tier);
    assert_eq!(bed.admin(put).status, 422);
}

#[test]
fn attack_20_keys_that_are_not_valid_are_all_answered_alike() {
    let bed = Bed::start(THREE);
    bed.account("acme", "pro");
    let revoked = bed.key_with("acme", &json!({}));
    bed.admin(Asked::new("DELETE", &format!("/admin/v1/keys/{}", revoked.id)));
    let created: jiff::Timestamp = revoked.created_at.parse().unwrap();
    let end = created.saturating_add(jiff::SignedDuration::from_secs(3)).unwrap();
    let expired = bed.key_with("acme", &json!({"expires_at": end.to_string()}));
    wait::until("it expires", || {
        (bed.gateway(&Asked::get("/").key(&expired.key)).status == 403).then_some(())
    });
    let other = revoked.key.replace('_', "-");
    let answers = [revoked.key.as_str(), expired.key.as_str(), "sg_live_junk", other.as_str()].map(|key| {
        let answer = bed.gateway(&Asked::get("/").key(key));
        let mut body = answer.json();
        body.as_object_mut().unwrap().remove("decision_id");
        let names: Vec<String> = answer.headers.iter().map(|(name, _)| name.clone()).collect();
        (answer.status, body, names)
    });
    assert_eq!(answers[0].0, 403);
    assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
}
