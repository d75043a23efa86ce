//! An engine whose meters are in a Redis that nodes share.

use std::sync::Arc;
use std::time::Duration;

use sluicegate_core::policy::{Maxima, Proxies, TierName};
use sluicegate_engine::{Clustered, Engine};
use sluicegate_ledger::SpoolSettings;
use sluicegate_store::directory::{AccountId, DisplayName, NewAccount, NewKey, Scopes};
use sluicegate_store::key_text::KeyEnv;
use sluicegate_store::redis::{Address, LinkOptions};
use tempfile::TempDir;

use crate::place::{policy, writer};

/// A node with these plans, at the Redis of this address.
pub(crate) async fn node(plans: &str, address: &str, deadline: Duration, dir: &TempDir) -> Arc<Engine> {
    NodeSize::default().node(plans, address, deadline, dir).await
}

/// One that gives so many subjects of each class meters of their own.
pub(crate) async fn node_with_clients(
    plans: &str,
    address: &str,
    deadline: Duration,
    dir: &TempDir,
    clients_max: u32,
) -> Arc<Engine> {
    NodeSize { clients_max, ..NodeSize::default() }.node(plans, address, deadline, dir).await
}

/// How large a node is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NodeSize {
    /// How many subjects of each class have meters of their own.
    pub(crate) clients_max: u32,
    /// How many records a segment of its spool has.
    pub(crate) segment_records: u32,
}

impl Default for NodeSize {
    fn default() -> Self {
        Self { clients_max: Maxima::CLIENTS_DEFAULT, segment_records: 256 }
    }
}

impl NodeSize {
    /// A node of this size.
    pub(crate) async fn node(
        self,
        plans: &str,
        address: &str,
        deadline: Duration,
        dir: &TempDir,
    ) -> Arc<Engine> {
        let Self { clients_max, segment_records } = self;
        let clustered = Clustered {
            previous_secrets: Vec::new(),
            policy: policy(plans),
            proxies: Proxies::default(),
            session_secrets: Vec::new(),
            address: Address::parse(address).unwrap(),
            link: LinkOptions { deadline, ..LinkOptions::default() },
            spool: SpoolSettings { segment_records, ..SpoolSettings::default() },
            clients_max,
        };
        Arc::new(clustered.open(dir.path(), b"a secret of tests", |_| ()).await.unwrap().0)
    }
}

/// Makes the account `acme` in the tier `metered`, and gives a key of it.
pub(crate) async fn customer(engine: &Engine) -> String {
    let account = NewAccount {
        id: Some(AccountId::new("acme").unwrap()),
        name: DisplayName::new("acme").unwrap(),
        tier: TierName::new("metered").unwrap(),
        billing_day: None,
        timezone: None,
    };
    engine.directory().create_account(account, &writer()).await.unwrap();
    key_of_customer(engine, KeyEnv::Live).await
}

/// Another key of the account `acme`.
pub(crate) async fn key_of_customer(engine: &Engine, env: KeyEnv) -> String {
    let key = NewKey {
        name: DisplayName::new("test").unwrap(),
        env,
        scopes: Scopes::new([]).unwrap(),
        expires_at: None,
    };
    engine.directory().create_key("acme", key, &writer()).await.unwrap().1.expose().to_owned()
}
