//! The list of alerts: what begins, what is over, and what was only noted.

use serde_json::{Value, json};
use sluicegate_core::time::Timestamp;
use sluicegate_store::alerts::{AlertKind, News, RateCaller, RateUse, Tell};

use crate::place::{NOW, Place, wait};

fn fire(place: &Place, subject: &str, id: &str, kind: AlertKind) {
    let news = News { id: id.to_owned(), at: NOW, resolved_at: None, kind };
    wait(place.engine.alerts().fire(subject, &news, Tell::NOBODY)).unwrap();
}

fn share() -> AlertKind {
    AlertKind::RefusalsShare { refused: 6, requests: 100 }
}

#[test]
fn alerts_fire_are_resolved_and_can_be_asked_for_by_their_state() {
    let place = Place::new();
    let caller = RateCaller::Account { id: "acme".to_owned(), key: Some("4fVZ8pQ2mX0c".to_owned()) };
    let rate = RateUse { caller, limit: "rate".to_owned(), used: 599, per_minute: 600 };
    fire(&place, "a", "alr_1", AlertKind::CallerRate(rate));
    fire(&place, "b", "alr_2", share());
    let over = Timestamp::from_secs(NOW.as_secs() + 61);
    wait(place.engine.alerts().resolve("b", over, Tell::NOBODY)).unwrap();
    let all = place.get("/admin/v1/alerts").expect(200);
    assert_eq!(
        all["items"],
        json!([
            {
                "id": "alr_2", "type": "refusals.share", "state": "resolved",
                "title": "No more than 5 % of all requests are refused.",
                "refused": 6, "requests": 100,
                "at": "2026-10-05T12:00:00.000Z", "resolved_at": "2026-10-05T12:01:01.000Z",
            },
            {
                "id": "alr_1", "type": "caller.rate", "state": "firing",
                "title": "Key 4fVZ8pQ2mX0c of acme has used more than 90 % of its rate for 5 minutes: \
                          599 in the last one, of 600.",
                "account": "acme", "limit": "rate", "key": "4fVZ8pQ2mX0c", "used": 599, "limit_amount": 600,
                "at": "2026-10-05T12:00:00.000Z", "resolved_at": null,
            },
        ])
    );
    let ids = |path: &str| -> Vec<Value> {
        let listed = place.get(path).expect(200);
        listed["items"].as_array().unwrap().iter().map(|item| item["id"].clone()).collect()
    };
    assert_eq!(ids("/admin/v1/alerts?state=firing"), ["alr_1"]);
    assert_eq!(ids("/admin/v1/alerts?state=resolved&limit=1"), ["alr_2"]);
    assert_eq!(ids("/admin/v1/alerts?state=noted"), [] as [&str; 0]);
}

#[test]
fn what_fires_is_listed_page_by_page() {
    let place = Place::new();
    for number in 1..=5 {
        fire(&place, &format!("s{number}"), &format!("alr_{number}"), share());
    }
    let page = place.get("/admin/v1/alerts?state=firing&limit=3").expect(200);
    let rest = format!("/admin/v1/alerts?state=firing&cursor={}", page["next"].as_str().unwrap());
    let rest = place.get(&rest).expect(200);
    assert_eq!((&page["items"][0]["id"], &page["items"][2]["id"]), (&json!("alr_5"), &json!("alr_3")));
    assert_eq!((rest["items"].as_array().unwrap().len(), &rest["next"]), (2, &Value::Null));
}

#[test]
fn a_query_that_is_wrong_is_refused_and_says_what() {
    let place = Place::new();
    for (query, field) in [
        ("state=over", "state"),
        ("state=firing&state=noted", "state"),
        ("stat=firing", "stat"),
        ("limit=0", "limit"),
    ] {
        let problem = place.get(&format!("/admin/v1/alerts?{query}")).expect(400);
        assert_eq!(problem["field"], field, "{query}");
    }
}
