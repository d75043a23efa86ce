//! Blocks: made, listed, lifted, and obeyed.

use http::HeaderMap;
use serde_json::{Value, json};
use sluicegate_engine::identify::ClientId;
use sluicegate_engine::{Answer, CallerRequest, Credential, Decision, ErrorCode, Front, Hold, Purpose};

use crate::golden;
use crate::place::Place;

pub(crate) const BLOCKS: &str = "/admin/v1/blocks";
const CLIENT: &str = "cl_0f1e2d3c4b5a69788796a5b4c3d2e1f0";

/// Decides on a request with this credential, from one address.
pub(crate) fn decide(place: &Place, credential: Credential<'_>) -> Decision {
    let request = CallerRequest {
        credential,
        address: Some([203, 0, 113, 9].into()),
        method: "GET",
        path: "/",
        cost: None,
        idempotency_key: None,
        purpose: Purpose::Charge,
        hold: Hold::IfNeeded,
        front: Front::Decision,
    };
    place.engine.decide(&request, place.engine.now())
}

pub(crate) fn error_of(decision: &Decision) -> Option<ErrorCode> {
    match &decision.answer {
        Answer::Denied(denial) => Some(denial.error),
        _ => None,
    }
}

fn block(place: &Place, body: &Value) -> Value {
    place.json("POST", BLOCKS, body).expect(201)
}

#[test]
fn a_client_is_blocked_for_as_long_as_was_said() {
    let place = Place::new();
    let body = json!({"client": CLIENT, "for": "10m", "reason": " scrapes "});
    let reply = place.json("POST", BLOCKS, &body);
    let made = reply.expect(201);
    golden::check_json("block.json", &reply.text);
    assert_eq!(place.get(BLOCKS).expect(200), json!({"items": [made], "next": null}));
    place.later(599);
    assert_eq!(place.get(BLOCKS).expect(200)["items"][0]["id"], CLIENT);
    place.later(600);
    assert_eq!(place.get(BLOCKS).expect(200)["items"], json!([]));
}

#[test]
fn a_block_replaces_the_one_that_was_there() {
    let place = Place::new();
    block(&place, &json!({"client": CLIENT, "for": "1d"}));
    place.later(1);
    let made = block(&place, &json!({"client": CLIENT}));
    assert_eq!(made["until"], "2026-10-05T13:00:01.000Z");
    assert_eq!(place.get(BLOCKS).expect(200)["items"], json!([made]));
}

#[test]
fn a_blocked_key_is_refused_until_its_block_is_lifted() {
    let place = Place::new();
    place.account("acme", "pro");
    let ((id, secret), (_, other)) = (place.key("acme"), place.key("acme"));
    let refused = |secret: &str| error_of(&decide(&place, Credential::Key(secret)));
    assert_eq!(refused(&secret), None);
    let made = block(&place, &json!({"key": id}));
    assert_eq!(made["kind"], "key");
    assert_eq!((refused(&secret), refused(&other)), (Some(ErrorCode::Blocked), None));
    place.bare("DELETE", &format!("{BLOCKS}/{id}")).expect_nothing();
    assert_eq!(refused(&secret), None);
    // The id that the list has is as good.
    block(&place, &json!({"key": id}));
    let listed = place.get(BLOCKS).expect(200)["items"][0]["id"].as_str().unwrap().to_owned();
    place.bare("DELETE", &format!("{BLOCKS}/{listed}")).expect_nothing();
    assert_eq!(refused(&secret), None);
}

#[test]
fn a_block_is_lifted_once() {
    let place = Place::new();
    for path in [format!("{BLOCKS}/{CLIENT}"), format!("{BLOCKS}?client={CLIENT}")] {
        block(&place, &json!({"client": CLIENT}));
        place.bare("DELETE", &path).expect_nothing();
        place.bare("DELETE", &path).problem(404, "not_found", None);
    }
    for nobody in ["nobody", "4fVZ8pQ2mX0c", "cl_0F1E2D3C4B5A69788796A5B4C3D2E1F0"] {
        place.bare("DELETE", &format!("{BLOCKS}/{nobody}")).problem(404, "not_found", None);
    }
    for query in ["", "?client=a&client=b", "?caller=a"] {
        place.bare("DELETE", &format!("{BLOCKS}{query}")).problem(400, "invalid_query", Some("client"));
    }
}

