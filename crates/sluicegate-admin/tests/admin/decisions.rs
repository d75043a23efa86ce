//! Why requests were refused, over the API.

use http::HeaderMap;
use serde_json::{Value, json};
use sluicegate_engine::{CallerRequest, Credential, Decision, Front, Hold, Purpose};

use crate::blocks::decide;
use crate::golden;
use crate::place::Place;

const DECISIONS: &str = "/admin/v1/decisions";

fn shown(place: &Place, decision: &Decision) -> Value {
    place.get(&format!("{DECISIONS}/{}", decision.id)).expect(200)
}

/// A GET of this path, with this credential.
fn get(place: &Place, credential: Credential<'_>, path: &str) -> Decision {
    let request = CallerRequest {
        credential,
        address: Some([203, 0, 113, 9].into()),
        method: "GET",
        path,
        cost: None,
        idempotency_key: None,
        purpose: Purpose::Charge,
        hold: Hold::IfNeeded,
        front: Front::Gateway,
    };
    place.engine.decide(&request, place.engine.now())
}

#[test]
fn a_refusal_is_shown_with_everything_that_people_ask_about() {
    let place = Place::new();
    place.account("acme", "free");
    let (id, key) = place.key("acme");
    for _ in 0..4 {
        assert!(get(&place, Credential::Key(&key), "/api/search/a").is_admitted());
    }
    let refused = get(&place, Credential::Key(&key), "/api/search/shoes");
    let reply = place.get(&format!("{DECISIONS}/{}", refused.id));
    let body = reply.expect(200);
    golden::check_json("explanation.json", &reply.text.replace(&id, "<key>"));
    assert_eq!(body["key"], id.as_str());
    assert_eq!(
        body["sentence"],
        "acme spent its rate of 10 a second; the next request of cost 5 is admitted in 500 ms."
    );
    assert_eq!((&body["retry_at"], &body["cost_admitted"]), (&json!("2026-10-05T12:00:00.500Z"), &json!(0)));
    let conduct = &body["limits"][2];
    assert_eq!((&conduct["name"], &conduct["axis"]), (&json!("reputation"), &json!("conduct")));
    assert_eq!((&conduct["before"]["used"], &conduct["after"]["used"]), (&json!(0), &json!(5)));
}

#[test]
fn every_sentence_says_who_and_why() {
    let place = Place::new();
    place.account("acme", "pro");
    place.account("small", "free");
    let ((id, key), (_, small)) = (place.key("acme"), place.key("small"));
    let headers = HeaderMap::new();
    let sentence = |decision: &Decision| shown(&place, decision)["sentence"].as_str().unwrap().to_owned();
    assert_eq!(
        sentence(&get(&place, Credential::Key("junk"), "/")),
        "The key is not valid: it is unknown, expired or revoked."
    );
    assert_eq!(sentence(&get(&place, Credential::Ambiguous, "/")), "The request has two different keys.");
    for _ in 0..20 {
        get(&place, Credential::Nothing { headers: &headers }, "/");
    }
    let first = get(&place, Credential::Nothing { headers: &headers }, "/");
    let said = sentence(&first);
    assert!(said.starts_with("cl_") && said.contains("spent its rate of 10 a second"), "{said}");
    for _ in 0..9 {
        get(&place, Credential::Nothing { headers: &headers }, "/");
    }
    let blocked = sentence(&get(&place, Credential::Nothing { headers: &headers }, "/"));
    assert!(blocked.contains("is blocked because of too many refusals"), "{blocked}");
    for _ in 0..10 {
        get(&place, Credential::Key(&key), "/api/search/x");
    }
    assert_eq!(
        sentence(&get(&place, Credential::Key(&key), "/api/search/x")),
        "acme spent its searches of 50 an hour; the next request of cost 5 is admitted in 60 minutes."
    );
    let costly = CallerRequest {
        credential: Credential::Key(&small),
        address: None,
        method: "GET",
        path: "/",
        cost: sluicegate_core::rule::Amount::new(1_000),
        idempotency_key: None,
        purpose: Purpose::Charge,
        hold: Hold::IfNeeded,
        front: Front::Decision,
    };
    assert_eq!(
        sentence(&place.engine.decide(&costly, place.engine.now())),
        "A cost of 1,000 is more than the rate of small ever admits at once, which is 20."
    );
    place.bare("DELETE", &format!("/admin/v1/keys/{id}")).expect_nothing();
    assert_eq!(
        sentence(&get(&place, Credential::Key(&key), "/")),
        format!("The key {id} is not valid: it is unknown, expired or revoked.")
    );
}

