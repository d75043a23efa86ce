//! What callers are known by reaches no disk, no log, no metric and no store.

use std::path::Path;

use serde_json::json;
use sluicegate_testkit::http::{Asked, Caller};
use sluicegate_testkit::redis::{Engine, RedisLaunch};
use sluicegate_testkit::wait;

use crate::bed::Bed;

const POLICY: &str = "
server: {trusted_proxies: [127.0.0.1/32]}
identity: {anonymous: free}
edge: {rate: 1_000, burst: 20}
reputation: {penalty: 5}
blocks: {after: 5, within: 1m, for: 1m}
pressure: {fingerprints: 5}
degraded: {quota: local}
tiers:
  free: {limits: {daily: {algorithm: sliding_window, limit: 3/day}}}
  pro: {rate: 100, quota: 1_000}
";

/// Addresses, keys and cookies that are nowhere else on this machine.
struct Secrets {
    words: Vec<Vec<u8>>,
}

impl Secrets {
    fn new() -> Self {
        Self { words: Vec::new() }
    }

    /// An address, in text and in bytes.
    fn address(&mut self, text: &str) {
        self.words.push(text.as_bytes().to_vec());
    }

    fn word(&mut self, text: &str) {
        self.words.push(text.as_bytes().to_vec());
    }

    /// Fails if one of them is in there.
    fn must_not_be_in(&self, what: &str, bytes: &[u8]) {
        for word in &self.words {
            let found = bytes.windows(word.len()).any(|part| part == word);
            assert!(!found, "{} is in {what}", String::from_utf8_lossy(word));
        }
    }

    fn must_not_be_under(&self, folder: &Path) -> usize {
        let mut files = 0;
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                files += self.must_not_be_under(&path);
            } else if path.is_file() {
                self.must_not_be_in(&path.display().to_string(), &std::fs::read(&path).unwrap());
                files += 1;
            }
        }
        files
    }
}

/// Calls in every way there is, also in those that fail.
fn call(bed: &Bed) -> Secrets {
    let mut secrets = Secrets::new();
    let key = bed.customer("acme", "pro");
    // The beginning of a key names it and is no secret; what proves it is.
    secrets.word(key.rsplit('_').next().unwrap());
    let cookie = "v1.b64cookievaluethatwasneversigned.1999999999.abcdefgh";
    secrets.word(cookie);
    let mut caller = Caller::new(bed.server.gateway());
    for address in ["203.0.113.177", "2001:db8:aaaa:bbbb:cccc:dddd:eeee:1", "198.51.100.233"] {
        secrets.address(address);
        // More than it takes to put the address under pressure.
        for number in 0..30 {
            let asked = Asked::get("/private?q=1")
                .header("X-Forwarded-For", address)
                .header("User-Agent", &format!("browser-{number}-of-somebody"))
                .header("Cookie", &format!("sg_session={cookie}"));
            caller.send(&asked).unwrap();
            let same = Asked::get("/").header("X-Forwarded-For", address).header("User-Agent", "script");
            caller.send(&same).unwrap();
        }
        let known = Asked::get("/").header("X-Forwarded-For", address).key(&key);
        assert!(matches!(caller.send(&known).unwrap().status, 200 | 429));
        let junk = "sg_live_junkjunk_thisisasecretthatsomebodymistyped";
        caller.send(&Asked::get("/").header("X-Forwarded-For", address).key(junk)).unwrap();
        let client = json!({"ip": address, "cookie": cookie, "headers": {"user-agent": "x"}});
        bed.check(&json!({"client": client, "path": "/"}));
        bed.check(&json!({"client": {"ip": format!("{address} junk")}, "path": "/"}));
    }
    secrets.word("thisisasecretthatsomebodymistyped");
    secrets.word("browser-1-of-somebody");
    secrets
}

/// Everything that Sluicegate says or keeps by itself.
fn look(bed: &mut Bed, secrets: &Secrets) {
    let metrics = bed.admin(Asked::get("/metrics"));
    assert!(metrics.text().contains("sluicegate_"), "{}", metrics.text());
    secrets.must_not_be_in("the metrics", &metrics.body);
    secrets.must_not_be_in(
        "the health",
        &Caller::new(bed.server.admin()).send(&Asked::get("/health")).unwrap().body,
    );
    for path in ["/admin/v1/audit", "/admin/v1/accounts", "/admin/v1/accounts/acme/keys"] {
        secrets.must_not_be_in(path, &bed.admin(Asked::get(path)).body);
    }
    bed.server.terminate();
    assert!(bed.server.wait().success());
    secrets.must_not_be_in("what it printed", bed.server.printed().as_bytes());
    secrets.must_not_be_in("its log", bed.server.said().as_bytes());
    // The database, its journal, the spool, and whatever else there is.
    assert!(secrets.must_not_be_under(&bed.data_dir()) >= 3);
}

#[test]
fn no_address_key_or_cookie_is_kept_by_a_node_alone() {
    let mut bed = Bed::start_with(POLICY, |launch| launch.variable("RUST_LOG", "trace"));
    let secrets = call(&bed);
    look(&mut bed, &secrets);
}

#[test]
fn no_address_key_or_cookie_is_kept_by_nodes_that_share_a_store() {
    let mut redis = RedisLaunch::new(Engine::Redis).append_only().start();
    let mut bed = Bed::start_with(POLICY, |launch| {
        launch
            .arg("--store")
            .arg(redis.url())
            .variable("RUST_LOG", "trace")
            .variable("SLUICEGATE_SECRET", "a secret that all nodes of this test have")
    });
    let secrets = call(&bed);
    redis.ask(&["SAVE"]);
    // While the store is away, too.
    redis.pause();
    wait::until("it is noticed", || {
        (bed.health()["store"]["mode"] == "degraded").then_some(()).or_else(|| {
            bed.check(&json!({"client": {"ip": "203.0.113.177"}, "path": "/"}));
            None
        })
    });
    call_again(&bed);
    redis.resume();
    look(&mut bed, &secrets);
    assert!(secrets.must_not_be_under(redis.folder()) >= 2);
    redis.kill();
}

fn call_again(bed: &Bed) {
    for _ in 0..5 {
        bed.gateway(&Asked::get("/").header("X-Forwarded-For", "203.0.113.177"));
    }
}
