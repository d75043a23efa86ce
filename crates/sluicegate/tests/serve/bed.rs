//! A server with a policy, and whoever manages its accounts.

use std::path::Path;

use serde_json::{Value, json};
use sluicegate_testkit::http::{Answer, Asked, Caller};
use sluicegate_testkit::server::{ADMIN_TOKEN, Launch, Server};
use tempfile::TempDir;

/// The program that is tested.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_sluicegate");

/// A server in a folder of its own.
pub(crate) struct Bed {
    pub(crate) server: Server,
    pub(crate) launch: Launch,
    pub(crate) folder: TempDir,
}

impl Bed {
    /// Starts a server with this policy.
    pub(crate) fn start(policy: &str) -> Self {
        Self::start_with(policy, |launch| launch)
    }

    /// Starts a server with this policy, and more.
    pub(crate) fn start_with(policy: &str, more: impl FnOnce(Launch) -> Launch) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let launch = more(Launch::new(PROGRAM, folder.path()).policy(policy));
        Self::launched(launch, folder)
    }

    /// Starts a server that is killed and started again while it is asked.
    pub(crate) fn start_apart(policy: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let launch = Launch::apart(PROGRAM, folder.path()).policy(policy);
        Self::launched(launch, folder)
    }

    pub(crate) fn launched(launch: Launch, folder: TempDir) -> Self {
        let server = launch.start();
        Self { server, launch, folder }
    }

    /// Starts another server where this one was.
    pub(crate) fn restart(&mut self) {
        self.server = self.launch.start();
    }

    pub(crate) fn data_dir(&self) -> std::path::PathBuf {
        self.folder.path().join("data")
    }

    pub(crate) fn policy_path(&self) -> std::path::PathBuf {
        self.launch.policy_path()
    }

    /// Makes an account of this tier.
    pub(crate) fn account(&self, id: &str, tier: &str) {
        let made = self.post("/admin/v1/accounts", &json!({"id": id, "name": id, "tier": tier}));
        assert_eq!(made.status, 201, "{}", made.text());
    }

    /// Makes a key that is good for this.
    pub(crate) fn key_with(&self, account: &str, more: &Value) -> Key {
        let mut body = json!({"name": "of a test"});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let made = self.post(&format!("/admin/v1/accounts/{account}/keys"), &body);
        assert_eq!(made.status, 201, "{}", made.text());
        let made = made.json();
        let text = |name: &str| made[name].as_str().unwrap().to_owned();
        Key { id: text("id"), key: text("key"), created_at: text("created_at") }
    }

    /// Makes an account and a key of it.
    pub(crate) fn customer(&self, id: &str, tier: &str) -> String {
        self.account(id, tier);
        self.key_with(id, &json!({})).key
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Answer {
        self.admin(Asked::new("POST", path).json(body))
    }

    pub(crate) fn get(&self, path: &str) -> Value {
        let answer = self.admin(Asked::get(path));
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        answer.json()
    }

    /// Asks the admin API.
    pub(crate) fn admin(&self, asked: Asked) -> Answer {
        let asked = asked.header("Authorization", &format!("Bearer {ADMIN_TOKEN}"));
        Caller::new(self.server.admin()).send(&asked).unwrap()
    }

    /// What `GET /health` says.
    pub(crate) fn health(&self) -> Value {
        Caller::new(self.server.admin()).send(&Asked::get("/health")).unwrap().json()
    }

    /// How much of a limit an account has used.
    pub(crate) fn used(&self, account: &str, limit: &str) -> u64 {
        let limits = self.get(&format!("/admin/v1/accounts/{account}/limits"));
        let found = limits["items"].as_array().unwrap().iter().find(|item| item["name"] == limit);
        found.unwrap_or_else(|| panic!("{account} has no {limit}: {limits}"))["used"].as_u64().unwrap()
    }

    /// Asks for one decision.
    pub(crate) fn check(&self, body: &Value) -> Answer {
        Caller::new(self.server.decision()).send(&check(body)).unwrap()
    }

    /// Sends one request to the gateway.
    pub(crate) fn gateway(&self, asked: &Asked) -> Answer {
        Caller::new(self.server.gateway()).send(asked).unwrap()
    }
}

/// A key that was made.
#[derive(Clone, Debug)]
pub(crate) struct Key {
    pub(crate) id: String,
    pub(crate) key: String,
    pub(crate) created_at: String,
}

/// The request for a decision.
pub(crate) fn check(body: &Value) -> Asked {
    Asked::new("POST", "/v1/check").json(body)
}

/// Whether the long variants are wanted.
pub(crate) fn slow() -> bool {
    #[expect(clippy::disallowed_methods, reason = "the switch for the long variants of tests")]
    let slow = std::env::var_os("SLUICEGATE_SLOW").is_some();
    slow
}

/// The spool of a data directory.
pub(crate) fn spool(data_dir: &Path) -> std::path::PathBuf {
    data_dir.join("spool")
}
