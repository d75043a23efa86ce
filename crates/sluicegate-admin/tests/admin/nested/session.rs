//! Signing in, writing and listening below a prefix; two routers in one application.

use http_body_util::BodyExt as _;
use serde_json::json;

use super::host::{Browser, PREFIXES, application, mounted_at};
use crate::place::{Place, wait};

#[test]
fn who_signs_in_below_a_prefix_writes_is_heard_of_and_signs_out() {
    for prefix in PREFIXES {
        let place = Place::new();
        let browser = Browser::new(mounted_at(prefix, &place));
        wait(async {
            let at = |path: &str| format!("{prefix}{path}");
            assert_eq!(browser.get(&at("/admin/v1/tiers")).await.status, 401, "{prefix}");
            let csrf = browser.sign_in(prefix).await;
            let mut events = browser.begin("GET", &at("/admin/v1/events"), None, &[]).await.into_body();

            let account = json!({"id": "acme", "name": "Acme", "tier": "pro"});
            let forged = browser.send("POST", &at("/admin/v1/accounts"), Some(account.clone()), &[]).await;
            assert_eq!(forged.json(403)["error"], "cross_site");
            let csrf = [("x-sluicegate-csrf", csrf.as_str())];
            let made = browser.send("POST", &at("/admin/v1/accounts"), Some(account), &csrf).await;
            assert_eq!(made.json(201)["id"], "acme");
            assert_eq!(made.header("location"), at("/admin/v1/accounts/acme"));
            assert_eq!(browser.get(made.header("location")).await.json(200)["tier"], "pro");
            let keys = at("/admin/v1/accounts/acme/keys");
            let key = browser.send("POST", &keys, Some(json!({"name": "production"})), &csrf).await;
            assert_eq!(browser.get(key.header("location")).await.json(200)["name"], "production");

            let mut heard = String::new();
            while !heard.contains("made key") {
                let frame = events.frame().await.unwrap().unwrap();
                heard.push_str(str::from_utf8(frame.data_ref().unwrap()).unwrap());
            }
            assert!(heard.contains("admin (dashboard) made account acme."), "{prefix}: {heard}");

            let out = browser.send("DELETE", &at("/admin/session"), None, &csrf).await;
            assert_eq!(out.status, 204);
            assert!(browser.cookies_for(&at("/admin/v1/tiers")).is_empty(), "{prefix}");
            assert_eq!(browser.get(&at("/admin/v1/tiers")).await.status, 401, "{prefix}");
        });
    }
}

#[test]
fn the_cookie_is_sent_to_the_router_and_to_no_other_path() {
    let place = Place::new();
    let browser = Browser::new(application(&[("/ops", &place)]));
    wait(browser.sign_in("/ops"));
    for own in ["/ops", "/ops/", "/ops/accounts/acme", "/ops/admin/v1/events"] {
        assert_eq!(browser.cookies_for(own).len(), 1, "{own}");
    }
    for other in ["/", "/opsx", "/api/ops", "/o"] {
        assert!(browser.cookies_for(other).is_empty(), "{other}");
    }
}

#[test]
fn two_routers_of_one_application_have_sessions_of_their_own() {
    // The second pair: a browser sends the cookie of `/a` to `/a/b` as well.
    for (first, second) in [("/one", "/two"), ("/a", "/a/b")] {
        let (one, two) = (Place::new(), Place::new());
        let browser = Browser::new(application(&[(first, &one), (second, &two)]));
        wait(async {
            let tiers = |prefix: &str| format!("{prefix}/admin/v1/tiers");
            browser.sign_in(first).await;
            let stolen = browser.cookies_for(first).join("; ");
            assert_eq!(browser.get(&tiers(first)).await.status, 200);
            let other = browser.send("GET", &tiers(second), None, &[("cookie", &stolen)]).await;
            assert_eq!(other.json(401)["error"], "unauthorized");

            let csrf = browser.sign_in(second).await;
            assert_eq!(browser.get(&tiers(first)).await.status, 200, "{first}");
            assert_eq!(browser.get(&tiers(second)).await.status, 200, "{second}");
            let out = [("x-sluicegate-csrf", csrf.as_str())];
            browser.send("DELETE", &format!("{second}/admin/session"), None, &out).await;
            assert_eq!(browser.get(&tiers(first)).await.status, 200, "{first}");
            assert_eq!(browser.get(&tiers(second)).await.status, 401, "{second}");
        });
    }
}

#[test]
fn the_cookie_is_secure_where_the_browser_uses_tls() {
    let place = Place::new();
    let browser = Browser::new(application(&[("/ops", &place)]));
    let body = json!({"token": crate::place::TOKEN});
    let cookie = |more: &[(&str, &str)]| {
        let session = wait(browser.send("POST", "/ops/admin/session", Some(body.clone()), more));
        session.header("set-cookie").split_once("; ").unwrap().1.to_owned()
    };
    let plain = "Path=/ops; Max-Age=43200; HttpOnly; SameSite=Strict";
    assert_eq!(cookie(&[]), plain);
    assert_eq!(cookie(&[("x-forwarded-proto", "https")]), format!("{plain}; Secure"));
}
