//! What `serve` needs to know of the store before and after it is opened.

use sluicegate_core::policy::StoreSettings;
use sluicegate_engine::Recovered;
use sluicegate_node::store::{RedisOptions, RedisPassword};
use sluicegate_store::redis::Address;

use crate::environment;

/// What is wrong with the address of the store, if something is.
pub(super) fn problem(store: &StoreSettings) -> Option<String> {
    let StoreSettings::Redis { url, .. } = store else { return None };
    Address::parse(url).err().map(|bad| format!("the store {url} is no address: {bad}"))
}

pub(super) fn redis_options() -> anyhow::Result<RedisOptions> {
    Ok(RedisOptions {
        username: environment::secret(environment::REDIS_USERNAME)?,
        password: environment::secret(environment::REDIS_PASSWORD)?.map(RedisPassword::new),
        sentinel_password: environment::secret(environment::REDIS_SENTINEL_PASSWORD)?.map(RedisPassword::new),
        ..RedisOptions::default()
    })
}

pub(super) fn report(recovered: Recovered) {
    if recovered.torn > 0 {
        tracing::info!(
            torn = recovered.torn,
            "records that were cut off were left out: they were never answered"
        );
    }
    if recovered.unreadable > 0 {
        tracing::error!(homes = recovered.unreadable, "meters could not be read and start anew");
    }
    tracing::info!(homes = recovered.homes, records = recovered.records, "recovered");
}
