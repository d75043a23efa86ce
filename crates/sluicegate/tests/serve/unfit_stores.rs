//! A store that would lose or refuse what is counted in it: `serve` does not start, and says what to do.

use std::time::Duration;

use serde_json::json;
use sluicegate_testkit::http::Asked;
use sluicegate_testkit::redis::{Client, Engine, Impostor, RedisLaunch, RedisServer};
use sluicegate_testkit::server::{Ended, Launch};

use crate::nodes::{launch, node, node_with};

const POLICY: &str = "tiers: {pro: {rate: 1_000, quota: 1_000}}";

/// How a node ends that cannot use this store.
fn refused(store: &str, more: impl FnOnce(Launch) -> Launch) -> Ended {
    let folder = tempfile::tempdir().unwrap();
    let ended = more(launch(POLICY, store, folder.path())).run();
    assert_eq!((ended.status, ended.printed.as_str()), (Some(1), ""), "{ended:?}");
    assert!(ended.said.contains(&format!("error: cannot use the store {store}: ")), "{ended:?}");
    assert!(!folder.path().join("ready.json").exists());
    ended
}

#[track_caller]
fn expect_words(ended: &Ended, words: &[&str]) {
    for word in words {
        assert!(ended.said.contains(word), "{word}: {}", ended.said);
    }
}

#[test]
fn one_that_evicts_is_refused_unless_told_otherwise() {
    let server = RedisLaunch::new(Engine::Redis).line("maxmemory-policy allkeys-lru").start();
    let ended = refused(&server.url(), |launch| launch);
    expect_words(
        &ended,
        &["maxmemory-policy allkeys-lru", "set maxmemory-policy to noeviction", "?allow_eviction=yes"],
    );
    let bed = node(POLICY, &format!("{}?allow_eviction=yes", server.url()));
    let key = bed.customer("acme", "pro");
    assert_eq!(bed.check(&json!({"key": key})).json()["mode"], "normal");
}

#[test]
fn an_address_that_is_none_is_a_configuration_that_is_invalid() {
    for (store, status, wanted) in [
        ("redis://127.0.0.1:1/seven", 78, "write the number of a database after the host"),
        ("redis+cluster://127.0.0.1:1/1", 78, "a cluster has no numbered databases"),
        ("redis://127.0.0.1:1?alow_eviction=yes", 78, "there is `allow_eviction=yes`"),
        ("redis://me:secret@127.0.0.1:1", 2, "SLUICEGATE_REDIS_PASSWORD"),
        ("memcached://127.0.0.1:1", 2, "redis://127.0.0.1:6379"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let ended = launch(POLICY, store, folder.path()).run();
        assert_eq!((ended.status, ended.printed.as_str()), (Some(status), ""), "{ended:?}");
        expect_words(&ended, &[wanted]);
        assert!(!folder.path().join("data").exists(), "nothing is begun that cannot be finished");
    }
}

#[test]
fn a_replica_is_refused() {
    let primary = RedisServer::new(Engine::Redis);
    let follow = format!("replicaof 127.0.0.1 {}", primary.address().port());
    let replica = RedisLaunch::new(Engine::Redis).line(follow).start();
    expect_words(&refused(&replica.url(), |launch| launch), &["is a replica", "address of its primary"]);
}

#[test]
fn one_that_is_too_old_is_refused() {
    let info = "redis_version:6.2.14\r\nrole:master\r\nmaxmemory_policy:noeviction\r\n";
    let ended = refused(&Impostor::start(info).url(), |launch| launch);
    expect_words(&ended, &["version 6.2.14", "too old", "use Redis 7.0 or Valkey 7.2"]);
}

#[test]
fn a_user_that_may_not_run_scripts_is_refused_and_let_in_when_the_advice_is_followed() {
    let server = RedisServer::new(Engine::Redis);
    let set_user = |rules: &str| {
        let words: Vec<&str> =
            ["ACL", "SETUSER", "gate", "on", ">pw"].into_iter().chain(rules.split(' ')).collect();
        assert_eq!(server.ask(&words).text(), "OK", "{rules}");
    };
    let url = server.url().replace("redis://", "redis://gate@");
    let signed_in = |launch: Launch| launch.variable("SLUICEGATE_REDIS_PASSWORD", "pw");
    set_user("+@all -eval -evalsha ~* &*");
    let ended = refused(&url, signed_in);
    expect_words(&ended, &["does not let this user run eval", "ACL SETUSER <user> "]);
    let advice = ended.said.lines().find_map(|line| line.split_once("ACL SETUSER <user> ")).unwrap().1;
    set_user(&format!("reset on >pw {advice}"));
    let nodes = [node_with(POLICY, &url, signed_in), node_with(POLICY, &url, signed_in)];
    let key = nodes[0].customer("acme", "pro");
    assert_eq!(nodes[1].check(&json!({"key": key})).json()["mode"], "normal");
    for path in ["/admin/v1/accounts", "/admin/v1/accounts/acme/keys", "/admin/v1/audit"] {
        assert_eq!(nodes[1].admin(Asked::get(path)).status, 200, "{path}");
    }
}

#[test]
fn one_whose_nodes_have_another_secret_is_refused() {
    let server = RedisServer::new(Engine::Redis);
    let _first = node(POLICY, &server.url());
    let ended =
        refused(&server.url(), |launch| launch.variable("SLUICEGATE_SECRET", "not the one of the others"));
    expect_words(&ended, &["SLUICEGATE_SECRET"]);
}

/// A node of an earlier version, as the store sees it: it listens to changes, and nowhere else.
#[test]
fn a_store_with_nodes_of_an_earlier_version_is_refused_until_they_are_stopped() {
    let server = RedisServer::new(Engine::Redis);
    let connect = || Client::connect(server.address(), Duration::from_secs(5)).unwrap();
    let mut earlier = connect();
    earlier.ask(&["SUBSCRIBE", "sg1:{dir}:changes"]).unwrap();
    let ended = refused(&server.url(), |launch| launch);
    expect_words(
        &ended,
        &["1 of the nodes on this store are of an earlier version", "stop them", "Upgrading"],
    );
    drop(earlier);
    // Nodes of this version are not taken for such.
    let nodes = [node(POLICY, &server.url()), node(POLICY, &server.url())];
    let key = nodes[0].customer("acme", "pro");
    assert_eq!(nodes[1].check(&json!({"key": key})).json()["mode"], "normal");
    // Nor does one of this version use what a later one has written.
    connect().ask(&["HSET", "sg1:{dir}:state", "format", "3"]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let ended = launch(POLICY, &server.url(), folder.path()).run();
    assert_eq!(ended.status, Some(1), "{ended:?}");
    expect_words(&ended, &["holds format 3", "knows format 2", "upgrade"]);
}
