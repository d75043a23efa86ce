//! A real Express application behind the gateway: no spelling that it takes for `/admin` gets around the route's scope
//! or limit.

use serde_json::json;
use sluicegate_testkit::express::Express;
use sluicegate_testkit::http::{Answer, Asked, Caller};

use crate::bed::Bed;

/// Ways to write `/admin`, `/admin/users`, `/admin/reports` and `/admin/secret.txt`.
const SPELLINGS: [&str; 50] = [
    "/admin",
    "/Admin",
    "/ADMIN",
    "/aDmIn",
    "/admin/",
    "/ADMIN/",
    "/admin//",
    "//admin",
    "///admin",
    "/./admin",
    "/x/../admin",
    "/%61dmin",
    "/%41DMIN",
    "/admi%6e",
    "/admi%6E",
    "/%61%64%6d%69%6e",
    "/%2561dmin",
    "/admin%2f",
    "/admin%2Fusers",
    "/admin;",
    "/admin;x=1",
    "/ADMIN;x=1",
    "/;/admin",
    "/;x/admin",
    "/%3b/admin",
    "/admin/;x",
    "/admin?x=1",
    "/Admin?x=/y",
    "/admin#x",
    "/admin%20",
    "/admin%00",
    "/admin%09",
    "/admin.",
    "/admin%2e",
    "/\\admin",
    "/admin\\",
    "/admin%5c",
    "/%2e/admin",
    "/%2e%2e/admin",
    "/admin/users",
    "/Admin/Users",
    "/admin/USERS/",
    "/admin/%75sers",
    "/admin/reports",
    "/ADMIN/Reports",
    "/admin/Reports;x",
    "/admin/secret.txt",
    "/%61dmin/secret.txt",
    "/admin/secret%2etxt",
    "/admin/%73ecret.txt",
];

/// Methods that reach the same code.
const METHODS: [&str; 4] = ["GET", "POST", "DELETE", "PROPFIND"];

/// Headers by which an application might be told of another path or method.
const OVERRIDES: [(&str, &str); 4] = [
    ("X-Original-URL", "/admin"),
    ("X-Rewrite-URL", "/admin"),
    ("X-HTTP-Method-Override", "DELETE"),
    ("X-Forwarded-Prefix", "/admin"),
];

fn is_admin(answer: &Answer) -> bool {
    answer.status == 200 && answer.text().starts_with("ADMIN")
}

#[test]
fn attack_41_no_spelling_that_express_routes_to_admin_avoids_its_scope_or_limit() {
    let express =
        Express::start(&std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/serve/express/app.js"));
    let bed = Bed::start(&format!(
        "
server: {{upstream: \"http://{}\"}}
routes:
  admin: {{match: /admin/**, scope: admin}}
tiers:
  pro: {{rate: 100_000, burst: 100_000, limits: {{admin: {{algorithm: fixed_window, limit: 3/day, routes: [admin]}}}}}}
",
        express.address()
    ));
    bed.account("acme", "pro");
    let plain = bed.key_with("acme", &json!({"scopes": ["read"]})).key;
    let admin = bed.key_with("acme", &json!({"scopes": ["admin"]})).key;
    let mut direct = Caller::new(express.address());
    let mut asked = |asked: &Asked| direct.send(asked).is_ok_and(|answer| is_admin(&answer));
    let reached = SPELLINGS.iter().filter(|path| asked(&Asked::get(path))).count();
    assert!(reached >= 20, "Express itself takes only {reached} spellings for the page");
    // Without the scope.
    let sent: Vec<Asked> = SPELLINGS
        .iter()
        .flat_map(|path| METHODS.map(|method| Asked::new(method, path).key(&plain)))
        .chain(OVERRIDES.map(|(name, value)| Asked::get("/").key(&plain).header(name, value)))
        .collect();
    for asked in &sent {
        // A request that no HTTP server takes is answered by closing the connection.
        let answer = Caller::new(bed.server.gateway()).send(asked);
        assert!(!answer.is_ok_and(|answer| is_admin(&answer)), "{asked:?}");
    }
    // With it, and the limit spent.
    for expected in [200, 200, 200, 429] {
        assert_eq!(bed.gateway(&Asked::get("/admin").key(&admin)).status, expected);
    }
    for path in SPELLINGS {
        let answer = Caller::new(bed.server.gateway()).send(&Asked::get(path).key(&admin));
        assert!(!answer.is_ok_and(|answer| is_admin(&answer)), "{path}");
    }
    // What is no part of it is reached.
    assert_eq!(bed.gateway(&Asked::get("/public").key(&plain)).text(), "nothing");
}
