//! Usage: shown, exported, and compared with meters, records, files and bills.

use serde_json::{Value, json};
use sluicegate_core::rule::Amount;
use sluicegate_engine::{CallerRequest, Credential, Front, Hold, Purpose};

use crate::place::Place;

const RECONCILE: &str = "/admin/v1/usage/reconcile";

fn request(key: &str, cost: u64) -> CallerRequest<'_> {
    CallerRequest {
        credential: Credential::Key(key),
        address: None,
        method: "GET",
        path: "/api/search/x",
        cost: Amount::new(cost),
        idempotency_key: None,
        purpose: Purpose::Charge,
        hold: Hold::IfNeeded,
        front: Front::Decision,
    }
}

/// Two accounts: one used 5 at noon and 7 an hour later, the other 3 at noon.
fn place() -> (Place, String) {
    let place = Place::new();
    place.account("acme", "free");
    place.account("other", "free");
    let (key, secret) = place.key("acme");
    let (_, other) = place.key("other");
    for (secret, cost, later) in [(&secret, 5, 0), (&other, 3, 0), (&secret, 7, 3_600)] {
        place.later(later);
        assert!(place.engine.decide(&request(secret, cost), place.engine.now()).is_admitted());
    }
    (place, key)
}

/// The answer without the name of the node, which is random.
fn named(mut answer: Value) -> Value {
    assert!(answer["node"].as_str().is_some_and(|node| node.len() == 16));
    answer["node"] = json!("n1");
    assert!(answer["account"]["uid"].as_str().is_some_and(|uid| uid.len() == 16));
    answer["account"]["uid"] = json!("u1");
    answer
}

#[test]
fn usage_is_shown_by_the_hour_up_to_this_moment() {
    let (place, key) = place();
    let usage = named(place.get("/admin/v1/usage?account=acme").expect(200));
    let point = |start: &str, total: u64| {
        let rest = json!({"overage": 0, "requests": 1, "refunded": 0});
        let mut point = json!({"start": start, "total": total});
        point.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        point
    };
    let expected = json!({
        "account": {"name": "acme", "uid": "u1", "deleted_at": null, "earlier": []},
        "total": 12, "overage": 0, "requests": 2, "refunded": 0, "late": 0, "degraded": 0, "test": 0,
        "series": [point("2026-10-05T12:00:00Z", 5), point("2026-10-05T13:00:00Z", 7)],
        "open_from": null, "torn": 0, "node": "n1",
    });
    assert_eq!(usage, expected);
    let total = |query: &str| place.get(&format!("/admin/v1/usage{query}")).expect(200)["total"].clone();
    assert_eq!(total(""), 15);
    assert_eq!(total(&format!("?key={key}")), 12);
    assert_eq!(total("?route=search&account=other"), 3);
    assert_eq!(total("?from=2026-10-05T13:00:00Z"), 7);
    assert_eq!(total("?to=2026-10-05T13:00:00Z"), 8);
    assert_eq!(total("?from=2026-10-05&to=2026-10-06&step=day"), 15);
    assert_eq!(total("?from=0s&account=acme"), 7);
    assert_eq!(total("?from=30m&account=acme"), 7);
    assert_eq!((total("?from=45m&account=acme"), total("?from=46m&account=acme")), (json!(7), json!(12)));
    assert_eq!(total("?to=2026-10-05T12:15:00Z&step=15m"), 8);
    assert_eq!(total("?from=2026-10-06"), 0);
}

