//! Signed tokens that are not what they say, and keys in the wrong hands.

use serde_json::json;
use sluicegate_testkit::http::Caller;
use sluicegate_testkit::jwt::{Signer, hs256, jwks, unsigned};

use crate::bed::Bed;
use crate::jwks::{Provider, bearer, becomes, claims};

fn bed(signers: &[&Signer]) -> Bed {
    let bed = Bed::start(&Provider::start(jwks(signers)).policy());
    bed.account("acme", "pro");
    becomes(&bed, &signers[0].token(&claims(&json!({}))), 200);
    bed
}

fn refused(bed: &Bed, token: &str) {
    let answer = bed.gateway(&bearer(token));
    assert_eq!((answer.status, answer.json()["error"].clone()), (403, json!("invalid_key")));
}

#[test]
fn attack_33_a_token_that_nobody_signed_is_none() {
    let signer = Signer::eddsa("one");
    let bed = bed(&[&signer]);
    refused(&bed, &unsigned(&claims(&json!({}))));
    let empty = signer.token(&claims(&json!({})));
    let (signed, _) = empty.rsplit_once('.').unwrap();
    refused(&bed, &format!("{signed}."));
}

#[test]
fn attack_34_a_public_key_is_no_secret_that_signs() {
    let signer = Signer::rs256("one");
    let bed = bed(&[&signer]);
    for secret in [signer.public(), signer.jwk()["n"].as_str().unwrap().as_bytes().to_vec()] {
        refused(&bed, &hs256(&json!({"alg": "HS256", "kid": "one"}), &claims(&json!({})), &secret));
        refused(&bed, &hs256(&json!({"alg": "RS256", "kid": "one"}), &claims(&json!({})), &secret));
    }
}

#[test]
fn attack_35_a_token_for_another_service_opens_nothing() {
    let signer = Signer::es256("one");
    let bed = bed(&[&signer]);
    refused(&bed, &signer.token(&claims(&json!({"aud": "another"}))));
    refused(&bed, &signer.token(&claims(&json!({"iss": "https://login.test.evil.test"}))));
}

#[test]
fn attack_36_a_token_ends_when_it_says() {
    let signer = Signer::es256("one");
    let bed = bed(&[&signer]);
    refused(&bed, &signer.token(&claims(&json!({"exp": 1_700_000_000}))));
    refused(&bed, &signer.token(&claims(&json!({"nbf": 4_102_444_799_u64}))));
}

#[test]
fn attack_37_the_name_of_a_key_does_not_say_what_it_is() {
    let (rsa, curve) = (Signer::rs256("one"), Signer::eddsa("two"));
    let bed = bed(&[&rsa, &curve]);
    refused(&bed, &curve.token_with(&json!({"alg": "EdDSA", "kid": "one"}), &claims(&json!({}))));
    refused(&bed, &curve.token_with(&json!({"alg": "RS256", "kid": "one"}), &claims(&json!({}))));
    let evil = Signer::eddsa("evil");
    let header = json!({"alg": "EdDSA", "kid": "two", "jwk": evil.jwk()});
    refused(&bed, &evil.token_with(&header, &claims(&json!({}))));
}

#[test]
fn attack_38_a_stolen_key_is_refused_from_other_addresses_and_pages() {
    let bed = Bed::start("tiers: {pro: {rate: 100}}");
    bed.account("acme", "pro");
    let office = bed.key_with("acme", &json!({"allowed_ips": ["127.0.0.2/32"]})).key;
    let asked = bearer(&office).header("X-Forwarded-For", "127.0.0.2");
    let stolen = bed.gateway(&asked);
    assert_eq!((stolen.status, stolen.json()["error"].clone()), (403, json!("address_not_allowed")));
    let mut own = Caller::from("127.0.0.2".parse().unwrap(), bed.server.gateway());
    assert_eq!(own.send(&asked).unwrap().status, 200);
    let web = bed.key_with("acme", &json!({"allowed_origins": ["https://app.test"]})).key;
    assert_eq!(bed.gateway(&bearer(&web).header("Origin", "https://app.test")).status, 200);
    for origin in ["https://app.test.evil.test", "null", "https://app.test, https://evil.test"] {
        let answer = bed.gateway(&bearer(&web).header("Origin", origin));
        assert_eq!((answer.status, answer.json()["error"].clone()), (403, json!("origin_not_allowed")));
    }
    let checked =
        bed.check(&json!({"key": web, "client": {"headers": {"origin": "https://app.test"}}})).json();
    assert_eq!(checked["allowed"], true, "{checked}");
}

#[test]
fn attack_39_a_made_up_secret_revokes_nobody() {
    let bed = Bed::start("tiers: {pro: {rate: 100}}");
    bed.account("acme", "pro");
    let (victim, leaked) = (bed.key_with("acme", &json!({})), bed.key_with("acme", &json!({})));
    // The id of one key and the secret of another, with a checksum that is right: the old secret of a rotated key.
    let rotated = bed.post(&format!("/admin/v1/keys/{}/rotate", victim.id), &json!({"overlap": "0s"})).json();
    let now = rotated["key"].as_str().unwrap().to_owned();
    let list = json!({"keys": [victim.key, leaked.key, "AAAAAAAAAAAA", "not a key"]});
    let answer = bed.post("/admin/v1/keys/revoke", &list);
    let (text, done) = (answer.text(), answer.json());
    assert_eq!(done["revoked"], json!([leaked.id]), "{text}");
    assert_eq!((&done["other_secret"], &done["unknown"]), (&json!([victim.id]), &json!([2, 3])), "{text}");
    assert_eq!((bed.gateway(&bearer(&now)).status, bed.gateway(&bearer(&leaked.key)).status), (200, 403));
    for secret in [&victim.key, &leaked.key, &now] {
        assert!(!text.contains(secret.as_str()) && !bed.server.said().contains(secret.as_str()));
    }
}
