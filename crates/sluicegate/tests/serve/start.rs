//! How a server starts: with nothing at all, with everything from variables, and not when it must not.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::{Value, json};
use sluicegate_testkit::http::{Asked, Caller};
use sluicegate_testkit::server::{Launch, Server};

use crate::bed::{Bed, PROGRAM};

const POLICY: &str = "tiers: {pro: {rate: 1_000}}";

/// `serve` with nothing but ports that are free.
pub(crate) fn bare(folder: &Path) -> Launch {
    let ports = ["--gateway", "--decision", "--admin"];
    let bare = Launch::bare(PROGRAM, folder).arg("--ready-file").arg(folder.join("ready.json"));
    ports.iter().fold(bare, |launch, port| launch.arg(port).arg("127.0.0.1:0"))
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

/// The keys that were printed, with the tier of each.
fn printed_keys(server: &Server) -> Vec<(String, String)> {
    let printed = server.printed();
    let lines = printed.lines().filter_map(|line| line.trim().split_once(' '));
    let keys = lines.filter(|(_, key)| key.trim().starts_with("sg_test_"));
    keys.map(|(tier, key)| (tier.to_owned(), key.trim().to_owned())).collect()
}

#[test]
fn in_an_empty_folder_it_starts_with_a_policy_keys_and_an_echo_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let launch = bare(folder.path());
    let mut server = launch.start();
    let keys = wait_for_keys(&server);
    let tiers: Vec<&str> = keys.iter().map(|(tier, _)| tier.as_str()).collect();
    assert_eq!(tiers, ["free", "pro", "enterprise"]);
    for (tier, key) in &keys {
        let answer = Caller::new(server.gateway()).send(&Asked::get("/hello").key(key)).unwrap();
        assert_eq!(
            (answer.status, &answer.json()["headers"]["x-sluicegate-tier"]),
            (200, &tier.as_str().into())
        );
    }
    let printed = server.printed();
    assert!(printed.contains(&format!("curl -i -H 'X-API-Key: {}' http://{}/", keys[0].1, server.gateway())));
    assert!(printed.contains(&format!("http://{}/", server.admin())));

    let data = folder.path().join("sluicegate-data");
    assert_eq!(mode(&data), 0o700);
    assert_eq!((mode(&data.join("admin-token")), mode(&data.join("secret"))), (0o600, 0o600));
    let token = fs::read_to_string(data.join("admin-token")).unwrap();
    let asked = Asked::get("/admin/v1/accounts").header("Authorization", &format!("Bearer {}", token.trim()));
    assert_eq!(Caller::new(server.admin()).send(&asked).unwrap().status, 200);

    // The second start knows the keys and shows none.
    server.terminate();
    assert_eq!(server.wait().code(), Some(0));
    let server = launch.start();
    let answer = Caller::new(server.gateway()).send(&Asked::get("/hello").key(&keys[0].1)).unwrap();
    assert_eq!(answer.status, 200);
    assert_eq!(server.printed(), "");
    assert_eq!(fs::read_to_string(data.join("admin-token")).unwrap(), token);
}

/// The ready file comes first.
pub(crate) fn wait_for_keys(server: &Server) -> Vec<(String, String)> {
    sluicegate_testkit::wait::until("the keys are printed", || {
        server.printed().contains("Dashboard").then(|| printed_keys(server))
    })
}

#[test]
fn the_ready_file_has_the_addresses_and_the_process_and_nothing_is_left_beside_it() {
    let bed = Bed::start(POLICY);
    let ready = bed.server.ready().as_object().unwrap();
    let names: Vec<&str> = ready.keys().map(String::as_str).collect();
    assert_eq!(names, ["gateway", "decision", "admin", "pid"]);
    assert_eq!(ready["pid"], bed.server.pid());
    for (address, path) in [(bed.server.decision(), "/health"), (bed.server.admin(), "/ready")] {
        assert_eq!(Caller::new(address).send(&Asked::get(path)).unwrap().status, 200);
    }
    assert_eq!(bed.gateway(&Asked::get("/")).status, 401);
    let mut files: Vec<_> =
        fs::read_dir(bed.folder.path()).unwrap().map(|file| file.unwrap().file_name()).collect();
    files.sort();
    assert_eq!(files, ["data", "policy.yaml", "ready.json", "stderr.txt", "stdout.txt"]);
}

