//! The last hour at a glance, and who sends most.

use http::HeaderMap;
use serde_json::{Value, json};
use sluicegate_engine::Credential;

use crate::blocks::decide;
use crate::golden;
use crate::place::Place;

const OVERVIEW: &str = "/admin/v1/overview";

#[test]
fn the_series_has_a_step_each_ten_seconds_and_totals_that_agree() {
    let place = Place::new();
    place.account("acme", "pro");
    let (_, key) = place.key("acme");
    for second in [0, 3, 25] {
        place.later(second);
        decide(&place, Credential::Key(&key));
    }
    decide(&place, Credential::Key("junk"));
    place.later(32);
    let reply = place.get(&format!("{OVERVIEW}?minutes=1"));
    let body = reply.expect(200);
    golden::check_json("overview.json", &reply.text);
    let series = body["series"].as_array().unwrap();
    assert_eq!(series.len(), 6);
    let counted: Vec<Value> = series.iter().map(|step| step["admitted"].clone()).collect();
    assert_eq!(counted, [0, 0, 2, 0, 1, 0]);
    assert_eq!(series[4]["refused"], json!({"invalid_key": 1}));
    assert_eq!(body["totals"], json!({"admitted": 3, "refused": {"invalid_key": 1}}));
    assert_eq!(body["fronts"][1]["count"], 4);
    assert_eq!(place.get(OVERVIEW).expect(200)["series"].as_array().unwrap().len(), 360);
}

#[test]
fn what_is_wrong_with_a_query_names_its_parameter() {
    let place = Place::new();
    for wrong in ["0", "61", "-1", "ten", "", "+5"] {
        place.get(&format!("{OVERVIEW}?minutes={wrong}")).problem(400, "invalid_query", Some("minutes"));
    }
    place.get(&format!("{OVERVIEW}?minute=1")).problem(400, "invalid_query", Some("minute"));
    place.get("/admin/v1/top?by=size").problem(400, "invalid_query", Some("by"));
    place.get("/admin/v1/top?limit=101").problem(400, "invalid_query", Some("limit"));
    place.get("/admin/v1/decisions?limit=201").problem(400, "invalid_query", Some("limit"));
    place.get("/admin/v1/decisions?cursor=x").problem(400, "invalid_query", Some("cursor"));
    place.get("/admin/v1/decisions?acount=x").problem(400, "invalid_query", Some("acount"));
}

#[test]
fn those_who_send_most_are_listed_by_what_people_call_them() {
    let place = Place::new();
    place.account("acme", "pro");
    let (_, key) = place.key("acme");
    let headers = HeaderMap::new();
    for _ in 0..25 {
        decide(&place, Credential::Nothing { headers: &headers });
    }
    for _ in 0..3 {
        decide(&place, Credential::Key(&key));
    }
    place.later(5);
    let top = place.get("/admin/v1/top?by=requests").expect(200);
    let item = |at: usize, name: &str| top["items"][at][name].clone();
    assert_eq!((item(0, "kind"), item(0, "count")), (json!("client"), json!(25)));
    assert_eq!(
        (item(1, "kind"), item(1, "id"), item(1, "tier")),
        (json!("account"), json!("acme"), json!("pro"))
    );
    assert_eq!((item(1, "count"), item(1, "error_at_most")), (json!(3), json!(0)));
    assert_eq!(top["since"], "2026-10-05T12:00:00.000Z");
    let client = item(0, "id");
    // The id is the one that the rest of the API knows.
    assert_eq!(place.get(&format!("/admin/v1/clients/{}", client.as_str().unwrap())).status, 200);
    let refused = place.get("/admin/v1/top?by=refusals&limit=1").expect(200);
    assert_eq!((&refused["items"][0]["id"], refused["items"].as_array().unwrap().len()), (&client, 1));
}