#[test]
fn what_is_wrong_with_a_block_names_its_field() {
    let place = Place::new();
    let cases = [
        ("client", json!({})),
        ("client", json!({"client": "cl_1"})),
        ("client", json!({"client": 7})),
        ("key", json!({"client": CLIENT, "key": "4fVZ8pQ2mX0c"})),
        ("key", json!({"key": "acme"})),
        ("for", json!({"client": CLIENT, "for": "0s"})),
        ("for", json!({"client": CLIENT, "for": "366d"})),
        ("for", json!({"client": CLIENT, "for": "soon"})),
        ("reason", json!({"client": CLIENT, "reason": ""})),
        ("reason", json!({"client": CLIENT, "reason": "a\nb"})),
        ("reason", json!({"client": CLIENT, "reason": "a".repeat(201)})),
        ("until", json!({"client": CLIENT, "until": "tomorrow"})),
    ];
    for (field, body) in cases {
        place.json("POST", BLOCKS, &body).problem(422, "invalid_field", Some(field));
    }
    place.json("POST", BLOCKS, &json!({"key": "4fVZ8pQ2mX0c"})).problem(404, "not_found", None);
    assert_eq!(place.get(BLOCKS).expect(200)["items"], json!([]));
}

#[test]
fn a_list_goes_on_where_the_page_before_ended() {
    let place = Place::new();
    let mut clients: Vec<String> = (0..7_u128)
        .map(|number| ClientId(sluicegate_core::plan::HomeId(number << 120 | 5)).to_string())
        .collect();
    for client in &clients {
        block(&place, &json!({"client": client}));
    }
    let (mut seen, mut path) = (Vec::new(), format!("{BLOCKS}?limit=3"));
    loop {
        let page = place.get(&path).expect(200);
        let items = page["items"].as_array().unwrap();
        seen.extend(items.iter().map(|item| item["id"].as_str().unwrap().to_owned()));
        let Some(next) = page["next"].as_str() else { break };
        assert_eq!(items.len(), 3);
        path = format!("{BLOCKS}?limit=3&cursor={next}");
    }
    clients.sort();
    assert_eq!(seen, clients);
    place.get(&format!("{BLOCKS}?cursor=c1")).problem(400, "invalid_query", Some("cursor"));
    place.get(&format!("{BLOCKS}?limit=0")).problem(400, "invalid_query", Some("limit"));
}

#[test]
fn what_was_blocked_and_lifted_is_in_the_audit_trail() {
    let place = Place::new();
    block(&place, &json!({"client": CLIENT, "reason": "scrapes"}));
    place.bare("DELETE", &format!("{BLOCKS}/{CLIENT}")).expect_nothing();
    place.bare("DELETE", &format!("{BLOCKS}/{CLIENT}")).problem(404, "not_found", None);
    let entries = place.get("/admin/v1/audit").expect(200);
    let [lifted, blocked] = entries["items"].as_array().unwrap().as_slice() else { panic!("two entries") };
    assert_eq!((&blocked["action"], &lifted["action"]), (&json!("block.create"), &json!("block.delete")));
    assert_eq!((&blocked["target"], &blocked["before"]), (&json!(CLIENT), &Value::Null));
    assert_eq!(blocked["after"]["reason"], "scrapes");
    assert_eq!((&lifted["before"], &lifted["after"]), (&blocked["after"], &Value::Null));
}

#[test]
fn a_client_that_is_refused_again_and_again_is_in_the_list() {
    let place = Place::new();
    let headers = HeaderMap::new();
    let nothing = || Credential::Nothing { headers: &headers };
    let decisions: Vec<_> = (0..40).map(|_| decide(&place, nothing())).collect();
    let last = decisions.last().unwrap();
    assert_eq!(error_of(last), Some(ErrorCode::Blocked));
    let listed = place.get(BLOCKS).expect(200);
    let block = &listed["items"][0];
    assert_eq!(
        (&block["origin"], &block["reason"], &block["kind"]),
        (&json!("automatic"), &Value::Null, &json!("client"))
    );
    place.bare("DELETE", &format!("{BLOCKS}/{}", block["id"].as_str().unwrap())).expect_nothing();
    assert_eq!(error_of(&decide(&place, nothing())), Some(ErrorCode::RateLimited));
}
