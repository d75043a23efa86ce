//! Bodies and paths that make no sense: each is a refusal that names what is wrong, and nothing else happens.

use serde_json::{Value, json};
use sluicegate_testkit::http::{Asked, Caller};

use crate::bed::Bed;

const POLICY: &str = "tiers: {pro: {rate: 1_000, quota: 1_000_000}}";

/// A body, and what is answered: the status, and the field that is named.
type Case<'c> = (&'c [u8], u16, Option<&'c str>);

const CHECKS: [Case<'_>; 31] = [
    (b"", 400, None),
    (b"{", 400, None),
    (b"{\"key\"", 400, None),
    (b"[]", 400, None),
    (b"null", 400, None),
    (b"\"key\"", 400, None),
    (b"17", 400, None),
    (b"{} {}", 400, None),
    (b"{\"key\":\"\xff\xfe\"}", 400, None),
    (b"\xef\xbb\xbf{}", 400, None),
    (b"{\"key\":5}", 400, Some("key")),
    (b"{\"key\":[\"a\"]}", 400, Some("key")),
    (b"{\"kee\":\"a\"}", 400, Some("kee")),
    (b"{\"key\":\"a\",\"key\":\"b\"}", 400, Some("key")),
    (b"{\"key\":\"a\",\"service_token\":\"b\"}", 400, Some("service_token")),
    (b"{\"cost\":0}", 400, Some("cost")),
    (b"{\"cost\":-1}", 400, Some("cost")),
    (b"{\"cost\":1.5}", 400, Some("cost")),
    (b"{\"cost\":\"7\"}", 400, Some("cost")),
    (b"{\"cost\":1e400}", 400, None),
    (b"{\"cost\":99999999999999999999999999}", 400, Some("cost")),
    (b"{\"cost\":18446744073709551615}", 400, Some("cost")),
    (b"{\"hold\":\"yes\"}", 400, Some("hold")),
    (b"{\"peek\":1}", 400, Some("peek")),
    (b"{\"method\":\"G T\"}", 400, Some("method")),
    (b"{\"path\":\"hello\"}", 400, Some("path")),
    (b"{\"path\":\"/a/../b\"}", 400, Some("path")),
    (b"{\"idempotency_key\":\"\"}", 400, Some("idempotency_key")),
    (b"{\"client\":{\"ip\":\"999.1.1.1\"}}", 400, Some("client.ip")),
    (b"{\"client\":{\"headers\":{\"a b\":\"c\"}}}", 400, Some("client.headers.a b")),
    (b"{\"client\":{\"headers\":{\"accept\":\"a\\nb\"}}}", 400, Some("client.headers.accept")),
];

const BATCHES: [Case<'_>; 5] = [
    (b"{}", 400, Some("checks")),
    (b"{\"checks\":{}}", 400, Some("checks")),
    (b"{\"checks\":[1]}", 400, Some("checks[0]")),
    (b"{\"checks\":[{},{\"cost\":\"x\"}]}", 400, Some("checks[1].cost")),
    (b"{\"check\":[]}", 400, Some("check")),
];

const FINISHES: [Case<'_>; 5] = [
    (b"{}", 400, Some("permit")),
    (b"{\"permit\":7}", 400, Some("permit")),
    (b"{\"permit\":\"nobody's\"}", 404, None),
    (b"{\"permit\":\"a\",\"status\":99}", 400, Some("status")),
    (b"{\"permit\":\"a\",\"cost\":-1}", 400, Some("cost")),
];

const ACCOUNTS: [Case<'_>; 11] = [
    (b"", 400, None),
    (b"{", 400, None),
    (b"\xff", 400, None),
    (b"[]", 422, None),
    (b"{}", 422, Some("name")),
    (b"{\"name\":7,\"tier\":\"pro\"}", 422, Some("name")),
    (b"{\"name\":\"a\",\"tier\":\"por\"}", 422, Some("tier")),
    (b"{\"name\":\"a\",\"tier\":\"pro\",\"id\":\"a/b\"}", 422, Some("id")),
    (b"{\"name\":\"a\",\"tier\":\"pro\",\"billing_day\":32}", 422, Some("billing_day")),
    (b"{\"name\":\"a\",\"tier\":\"pro\",\"timezone\":\"Mars/Olympus\"}", 422, Some("timezone")),
    (b"{\"name\":\"a\",\"tier\":\"pro\",\"colour\":\"red\"}", 422, Some("colour")),
];

