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
    node_with_segments(256, plans, address, deadline, dir).await
}

/// The same, with segments of so many records in its spool.
pub(crate) async fn node_with_segments(
    segment_records: u32,
    plans: &str,
    address: &str,
    deadline: Duration,
    dir: &TempDir,
) -> Arc<Engine> {
    let clustered = Clustered {
        policy: policy(plans),
        proxies: Proxies::default(),
        session_secrets: Vec::new(),
        address: Address::parse(address).unwrap(),
        link: LinkOptions { deadline, ..LinkOptions::default() },
        spool: SpoolSettings { segment_records, ..SpoolSettings::default() },
        clients_max: Maxima::CLIENTS_DEFAULT,
    };
    Arc::new(clustered.open(dir.path(), b"a secret of tests", |_| ()).await.unwrap().0)
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
    let key = NewKey {
        name: DisplayName::new("test").unwrap(),
        env: KeyEnv::Live,
        scopes: Scopes::new([]).unwrap(),
        expires_at: None,
    };
    engine.directory().create_key("acme", key, &writer()).await.unwrap().1.expose().to_owned()
}
