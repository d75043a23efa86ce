//! An account from its making to its end, as somebody at a terminal lives it.

use serde_json::{Value, json};

use crate::golden;
use crate::server::Server;
use crate::transcript::Transcript;

/// One rate that gives back within a millisecond, and one that takes a day: what is printed does not hang on how fast
/// a test runs.
const POLICY: &str = "\
tiers:
  free: {rate: 1/day, burst: 2}
  pro: {rate: 10_000, burst: 20_000, concurrency: 50}
  team: {rate: 10_000, burst: 20_000, concurrency: 50, quota: 1_000_000}
routes:
  search: {match: \"GET /search\", cost: 2}
";

/// Callers without a key are let in, and watched.
const ANONYMOUS: &str = "\
identity: {anonymous: free}
blocks: {applies_to: clients}
reputation: {applies_to: clients}
";

/// What keys and their ids are shown as.
const KEY: &str = "sg_live_KEYKEYKEYKEY_SECRETSECRETSECRETSECRETSECRETSEC_CRC32";
const KEY_ID: &str = "KEYKEYKEYKEY";
const NEW_KEY: &str = "sg_live_KEYKEYKEYKEY_NEWSECRETNEWSECRETNEWSECRETNEWSEC_CRC32";

#[test]
fn an_account_from_its_making_to_its_end() {
    let server = Server::start(POLICY);
    let mut story = Transcript::new(&server);
    let status = |ended: crate::run::Ended| ended.status;
    let create =
        ["account", "create", "Acme Ltd.", "--tier", "free", "--id", "acme", "--timezone", "Europe/Berlin"];
    assert_eq!(status(story.run(&create)), 0);
    let made =
        story.run(&["key", "create", "acme", "--name", "production", "--scope", "a:b", "--scope", "c"]);
    let key = secret(&made.stdout);
    story.call(&key, KEY);
    let id = key.split('_').nth(2).unwrap().to_owned();
    assert_eq!(status(story.run(&["key", "list", "acme"])), 0);

    assert_eq!(status(story.run(&["check", "--key", &key])), 0);
    let by_variable = |command: &mut std::process::Command| {
        command.env("SLUICEGATE_KEY", &key);
    };
    assert_eq!(status(story.run_with(&["check", "--peek"], by_variable)), 0);
    assert_eq!(status(story.run(&["check", "--key", &key])), 0);
    assert_eq!(status(story.run(&["check", "--key", &key])), 1);
    assert_eq!(status(story.run(&["check", "--key", &key, "--path", "/search", "--cost", "3"])), 1);
    assert_eq!(status(story.run(&["account", "show", "acme"])), 0);
    // What was used stays counted, and the raised limit applies at once.
    assert_eq!(status(story.run(&["account", "set-tier", "acme", "pro", "--preview"])), 0);
    assert_eq!(status(story.run(&["account", "set-tier", "acme", "pro"])), 0);
    assert_eq!(status(story.run(&["check", "--key", &key, "--path", "/search"])), 0);

    let rotated = story.run(&["key", "rotate", &id, "--overlap", "0s"]);
    let new_key = secret(&rotated.stdout);
    story.call(&new_key, NEW_KEY);
    assert_eq!(status(story.run(&["check", "--key", &key])), 1);
    assert_eq!(status(story.run(&["check", "--key", &new_key])), 0);
    assert_eq!(status(story.run(&["key", "revoke", &id, "--yes"])), 0);
    assert_eq!(status(story.run(&["check", "--key", &new_key])), 1);
    assert_eq!(status(story.run(&["key", "show", &id])), 0);
    assert_eq!(status(story.run(&["account", "delete", "acme", "--yes"])), 0);
    assert_eq!(status(story.run(&["account", "list"])), 0);
    assert_eq!(status(story.run(&["ready"])), 0);
    story.call(&id, KEY_ID);
    golden::check("story.txt", &story.text());
    assert_eq!(server.stop().code(), Some(0));
}

/// Some client, which has not called yet.
const CLIENT: &str = "cl_0f1e2d3c4b5a69788796a5b4c3d2e1f0";

#[test]
fn a_client_from_its_block_to_its_pardon() {
    let server = Server::start(&format!("{POLICY}{ANONYMOUS}"));
    let mut story = Transcript::new(&server);
    let status = |ended: crate::run::Ended| ended.status;
    assert_eq!(status(story.run(&["block", "list"])), 0);
    let add = ["block", "add", CLIENT, "--for", "24h", "--reason", "scrapes the catalogue"];
    assert_eq!(status(story.run(&add)), 0);
    assert_eq!(status(story.run(&["block", "list"])), 0);
    assert_eq!(status(story.run(&["client", "show", CLIENT])), 0);
    assert_eq!(status(story.run(&["block", "remove", CLIENT])), 0);
    assert_eq!(status(story.run(&["block", "remove", CLIENT])), 1);
    assert_eq!(status(story.run(&["client", "reset", CLIENT])), 0);
    assert_eq!(status(story.run(&["client", "show", CLIENT])), 0);
    assert_eq!(status(story.run(&["client", "show", "nobody"])), 1);
    assert_eq!(status(story.run(&["block", "add", "4fVZ8pQ2mX0c"])), 1);
    assert_eq!(status(story.run(&["block", "add", CLIENT, "--for", "soon"])), 1);
    golden::check("story-blocks.txt", &story.text());

    let made = story.json(&["block", "add", CLIENT]);
    assert_eq!((&made["origin"], &made["reason"]), (&json!("manual"), &Value::Null));
    assert_eq!(story.json(&["block", "list"])["items"], json!([made]));
    assert_eq!(story.json(&["client", "show", CLIENT])["block"], made);
    for silent in [["block", "remove", CLIENT], ["client", "reset", CLIENT]] {
        let ended = story.run(&[&silent[..], &["--json"]].concat());
        assert_eq!((ended.status, ended.stdout.as_str(), ended.stderr.as_str()), (0, "", ""));
    }
}

/// The key among what was printed.
fn secret(printed: &str) -> String {
    printed.split_whitespace().find(|word| word.starts_with("sg_")).unwrap().to_owned()
}

#[test]
fn json_is_what_the_server_answered() {
    let server = Server::start(POLICY);
    let mut story = Transcript::new(&server);
    let account =
        story.json(&["account", "create", "Acme", "--tier", "team", "--id", "acme", "--billing-day", "15"]);
    assert_eq!(account["billing_day"], 15);
    let end = "2099-01-31T00:00:00Z";
    let made = story.json(&["key", "create", "acme", "--name", "ci", "--env", "test", "--expires-at", end]);
    let key = made["key"].as_str().unwrap();
    let id = made["id"].as_str().unwrap();
    assert_eq!((&made["env"], &made["scopes"]), (&json!("test"), &json!([])));
    story.call(key, "sg_test_KEYKEYKEYKEY_SECRET");
    story.call(id, KEY_ID);

    let decided = story.json(&["check", "--key", key]);
    assert!(decided["permit"].is_string(), "a place in flight was taken");
    let shown = story.json(&["account", "show", "acme"]);
    let in_flight = shown["limits"].as_array().unwrap().iter().find(|limit| limit["name"] == "concurrency");
    assert_eq!(in_flight.unwrap()["used"], 0, "and given back");
    assert_eq!(story.json(&["key", "list", "acme"])["items"], shown["keys"]);
    assert_eq!(story.json(&["key", "show", id]), shown["keys"][0]);
    assert_eq!(story.json(&["account", "set-tier", "acme", "free"])["tier"], "free");
    assert_ne!(story.json(&["key", "rotate", id])["key"], made["key"]);
    story.json(&["account", "create", "Other", "--tier", "free", "--id", "other"]);
    let listed = story.json(&["account", "list", "--limit", "1"]);
    let next = listed["next"].as_str().unwrap();
    assert_eq!(story.json(&["account", "list", "--cursor", next])["items"][0]["id"], "other");
    story.call(next, "CURSOR");

    for (status, refused) in [
        (403, &["check", "--key", "nonsense"][..]),
        (404, &["account", "show", "nobody"]),
        (422, &["account", "create", "Acme", "--tier", "gold"]),
        (400, &["check", "--key", key, "--path", "search"]),
    ] {
        let ended = story.run(&[refused, &["--json"]].concat());
        assert_eq!((ended.status, ended.stderr.as_str()), (1, ""), "{refused:?}");
        let answer: Value = serde_json::from_str(&ended.stdout).unwrap();
        assert_eq!(answer["status"], status, "{refused:?}");
    }
    for silent in [&["key", "revoke", id, "--yes"][..], &["account", "delete", "acme", "--yes"]] {
        let ended = story.run(&[silent, &["--json"]].concat());
        assert_eq!((ended.status, ended.stdout.as_str(), ended.stderr.as_str()), (0, "", ""));
    }
    let shapes = story.text().lines().map(without_numbers_of_time).collect::<Vec<_>>().join("\n");
    golden::check("story-json.txt", &format!("{shapes}\n"));
}

/// How long until something happens, and what is random, differs from run to run.
fn without_numbers_of_time(line: &str) -> String {
    let indent = &line[..line.len() - line.trim_start().len()];
    let Some((name, value)) = line.trim_start().split_once(": ") else { return line.to_owned() };
    let comma = if value.ends_with(',') { "," } else { "" };
    match name {
        "\"reset_ms\"" | "\"retry_after_ms\"" => format!("{indent}{name}: 0{comma}"),
        "\"permit\"" | "\"key\"" if value.starts_with('"') => format!("{indent}{name}: \"...\"{comma}"),
        _ if name.starts_with("\"RateLimit") || name.starts_with("\"X-") => {
            format!("{indent}{name}: \"...\"{comma}")
        }
        _ => line.to_owned(),
    }
}