#[test]
fn every_body_that_makes_no_sense_is_refused_by_the_name_of_its_field() {
    let bed = Bed::start(POLICY);
    let mut wrong = Vec::new();
    let apis = [
        ("/v1/check", &CHECKS[..]),
        ("/v1/check/batch", &BATCHES),
        ("/v1/finish", &FINISHES),
        ("/admin/v1/accounts", &ACCOUNTS),
    ];
    for (path, cases) in apis {
        for (body, status, field) in cases {
            let asked = Asked::new("POST", path).header("Content-Type", "application/json").body(*body);
            let answer = if path.starts_with("/admin") {
                bed.admin(asked)
            } else {
                Caller::new(bed.server.decision()).send(&asked).unwrap()
            };
            let named = answer.json()["field"].as_str().map(str::to_owned);
            let kind = answer.header("content-type");
            if (answer.status, named.as_deref(), kind) != (*status, *field, Some("application/problem+json"))
            {
                let body = String::from_utf8_lossy(body);
                wrong.push(format!("{path} {body}: {} {}", answer.status, answer.text()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(bed.get("/admin/v1/accounts")["items"], json!([]));
}

#[test]
fn bodies_too_deep_too_many_or_of_another_kind_are_refused() {
    let bed = Bed::start(POLICY);
    let deep = format!("{{\"client\":{}", "[".repeat(200_000));
    let many = json!({"checks": vec![json!({}); 1_001]}).to_string();
    let of_kind =
        |kind: &str, body: &str| Asked::new("POST", "/v1/check").header("Content-Type", kind).body(body);
    let json_kind = "application/json";
    let batch = Asked::new("POST", "/v1/check/batch").header("Content-Type", json_kind).body(many);
    let cases = [
        (of_kind(json_kind, &deep), 400),
        (of_kind("text/plain", "{}"), 415),
        (Asked::new("POST", "/v1/check").body("{}"), 415),
        (batch, 400),
        (Asked::get("/v1/check"), 405),
        (Asked::new("BREW", "/v1/check"), 405),
        (Asked::get("/v1/chek"), 404),
        (Asked::get("/v1/forward-auth?dialect=apache"), 400),
        (Asked::get("/v1/forward-auth"), 400),
    ];
    for (asked, status) in cases {
        let answer = Caller::new(bed.server.decision()).send(&asked).unwrap();
        assert_eq!(answer.status, status, "{}", answer.text());
        assert_eq!(answer.header("content-type"), Some("application/problem+json"));
    }
    // Nobody is told what is there without the token.
    for path in ["/admin/v1/accounts", "/admin/v1/nothing", "/metrics"] {
        let answer = Caller::new(bed.server.admin()).send(&Asked::get(path)).unwrap();
        assert_eq!((answer.status, answer.header("www-authenticate")), (401, Some("Bearer")), "{path}");
    }
}

#[test]
fn costs_beyond_reason_charge_nothing() {
    let bed = Bed::start(POLICY);
    let key = bed.customer("acme", "pro");
    for cost in [1_001u64, 1 << 40, (1 << 53) - 1] {
        let answer = bed.check(&json!({"key": key, "cost": cost}));
        let (status, answer) = (answer.status, answer.json());
        // Larger than any limit can be is no cost at all.
        let refused = status == 400 && answer["field"] == "cost";
        assert!(refused || answer["error"] == "cost_exceeds_limit", "{cost}: {answer}");
    }
    assert_eq!(bed.used("acme", "quota"), 0);
    let admitted: Value = bed.check(&json!({"key": key, "cost": 1_000})).json();
    assert_eq!(admitted["allowed"], true, "{admitted}");
}
