//! Another tier in the middle of a period: what was used stays counted, and the answer says what is left.

use serde_json::{Value, json};
use sluicegate_core::rule::Amount;
use sluicegate_engine::{CallerRequest, Credential, Front, Hold, Purpose};

use crate::place::Place;

const TIER: &str = "/admin/v1/accounts/acme/tier";
const CUSTOM: &str = "/admin/v1/accounts/acme/custom";

/// The windows in which a quota may be counted.
const WINDOWS: [&str; 6] =
    ["calendar_month", "billing_month", "calendar_day", "sliding_day", "\"sliding:6h\"", "\"sliding:90d\""];

/// Three plans with a quota of this window and a bucket. A window that slides cannot be billed.
fn policy(window: &str) -> String {
    let excess = if window.contains("sliding") { "block" } else { "bill_overage" };
    format!(
        "tiers:
  small: {{rate: 10/minute, quota: 20, quota_window: {window}}}
  large: {{rate: 50/minute, quota: 300, quota_window: {window}}}
  billed: {{quota: 5, quota_window: {window}, on_quota_exceeded: {excess}}}
  pooled: {{quota: 30, quota_window: {window}, quota_pool: key}}
  internal: {{bypass: true}}
"
    )
}

fn spend(place: &Place, key: &str, cost: u64) {
    let request = CallerRequest {
        credential: Credential::Key(key),
        address: None,
        method: "GET",
        path: "/",
        cost: Amount::new(cost),
        idempotency_key: None,
        purpose: Purpose::Charge,
        hold: Hold::IfNeeded,
        front: Front::Decision,
    };
    assert!(place.engine.decide(&request, place.engine.now()).is_admitted());
}

/// What a limit says in an answer: its amount, what is used, what remains.
fn said(answer: &Value, name: &str) -> (u64, u64, u64) {
    let items = answer["limits"]["items"].as_array().unwrap();
    let limit = items.iter().find(|limit| limit["name"] == name).unwrap();
    let number = |member: &str| limit[member].as_u64().unwrap();
    (number("limit"), number("used"), number("remaining"))
}

/// All that a change may change: the account, its limits, the audit log.
fn everything(place: &Place) -> [Value; 3] {
    ["/admin/v1/accounts/acme", "/admin/v1/accounts/acme/limits", "/admin/v1/audit"]
        .map(|path| place.get(path).expect(200))
}

fn preview_of(answer: &Value) -> Value {
    let mut preview = answer.clone();
    preview["preview"] = json!(true);
    preview
}

#[test]
fn an_upgrade_keeps_what_was_used() {
    for window in WINDOWS {
        let place = Place::with(&policy(window));
        place.account("acme", "small");
        let (_, key) = place.key("acme");
        spend(&place, &key, 7);
        place.later(30);
        let preview =
            place.json("PUT", &format!("{TIER}?preview=true"), &json!({"tier": "large"})).expect(200);
        let changed = place.json("PUT", TIER, &json!({"tier": "large"})).expect(200);
        assert_eq!(said(&changed, "quota"), (300, 7, 293), "{window}");
        assert_eq!((&changed["id"], &changed["tier"]), (&json!("acme"), &json!("large")));
        // Half a minute has given 5 of the 7 back, of which the new bucket has as many too few.
        assert_eq!(said(&changed, "rate"), (50, 2, 48), "{window}");
        assert_eq!(preview, preview_of(&changed), "{window}");
        let limits = place.get("/admin/v1/accounts/acme/limits").expect(200);
        assert_eq!(limits, changed["limits"], "{window}");
        spend(&place, &key, 1);
        assert_eq!(
            place.get("/admin/v1/accounts/acme/limits").expect(200)["items"][0]["used"],
            8,
            "{window}"
        );
    }
}

#[test]
fn a_downgrade_below_what_was_used_leaves_nothing_and_never_less() {
    for window in WINDOWS {
        let place = Place::with(&policy(window));
        place.account("acme", "large");
        let (_, key) = place.key("acme");
        spend(&place, &key, 45);
        let preview =
            place.json("PUT", &format!("{TIER}?preview=true"), &json!({"tier": "small"})).expect(200);
        let changed = place.json("PUT", TIER, &json!({"tier": "small"})).expect(200);
        assert_eq!(said(&changed, "quota"), (20, 45, 0), "{window}");
        assert_eq!(said(&changed, "rate").2, 0, "{window}");
        assert_eq!(preview, preview_of(&changed), "{window}");
        let back = place.json("PUT", TIER, &json!({"tier": "large"})).expect(200);
        assert_eq!(said(&back, "quota"), (300, 45, 255), "{window}");
    }
}