#[test]
fn what_is_wrong_with_a_question_is_named() {
    let (place, _) = place();
    for (query, field) in [
        ("step=week", "step"),
        ("from=yesterday", "from"),
        ("from=2026-10-06&to=2026-10-05", "to"),
        ("acount=acme", "acount"),
        ("account=a&account=b", "account"),
        ("format=csv", "format"),
    ] {
        place.get(&format!("/admin/v1/usage?{query}")).problem(400, "invalid_query", Some(field));
    }
    place.get("/admin/v1/usage?account=nobody").problem(404, "not_found", None);
    place.get("/admin/v1/usage?key=nothing").problem(404, "not_found", None);
    place.get("/admin/v1/usage?route=nowhere").problem(404, "not_found", Some("route"));
    place.get("/admin/v1/usage/export?format=xml").problem(400, "invalid_query", Some("format"));
    place.get("/admin/v1/usage/export?event_name=x").problem(400, "invalid_query", Some("event_name"));
    for (query, field) in [
        ("against=moon", "against"),
        ("against=bill&repair=true", "repair"),
        ("tz=Europe/Atlantis", "tz"),
        ("repair=perhaps", "repair"),
        ("against=sealed", "against"),
    ] {
        let reply = place.bare("POST", &format!("{RECONCILE}?{query}"));
        reply.problem(400, "invalid_query", Some(field));
    }
}

#[test]
fn an_export_has_a_row_for_each_hour_account_and_route() {
    let (place, key) = place();
    let reply = place.get("/admin/v1/usage/export?account=acme");
    assert_eq!((reply.status, reply.header("sluicegate-rows")), (200, Some("2")));
    assert_eq!(reply.header("content-type"), Some("text/csv; charset=utf-8"));
    let lines: Vec<&str> = reply.text.lines().collect();
    assert_eq!(lines.len(), 3);
    assert!(lines[1].starts_with("2026-10-05T12:00:00Z,acme,"), "{}", reply.text);
    assert!(lines[1].contains(&key) && lines[1].contains("search"), "{}", reply.text);
    let reply = place.get("/admin/v1/usage/export?format=jsonl&from=2026-10-05T13:00:00Z");
    let row: Value = serde_json::from_str(reply.text.trim()).unwrap();
    assert_eq!((row["account"].as_str(), &row["total"]), (Some("acme"), &json!(7)));
    // No hour is closed, so there is nothing that could be billed for good.
    assert_eq!(place.get("/admin/v1/usage/export?format=stripe").text, "");
    place.later(7_200 + 400);
    place.books.tend(place.engine.now()).unwrap();
    for (format, events) in [("stripe", 3), ("cloudevents", 3)] {
        let once = place.get(&format!("/admin/v1/usage/export?format={format}")).text;
        assert_eq!(once.lines().count(), events, "{once}");
        // Whoever sends them twice sends the same.
        assert_eq!(place.get(&format!("/admin/v1/usage/export?format={format}")).text, once);
    }
}

#[test]
fn meters_records_and_a_bill_agree_with_the_ledger_or_not() {
    let (place, _) = place();
    let answer = place.bare("POST", RECONCILE).expect(200);
    assert_eq!((&answer["against"], &answer["compared"]), (&json!("meters"), &json!(2)));
    assert_eq!((&answer["differences"], &answer["drift"]["units"]), (&json!([]), &json!(0)));
    let all = place.bare("POST", &format!("{RECONCILE}?all=true&account=acme")).expect(200);
    assert_eq!(all["agreeing"][0]["ledger"], 12);
    assert_eq!(all["agreeing"][0]["meter"], json!([12, 12]));
    let records = place.bare("POST", &format!("{RECONCILE}?against=records")).expect(200);
    assert_eq!(records["differences"], json!([]));

    let bill = "account,total\nacme,12\nother,4\n";
    let answer = place.text("POST", RECONCILE, "text/csv", bill).expect(200);
    let expected = json!([{"account": "other", "hour": null, "ledger": 3, "other": 4}]);
    assert_eq!((&answer["against"], &answer["differences"]), (&json!("bill"), &expected));
    assert_eq!(answer["drift"], json!({"accounts": 1, "units": 1}));
    let broken = place.text("POST", RECONCILE, "text/csv", "account,total\nacme,many\n");
    let problem = broken.expect(422);
    assert_eq!((&problem["problems"][0]["line"], &problem["problems"][0]["column"]), (&json!(2), &json!(2)));
    place.text("POST", RECONCILE, "application/json", "{}").problem(
        415,
        "unsupported_media_type",
        Some("Content-Type"),
    );
}