#[test]
fn denials_are_listed_the_newest_first_and_page_by_page() {
    let place = Place::new();
    place.account("acme", "free");
    let (_, key) = place.key("acme");
    let mut refused = Vec::new();
    for second in 0..5 {
        place.later(second);
        refused.push(decide(&place, Credential::Key("junk")).id.to_string());
    }
    for _ in 0..21 {
        decide(&place, Credential::Key(&key));
    }
    let ids = |body: &Value| -> Vec<String> {
        let items = body["items"].as_array().unwrap().iter();
        items.map(|item| item["decision_id"].as_str().unwrap().to_owned()).collect()
    };
    let of_acme = place.get(&format!("{DECISIONS}?account=acme")).expect(200);
    assert_eq!((of_acme["items"].as_array().unwrap().len(), &of_acme["next"]), (1, &Value::Null));
    let first = place.get(&format!("{DECISIONS}?limit=3")).expect(200);
    assert_eq!(ids(&first)[0], of_acme["items"][0]["decision_id"].as_str().unwrap());
    let next = first["next"].as_str().unwrap();
    let rest = place.get(&format!("{DECISIONS}?limit=3&cursor={next}&account=")).expect(200);
    refused.reverse();
    assert_eq!([&ids(&first)[1..], &ids(&rest)].concat(), refused);
    assert_eq!(rest["next"], Value::Null);
}

#[test]
fn what_was_admitted_is_too_old_or_no_decision_is_not_found() {
    let place = Place::new();
    place.account("acme", "free");
    let (_, key) = place.key("acme");
    let admitted = decide(&place, Credential::Key(&key));
    let refused = decide(&place, Credential::Key("junk"));
    for id in [admitted.id.to_string(), "nonsense".to_owned(), "dec_00000000000000000000000000".to_owned()] {
        place.get(&format!("{DECISIONS}/{id}")).problem(404, "not_found", None);
    }
    place.later(3_599);
    shown(&place, &refused);
    place.later(3_600);
    place.get(&format!("{DECISIONS}/{}", refused.id)).problem(404, "not_found", None);
}

#[test]
fn a_refusal_under_pressure_is_explained_by_what_the_address_shares() {
    let place = Place::new();
    let mut headers = HeaderMap::new();
    let refused = (0..200).find_map(|number| {
        headers.insert("user-agent", format!("browser {number}").parse().unwrap());
        let decision = decide(&place, Credential::Nothing { headers: &headers });
        (!decision.is_admitted()).then_some(decision)
    });
    let told = shown(&place, &refused.unwrap());
    assert_eq!(told["squeezed"], true);
    let sentence = told["sentence"].as_str().unwrap();
    assert!(sentence.starts_with("Too many callers share the address of cl_"), "{sentence}");
    assert!(told["client"].as_str().unwrap().starts_with("cl_"), "{told}");
}

#[test]
fn no_explanation_has_an_address_a_secret_or_a_cookie_in_it() {
    let place = Place::new();
    place.account("acme", "free");
    let (id, key) = place.key("acme");
    place.bare("DELETE", &format!("/admin/v1/keys/{id}")).expect_nothing();
    let mut headers = HeaderMap::new();
    headers.insert("cookie", "sg_session=crumbs".parse().unwrap());
    headers.insert("user-agent", "agent-of-nobody".parse().unwrap());
    for _ in 0..40 {
        get(&place, Credential::Nothing { headers: &headers }, "/");
    }
    get(&place, Credential::Key(&key), "/");
    let mut text = place.get(&format!("{DECISIONS}?limit=200")).text;
    text.push_str(&place.get("/admin/v1/top").text);
    let secret = key.rsplit('_').next().unwrap();
    for hidden in ["203.0.113", secret, "crumbs", "agent-of-nobody"] {
        assert!(!text.contains(hidden), "{hidden}: {text}");
    }
}
