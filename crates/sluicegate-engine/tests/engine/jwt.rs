//! Signed tokens in the place of keys: who they stand for, and which are refused. The clock stands still.

use serde_json::{Value, json};
use sluicegate_core::policy::JwksSource;
use sluicegate_core::time::Timestamp;
use sluicegate_engine::jwt::{BadKeySet, KeySet};
use sluicegate_engine::{CallerRequest, Credential};
use sluicegate_testkit::jwt::{Signer, hs256, jwks, unsigned};

use crate::place::{NOW, Place, answer, at, request};

const POLICY: &str = "
identity:
  jwt: {jwks: file:/keys.json, issuer: https://login.test, audience: api, account: org, tier: plan, scopes: scope}
tiers:
  pro: {quota: 3}
  free: {quota: 1}
  internal: {bypass: true}
routes:
  write: {match: POST /write, scope: 'doc:write'}
";

fn source() -> JwksSource {
    JwksSource::File("/keys.json".into())
}

fn place(signers: &[&Signer]) -> Place {
    let place = Place::new(POLICY);
    place.account("acme", "pro");
    install(&place, signers, NOW);
    place
}

fn install(place: &Place, signers: &[&Signer], now: Timestamp) {
    let keys = KeySet::parse(jwks(signers).as_bytes()).unwrap();
    place.engine.tokens().install(source(), keys, now);
}

/// Good claims, with these in their place.
fn claims(other: &Value) -> Value {
    let mut claims = json!({
        "iss": "https://login.test", "aud": ["other", "api"], "org": "acme",
        "exp": NOW.as_secs() + 300, "nbf": NOW.as_secs() - 10, "iat": NOW.as_secs(),
    });
    for (name, value) in other.as_object().unwrap() {
        claims[name] = value.clone();
    }
    claims
}

fn said(place: &Place, token: &str) -> String {
    answer(&place.ask(&request(token), NOW))
}

#[test]
fn a_token_of_each_algorithm_is_its_account_whose_limits_hold() {
    let signers = [Signer::rs256("r"), Signer::es256("e"), Signer::eddsa("d")];
    let place = place(&signers.each_ref());
    for signer in &signers {
        let token = signer.token(&claims(&json!({})));
        let decision = place.ask(&request(&token), NOW);
        assert_eq!(answer(&decision), "200", "{}", signer.algorithm());
        assert_eq!(decision.account.unwrap().id.as_str(), "acme");
    }
    // All of them are one account: its quota of three is spent.
    assert_eq!(said(&place, &signers[0].token(&claims(&json!({})))), "402 quota_exceeded");
}

#[test]
fn claims_that_are_not_for_us_are_refused() {
    let signer = Signer::eddsa("d");
    let place = place(&[&signer]);
    let wrong = [
        json!({"iss": "https://evil.test"}),
        json!({"iss": null}),
        json!({"aud": "another"}),
        json!({"aud": []}),
        json!({"aud": null}),
        json!({"exp": NOW.as_secs() - 61}),
        json!({"exp": null}),
        json!({"exp": "soon"}),
        json!({"nbf": NOW.as_secs() + 61}),
        json!({"nbf": "now"}),
        json!({"iat": NOW.as_secs() + 61}),
        json!({"org": null}),
        json!({"org": ""}),
        json!({"org": ["acme"]}),
        json!({"org": "nobody"}),
    ];
    for other in wrong {
        assert_eq!(said(&place, &signer.token(&claims(&other))), "403 invalid_key", "{other}");
    }
    // Within the leeway of a minute.
    for other in
        [json!({"exp": NOW.as_secs() - 59}), json!({"nbf": NOW.as_secs() + 59}), json!({"aud": "api"})]
    {
        assert_eq!(said(&place, &signer.token(&claims(&other))), "200", "{other}");
    }
}

#[test]
fn a_token_that_was_verified_ends_all_the_same() {
    let signer = Signer::eddsa("d");
    let place = place(&[&signer]);
    let token = signer.token(&claims(&json!({})));
    assert_eq!(said(&place, &token), "200");
    assert_eq!(answer(&place.ask(&request(&token), at(359))), "200");
    assert_eq!(answer(&place.ask(&request(&token), at(360))), "403 invalid_key");
}

#[test]
fn no_token_chooses_how_it_is_verified() {
    let (rsa, point, curve) = (Signer::rs256("r"), Signer::es256("e"), Signer::eddsa("d"));
    let place = place(&[&rsa, &point, &curve]);
    let good = claims(&json!({}));
    assert_eq!(said(&place, &unsigned(&good)), "403 invalid_key");
    for signer in [&rsa, &point, &curve] {
        for algorithm in ["HS256", "none", "None", "RS512", "PS256", "ES384", "rs256", ""] {
            let header = json!({"alg": algorithm, "kid": signer.id});
            assert_eq!(
                said(&place, &hs256(&header, &good, &signer.public())),
                "403 invalid_key",
                "{algorithm}"
            );
            assert_eq!(said(&place, &signer.token_with(&header, &good)), "403 invalid_key", "{algorithm}");
        }
        // The name of a key of another type.
        for other in [&rsa, &point, &curve].into_iter().filter(|other| other.id != signer.id) {
            let header = json!({"alg": signer.algorithm(), "kid": other.id});
            assert_eq!(said(&place, &signer.token_with(&header, &good)), "403 invalid_key");
            let header = json!({"alg": other.algorithm(), "kid": other.id});
            assert_eq!(said(&place, &signer.token_with(&header, &good)), "403 invalid_key");
        }
    }
    let header = |more: Value| {
        let mut header = json!({"alg": "EdDSA", "kid": "d"});
        header.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        curve.token_with(&header, &good)
    };
    assert_eq!(said(&place, &header(json!({"crit": ["b64"], "b64": false}))), "403 invalid_key");
    assert_eq!(said(&place, &header(json!({"typ": "logout+jwt"}))), "403 invalid_key");
    // A key that the token brings along is nobody's.
    let evil = Signer::eddsa("evil");
    let brought = json!({"alg": "EdDSA", "kid": "evil", "jwk": evil.jwk()});
    assert_eq!(said(&place, &evil.token_with(&brought, &good)), "403 invalid_key");
    let linked = json!({"alg": "EdDSA", "kid": "d", "jku": "https://evil.test/jwks.json"});
    assert_eq!(said(&place, &evil.token_with(&linked, &good)), "403 invalid_key");
    assert_eq!(said(&place, &header(json!({"typ": "at+jwt"}))), "200");
}

#[test]
fn what_is_cut_or_changed_or_too_long_is_no_token() {
    let signer = Signer::es256("e");
    let place = place(&[&signer]);
    let good = signer.token(&claims(&json!({})));
    let (signed, signature) = good.rsplit_once('.').unwrap();
    let forged = signer.token(&claims(&json!({"org": "globex"})));
    let (other, _) = forged.rsplit_once('.').unwrap();
    let long = signer.token(&claims(&json!({"filler": "x".repeat(9_000)})));
    for wrong in [
        signed.to_owned(),
        format!("{signed}."),
        format!("{signed}.{signature}A"),
        format!("{signed}.{}", &signature[1..]),
        format!("{other}.{signature}"),
        format!("{good}.{signature}"),
        ".".to_owned(),
        "..".to_owned(),
        long,
    ] {
        assert_eq!(said(&place, &wrong), "403 invalid_key", "{wrong}");
    }
    assert_eq!(said(&place, &good), "200");
}

#[test]
fn keys_for_other_purposes_verify_nothing() {
    let signer = Signer::eddsa("d");
    let with = |field: &str, value: Value| {
        let mut key = signer.jwk();
        key[field] = value;
        KeySet::parse(json!({"keys": [key]}).to_string().as_bytes())
    };
    for (field, value) in [
        ("use", json!("enc")),
        ("alg", json!("ES256")),
        ("alg", json!("HS256")),
        ("key_ops", json!(["sign"])),
        ("crv", json!("X25519")),
        ("kty", json!("oct")),
        ("kty", json!("RSA")),
        ("x", json!("AAAA")),
    ] {
        assert!(with(field, value.clone()).unwrap().is_empty(), "{field} {value}");
    }
    assert!(!with("key_ops", json!(["verify"])).unwrap().is_empty());
    // A provider withdraws its last key so.
    assert!(KeySet::parse(b"{\"keys\": []}").unwrap().is_empty());
    let many: Vec<Value> = (0..65).map(|_| signer.jwk()).collect();
    assert_eq!(KeySet::parse(json!({"keys": many}).to_string().as_bytes()), Err(BadKeySet::TooMany));
    for junk in ["", "[]", "{}", "{\"keys\": 1}"] {
        assert_eq!(KeySet::parse(junk.as_bytes()), Err(BadKeySet::Form), "{junk}");
    }
}

#[test]
fn keys_are_rotated_and_one_that_is_withdrawn_ends_its_tokens_at_once() {
    let (old, new) = (Signer::es256("old"), Signer::es256("new"));
    let place = place(&[&old]);
    let (before, after) = (old.token(&claims(&json!({}))), new.token(&claims(&json!({}))));
    assert_eq!((said(&place, &before), said(&place, &after)), ("200".into(), "403 invalid_key".into()));
    install(&place, &[&old, &new], NOW);
    assert_eq!((said(&place, &before), said(&place, &after)), ("200".into(), "200".into()));
    install(&place, &[&new], NOW);
    assert_eq!(said(&place, &before), "403 invalid_key");
}

#[test]
fn the_last_keys_are_used_for_a_day_and_no_longer() {
    let signer = Signer::eddsa("d");
    let place = place(&[&signer]);
    let token = signer.token(&claims(&json!({"exp": NOW.as_secs() + 1_000_000})));
    assert_eq!(answer(&place.ask(&request(&token), at(86_400))), "200");
    assert_eq!(answer(&place.ask(&request(&token), at(86_401))), "503 unavailable");
    install(&place, &[&signer], at(86_401));
    assert_eq!(answer(&place.ask(&request(&token), at(86_401))), "200");
}

#[test]
fn before_keys_are_fetched_nothing_is_known_of_a_token() {
    let place = Place::new(POLICY);
    let token = Signer::eddsa("d").token(&claims(&json!({})));
    assert_eq!(said(&place, &token), "503 unavailable");
    // Where no tokens are read, one is no key.
    let without = Place::new("tiers: {pro: {rate: 1}}");
    assert_eq!(said(&without, &token), "403 invalid_key");
}

#[test]
fn an_account_that_the_directory_does_not_know_has_the_tier_of_its_token() {
    let signer = Signer::eddsa("d");
    let place = place(&[&signer]);
    let token = |plan: &str| signer.token(&claims(&json!({"org": "globex", "plan": plan})));
    let decision = place.ask(&request(&token("free")), NOW);
    assert_eq!((answer(&decision).as_str(), decision.plan.unwrap().name.as_str()), ("200", "free"));
    assert_eq!(said(&place, &token("free")), "402 quota_exceeded");
    // Neither a bypass nor what was negotiated with another is a matter of claims.
    assert_eq!(said(&place, &token("internal")), "403 invalid_key");
    assert_eq!(said(&place, &token("custom:acme")), "403 invalid_key");
    // An account of the directory keeps the tier it has there.
    let known = signer.token(&claims(&json!({"plan": "free"})));
    assert_eq!(place.ask(&request(&known), NOW).plan.unwrap().name.as_str(), "pro");
}

#[test]
fn scopes_come_from_the_claim_and_no_token_has_all_of_them() {
    let signer = Signer::eddsa("d");
    let place = place(&[&signer]);
    let write = |scope: Value| {
        let token = signer.token(&claims(&json!({"scope": scope})));
        answer(&place.ask(&CallerRequest { method: "POST", path: "/write", ..request(&token) }, NOW))
    };
    assert_eq!(write(json!("openid doc:write")), "200");
    assert_eq!(write(json!(["https://x.test/a", "doc:write"])), "200");
    for lacking in [json!("openid"), json!("*"), json!(["*"]), json!(7), Value::Null] {
        assert_eq!(write(lacking.clone()), "403 insufficient_scope", "{lacking}");
    }
}

#[test]
fn a_token_and_a_key_in_one_request_are_no_choice() {
    let signer = Signer::eddsa("d");
    let place = place(&[&signer]);
    let key = place.key("acme", &[]).key;
    let token = signer.token(&claims(&json!({})));
    let headers: http::HeaderMap = [("authorization", format!("Bearer {token}")), ("x-api-key", key)]
        .into_iter()
        .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()))
        .collect::<Vec<(http::HeaderName, http::HeaderValue)>>()
        .into_iter()
        .collect();
    let both = CallerRequest { credential: Credential::Headers(&headers), ..request("") };
    assert_eq!(answer(&place.ask(&both, NOW)), "400 ambiguous_key");
}
