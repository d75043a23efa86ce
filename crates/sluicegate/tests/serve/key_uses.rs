//! Keys with limits of their own and the time of their last use, over a restart and over nodes.

use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use sluicegate_testkit::http::Asked;
use sluicegate_testkit::redis::{Engine, RedisLaunch};
use sluicegate_testkit::server::ADMIN_TOKEN;
use sluicegate_testkit::wait;

use crate::bed::{Bed, PROGRAM};
use crate::nodes::node;

const POLICY: &str = "tiers: {pro: {rate: 100_000, burst: 100_000, quota: 1_000}}";

fn patch(bed: &Bed, id: &str, body: &Value) -> Value {
    let answer = bed.admin(Asked::new("PATCH", &format!("/admin/v1/keys/{id}")).json(body));
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()
}

fn denied_by(bed: &Bed, key: &str) -> Value {
    let answer = bed.check(&json!({"key": key})).json();
    assert_eq!(answer["allowed"], false, "{answer}");
    answer["error"].clone()
}

#[test]
fn a_key_keeps_its_limits_and_its_last_use_over_a_restart() {
    let mut bed = Bed::start(POLICY);
    bed.account("acme", "pro");
    let key = bed.key_with("acme", &json!({"limits": {"quota": 2}}));
    assert_eq!(bed.get(&format!("/admin/v1/keys/{}", key.id))["last_used_at"], Value::Null);
    for _ in 0..2 {
        assert_eq!(bed.check(&json!({"key": key.key})).json()["allowed"], true);
    }
    assert_eq!(denied_by(&bed, &key.key), "quota_exceeded");
    bed.server.terminate();
    assert!(bed.server.wait().success());
    bed.restart();
    assert_eq!(denied_by(&bed, &key.key), "quota_exceeded");
    assert_eq!(bed.used("acme", "key.quota"), 2);
    let shown = bed.get(&format!("/admin/v1/keys/{}", key.id));
    assert!(shown["last_used_at"].as_str().unwrap().ends_with(":00.000Z"), "{shown}");
    assert_eq!(shown["limits"], json!({"quota": 2}));
    let changed = patch(&bed, &key.id, &json!({"limits": {"quota": 3}, "name": "wider"}));
    assert_eq!((&changed["name"], &changed["limits"]), (&json!("wider"), &json!({"quota": 3})));
    assert_eq!(bed.check(&json!({"key": key.key})).json()["allowed"], true);
    let audit = bed.get("/admin/v1/audit?limit=1");
    assert_eq!(audit["items"][0]["action"], "key.update", "{audit}");
}

#[test]
fn nodes_share_the_limits_and_the_last_use_of_a_key_and_learn_of_changes() {
    let redis = RedisLaunch::new(Engine::Redis).start();
    let (one, two) = (node(POLICY, &redis.url()), node(POLICY, &redis.url()));
    one.account("acme", "pro");
    let key = one.key_with("acme", &json!({"limits": {"quota": 4}}));
    for bed in [&one, &two, &one, &two] {
        assert_eq!(bed.check(&json!({"key": key.key})).json()["allowed"], true);
    }
    assert_eq!(
        (denied_by(&one, &key.key), denied_by(&two, &key.key)),
        (json!("quota_exceeded"), json!("quota_exceeded"))
    );
    wait::within(Duration::from_secs(30), "the last use of a key at another node", || {
        one.get(&format!("/admin/v1/keys/{}", key.id))["last_used_at"].as_str().map(drop)
    });
    patch(&one, &key.id, &json!({"allowed_ips": ["192.0.2.0/24"], "limits": null}));
    wait::within(Duration::from_secs(2), "the change at another node", || {
        let answer = two.check(&json!({"key": key.key, "client": {"ip": "198.51.100.1"}})).json();
        (answer["error"] == "address_not_allowed").then_some(())
    });
    assert_eq!(two.check(&json!({"key": key.key, "client": {"ip": "192.0.2.1"}})).json()["allowed"], true);
}

/// What the program prints that is given this on its standard input: what it says, and what it complains about.
fn printed(bed: &Bed, arguments: &[&str], input: &str) -> String {
    let mut child = Command::new(PROGRAM)
        .args(arguments)
        .args(["--admin-url", &format!("http://{}", bed.server.admin())])
        .env("SLUICEGATE_ADMIN_TOKEN", ADMIN_TOKEN)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let ended = child.wait_with_output().unwrap();
    String::from_utf8([ended.stdout, ended.stderr].concat()).unwrap()
}

#[test]
fn the_command_line_takes_whole_keys_and_never_prints_them() {
    let bed = Bed::start(POLICY);
    bed.account("acme", "pro");
    let (first, second) = (bed.key_with("acme", &json!({})), bed.key_with("acme", &json!({})));
    let shown = printed(&bed, &["key", "show", "-"], &first.key);
    assert!(shown.contains(&first.id) && shown.contains("last used"), "{shown}");
    let mistyped = format!("{}x", first.key);
    let refused = printed(&bed, &["key", "show", &mistyped], "");
    assert!(refused.contains("is no whole key"), "{refused}");
    let list = format!("# found on a web page\n{}\n\n{}\nsg_live_nonsense\n", first.key, second.id);
    let revoked = printed(&bed, &["key", "revoke", "--file", "-", "--yes"], &list);
    assert!(revoked.contains(&format!("{} is revoked.", first.id)), "{revoked}");
    assert!(revoked.contains(&format!("{} is revoked.", second.id)), "{revoked}");
    assert!(revoked.contains("line 5 is no key of this server."), "{revoked}");
    let again = printed(&bed, &["key", "revoke", "--file", "-", "--yes"], &list);
    assert!(again.contains(&format!("{} was revoked before.", first.id)), "{again}");
    for text in [shown, refused, revoked, again] {
        assert!(!text.contains(&first.key), "a whole key was printed");
    }
}