#[test]
fn everything_can_come_from_variables() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("plans.yaml"), "tiers: {gold: {rate: 7, burst: 7}}").unwrap();
    let token = "a-token-of-one's-own-choice";
    let launch = Launch::bare(PROGRAM, folder.path())
        .variable("SLUICEGATE_CONFIG", at("plans.yaml"))
        .variable("SLUICEGATE_DATA_DIR", at("kept"))
        .variable("SLUICEGATE_READY_FILE", at("ready.json"))
        .variable("SLUICEGATE_GATEWAY", "127.0.0.1:0")
        .variable("SLUICEGATE_DECISION", "127.0.0.1:0")
        .variable("SLUICEGATE_ADMIN", "127.0.0.1:0")
        .variable("SLUICEGATE_STORE", "embedded")
        .variable("SLUICEGATE_UPSTREAM", "http://127.0.0.1:1")
        .variable("SLUICEGATE_LOG_FORMAT", "json")
        .variable("SLUICEGATE_ADMIN_TOKEN", token)
        .variable("SLUICEGATE_SECRET", "a secret of one's own choice");
    let server = launch.start();
    let asked = Asked::get("/admin/v1/tiers").header("Authorization", &format!("Bearer {token}"));
    let tiers = Caller::new(server.admin()).send(&asked).unwrap();
    assert_eq!((tiers.status, tiers.text().contains("\"gold\"")), (200, true), "{}", tiers.text());
    let key = customer(&server, token);
    // There is nobody at that port.
    let answer = Caller::new(server.gateway()).send(&Asked::get("/").key(&key)).unwrap();
    assert_eq!((answer.status, answer.header("x-ratelimit-limit")), (502, Some("7")), "{answer:?}");
    assert!(server.said().lines().all(|line| line.starts_with('{')), "{}", server.said());
    assert!(at("kept/sluicegate.db").exists());
    assert!(!at("kept/admin-token").exists() && !at("kept/secret").exists());
    assert!(!server.said().contains(token) && !server.printed().contains(token));
}

/// The key of an account that is made with this token.
fn customer(server: &Server, token: &str) -> String {
    let mut admin = Caller::new(server.admin());
    let mut post = |path: &str, body: &Value| {
        let asked = Asked::new("POST", path).header("Authorization", &format!("Bearer {token}")).json(body);
        admin.send(&asked).unwrap().json()
    };
    post("/admin/v1/accounts", &json!({"id": "acme", "name": "Acme", "tier": "gold"}));
    let made = post("/admin/v1/accounts/acme/keys", &json!({"name": "first"}));
    made["key"].as_str().unwrap_or_else(|| panic!("{made}")).to_owned()
}

#[test]
fn a_secret_that_can_be_guessed_is_warned_of_and_not_repeated() {
    let (folder, name) = (tempfile::tempdir().unwrap(), "SLUICEGATE_SECRET");
    let server = bare(folder.path()).variable(name, "hunter2").start();
    let said = server.said();
    let warned = said.lines().any(|line| line.contains("WARN") && line.contains(name));
    assert!(warned && !said.contains("hunter2"), "{said}");
}

#[test]
fn a_port_that_is_taken_is_named_with_its_flag() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    for flag in ["--gateway", "--decision", "--admin"] {
        let folder = tempfile::tempdir().unwrap();
        let launch = ["--gateway", "--decision", "--admin"]
            .iter()
            .fold(Launch::bare(PROGRAM, folder.path()), |launch, port| {
                launch.arg(port).arg(if *port == flag { &address } else { "127.0.0.1:0" })
            });
        let ended = launch.run();
        assert_eq!(ended.status, Some(1), "{ended:?}");
        assert!(ended.said.contains(&address) && ended.said.contains(flag), "{ended:?}");
        assert!(!folder.path().join("sluicegate-data").exists(), "nothing is begun that cannot be finished");
    }
}

#[test]
fn a_data_directory_has_one_server_at_a_time() {
    let bed = Bed::start(POLICY);
    let elsewhere = tempfile::tempdir().unwrap();
    let second = bare(elsewhere.path()).arg("--data-dir").arg(bed.data_dir());
    let ended = second.run();
    assert_eq!(ended.status, Some(1), "{ended:?}");
    assert!(ended.said.contains(&format!("pid {}", bed.server.pid())), "{ended:?}");
    assert!(ended.said.contains("--data-dir"), "{ended:?}");
    assert_eq!(bed.gateway(&Asked::get("/")).status, 401);
}

#[test]
fn a_policy_that_is_wrong_or_missing_starts_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let ended = bare(folder.path()).policy("tiers:\n  pro: {rte: 7}\n  free: {rate: -1}\n").run();
    assert_eq!((ended.status, ended.printed.as_str()), (Some(78), ""), "{ended:?}");
    for wanted in [
        "policy.yaml:2:9: error: unknown key `rte`",
        "policy.yaml:3:16: error: ",
        "^^^",
        "did you mean `rate`?",
    ] {
        assert!(ended.said.contains(wanted), "{wanted}: {}", ended.said);
    }
    let ended = bare(folder.path()).arg("--config").arg("no-such-file.yaml").run();
    assert_eq!(ended.status, Some(1), "{ended:?}");
    assert!(ended.said.contains("no-such-file.yaml"), "{ended:?}");
    let ended = bare(folder.path()).arg("--upstream").arg("ftp://elsewhere").run();
    assert_eq!(ended.status, Some(2), "{ended:?}");
    assert!(!folder.path().join("sluicegate-data").exists(), "nothing is begun that cannot be finished");
}

#[test]
fn defences_that_are_in_force_are_not_said_to_be_without_effect() {
    let bed = Bed::start(
        "identity: {anonymous: free}\ntiers: {free: {rate: 1}}\n\
         edge: {rate: 50, burst: 100}\nreputation: {penalty: 5}\nblocks: {after: 10, within: 1m}\n\
         pressure: {fingerprints: 20, window: 10m, squeeze_to: 50%}\n",
    );
    assert!(!bed.server.said().contains("does not act on it"), "{}", bed.server.said());
}