#[test]
fn a_preview_changes_nothing_and_is_what_the_change_then_shows() {
    for window in WINDOWS {
        let place = Place::with(&policy(window));
        place.account("acme", "small");
        let (_, key) = place.key("acme");
        spend(&place, &key, 9);
        place.later(3_600);
        for tier in ["large", "billed", "pooled", "internal", "small"] {
            let before = everything(&place);
            let body = json!({"tier": tier});
            let preview = place.json("PUT", &format!("{TIER}?preview=true"), &body).expect(200);
            assert_eq!((&preview["preview"], &preview["tier"]), (&json!(true), &json!(tier)));
            assert_eq!(everything(&place), before, "{window} {tier}");
            let changed = place.json("PUT", &format!("{TIER}?preview=false"), &body).expect(200);
            assert_eq!(preview, preview_of(&changed), "{window} {tier}");
            place.json("PUT", TIER, &json!({"tier": "small"})).expect(200);
            let [account, limits, _] = everything(&place);
            assert_eq!((account, limits), (before[0].clone(), before[1].clone()), "{window} {tier}");
        }
    }
}

#[test]
fn negotiated_limits_can_be_previewed_too() {
    let place = Place::with(&policy("calendar_month"));
    place.account("acme", "small");
    let (_, key) = place.key("acme");
    spend(&place, &key, 9);
    let before = everything(&place);
    let body = json!({"quota": 12, "rate": 5});
    let preview = place.json("PUT", &format!("{CUSTOM}?preview=true"), &body).expect(200);
    assert_eq!(said(&preview, "quota"), (12, 9, 3));
    assert_eq!((&preview["tier"], &preview["custom"]), (&json!("custom:acme"), &body));
    assert_eq!(everything(&place), before);
    let changed = place.json("PUT", CUSTOM, &body).expect(200);
    assert_eq!(preview, preview_of(&changed));
    let wrong = place.json("PUT", &format!("{CUSTOM}?preview=true"), &json!({"quota": 0}));
    wrong.problem(422, "invalid_tier", None);
}

#[test]
fn a_preview_writes_nothing_to_disk_and_enters_no_limits() {
    let (previewed, plain) = (Place::with(&policy("calendar_month")), Place::with(&policy("calendar_month")));
    let saved = |place: &Place| {
        let (_, key) = place.key("acme");
        spend(place, &key, 1);
        place.engine.save(place.engine.now()).unwrap();
        let mut limits = 0;
        place.database.load_checkpoint(|_, _| limits += 1, |_| (), |_| ()).unwrap();
        limits
    };
    previewed.account("acme", "small");
    plain.account("acme", "small");
    let (names, commits) = (previewed.database.names().unwrap(), previewed.database.commits());
    for quota in 100..110 {
        previewed.json("PUT", &format!("{CUSTOM}?preview=true"), &json!({"quota": quota})).expect(200);
    }
    previewed.json("PUT", &format!("{TIER}?preview=true"), &json!({"tier": "pooled"})).expect(200);
    assert_eq!(previewed.database.names().unwrap(), names);
    assert_eq!(previewed.database.commits(), commits);
    assert_eq!(saved(&previewed), saved(&plain));
}

#[test]
fn what_cannot_be_changed_cannot_be_previewed() {
    let place = Place::new();
    place.account("acme", "free");
    let before = everything(&place);
    let put = |query: &str, tier: &str| place.json("PUT", &format!("{TIER}{query}"), &json!({"tier": tier}));
    put("?preview=true", "prp").problem(422, "undefined_tier", Some("tier"));
    put("?preview=yes", "pro").problem(400, "invalid_query", Some("preview"));
    put("?preview=true&preview=false", "pro").problem(400, "invalid_query", Some("preview"));
    // A preview that is misspelt is no change.
    put("?preveiw=true", "pro").problem(400, "invalid_query", Some("preveiw"));
    for path in ["tier", "custom"] {
        let path = format!("/admin/v1/accounts/nobody/{path}?preview=true");
        let body = if path.contains("tier") { json!({"tier": "pro"}) } else { json!({"rate": 5}) };
        place.json("PUT", &path, &body).problem(404, "not_found", None);
    }
    assert_eq!(everything(&place), before);
}
