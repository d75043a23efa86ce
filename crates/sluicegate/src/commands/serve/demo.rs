//! The first start: an account and a key for each tier, to have something to send.

use std::fmt::Write as _;
use std::net::SocketAddr;

use anyhow::Context as _;
use sluicegate_core::policy::{Bypass, Tier, TierName};
use sluicegate_core::time::Timestamp;
use sluicegate_engine::Engine;
use sluicegate_store::directory::{AccountId, DisplayName, NewAccount, NewKey, Scopes, WriteError, Writer};
use sluicegate_store::identity::StoreState;
use sluicegate_store::key_text::{KeyEnv, SecretText};

use super::ready::Addresses;

/// The key of a tier's demo account.
pub(super) struct DemoKey {
    tier: TierName,
    key: SecretText,
}

/// Makes a demo account and key for each tier of the policy, if the directory is empty.
pub(super) async fn create(engine: &Engine) -> anyhow::Result<Vec<DemoKey>> {
    // A store that has lost its accounts is not new.
    if engine.directory().store_state() != StoreState::Known
        || engine.directory().counts().await?.accounts > 0
    {
        return Ok(Vec::new());
    }
    let policy = engine.policy();
    let tiers = policy.policy().tiers.iter().filter(|tier| tier.bypass == Bypass::No);
    let mut keys = Vec::new();
    for tier in tiers {
        keys.extend(account_of(engine, tier, engine.now()).await.context("cannot create the demo accounts")?);
    }
    Ok(keys)
}

/// Nothing if another node of the same store has made the account meanwhile: its key is shown there.
async fn account_of(engine: &Engine, tier: &Tier, now: Timestamp) -> anyhow::Result<Option<DemoKey>> {
    let by = Writer { who: "sluicegate serve".to_owned(), now };
    let id = AccountId::new(&format!("demo-{}", tier.name))?;
    let account = NewAccount {
        id: Some(id.clone()),
        name: DisplayName::new(&format!("Demo of {}", tier.name))?,
        tier: tier.name.clone(),
        billing_day: None,
        timezone: None,
    };
    match engine.directory().create_account(account, &by).await {
        Err(WriteError::Exists(_)) => return Ok(None),
        made => made?,
    };
    let key = NewKey {
        name: DisplayName::new("demo")?,
        env: KeyEnv::Test,
        scopes: Scopes::new(["*"])?,
        expires_at: None,
    };
    let (_, key) = engine.directory().create_key(id.as_str(), key, &by).await?;
    Ok(Some(DemoKey { tier: tier.name.clone(), key }))
}

/// What a new user sees once: the keys, and a line to paste.
pub(super) fn greeting(keys: &[DemoKey], addresses: Addresses, token_place: &str) -> String {
    let mut text = String::from("\nDemo keys, one for each tier. They are shown once:\n\n");
    let width = keys.iter().map(|key| key.tier.as_str().len()).max().unwrap_or(0);
    for DemoKey { tier, key } in keys {
        let _ = writeln!(text, "  {:width$}  {}", tier.as_str(), key.expose());
    }
    if let Some(DemoKey { key, .. }) = keys.first() {
        let gateway = reachable(addresses.gateway);
        let _ = write!(
            text,
            "\nTry it: a 200 with the limits in its headers\n\n  \
             curl -i -H 'X-API-Key: {key}' http://{gateway}/hello\n\n\
             and past the limit, a clear refusal\n\n  \
             for i in $(seq 30); do curl -s -o /dev/null -w '%{{http_code}}\\n' \
             -H 'X-API-Key: {key}' http://{gateway}/hello; done\n",
            key = key.expose(),
        );
    }
    let admin = reachable(addresses.admin);
    let _ = write!(text, "\nDashboard and admin API: http://{admin}/ (token: {token_place})\n\n");
    text
}

/// The address as somebody on this machine reaches it.
fn reachable(address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() {
        let ip = if address.is_ipv4() {
            std::net::Ipv4Addr::LOCALHOST.into()
        } else {
            std::net::Ipv6Addr::LOCALHOST.into()
        };
        return SocketAddr::new(ip, address.port());
    }
    address
}
