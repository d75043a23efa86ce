//! Where several servers are one Redis: news reach every node, and when another server takes over, all goes on.

use std::time::Duration;

use sluicegate_store::directory::{Directory, Freshness, Verified};
use sluicegate_store::key_text::SecretText;
use sluicegate_testkit::redis::{Cluster, Engine, Sentinels};

use crate::room::{account_of, at, make_account, make_key, open_shared, tier, verified};

/// Waits until this node sees the key in that tier. It hears of it at once, as soon as the machine has time.
async fn obeyed(node: &Directory, secret: &SecretText, name: &str) {
    let seen = async {
        loop {
            let seen = verified(node, secret.expose(), 0).await;
            if matches!(seen, Verified::Key(key) if key.account.standing.load().tier == tier(name)) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), seen).await.expect("it hears of it");
}

/// Waits until all of these nodes can ask and listen.
async fn back(nodes: [&Directory; 2]) {
    let back = async {
        for node in nodes {
            while node.find_account("acme").await.is_err() || node.freshness() != Freshness::AtOnce {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(20), back).await.expect("it serves again");
}

/// Two nodes, and a key that both know.
async fn setting(url: &str) -> (Directory, Directory, SecretText) {
    let (one, two) = (open_shared(url).await, open_shared(url).await);
    make_account(&one, "acme").await;
    let (_, secret) = make_key(&one, "acme").await;
    assert_eq!(account_of(&two, secret.expose(), 0).await.as_deref(), Some("acme"));
    one.set_tier("acme", tier("pro"), &at(1)).await.unwrap();
    obeyed(&two, &secret, "pro").await;
    (one, two, secret)
}

async fn goes_on((one, two, secret): (Directory, Directory, SecretText)) {
    back([&one, &two]).await;
    two.set_tier("acme", tier("free"), &at(2)).await.unwrap();
    obeyed(&one, &secret, "free").await;
    one.delete_account("acme", &at(3)).await.unwrap();
    assert_eq!(two.counts().await.unwrap().keys, 0);
    assert_eq!(two.list_audit(Default::default()).await.unwrap().items.len(), 5);
}

#[tokio::test]
async fn a_cluster_keeps_the_directory_in_one_slot_and_tells_every_node() {
    let mut cluster = Cluster::start(Engine::Redis);
    let setting = setting(&cluster.url()).await;
    let slot = cluster.slot_of("{dir}");
    // What was not copied yet would be lost: a cluster promises no more.
    let primary = cluster.primary_of(slot);
    cluster.node(primary).wait_until_copied(1, "{dir}:copied");
    let old = cluster.kill_primary_of(slot);
    cluster.wait_for_failover(slot, old);
    goes_on(setting).await;
}

#[tokio::test]
async fn nodes_follow_to_the_server_that_sentinels_name() {
    let mut sentinels = Sentinels::start(Engine::Redis);
    let setting = setting(&sentinels.url()).await;
    let primary = sentinels.primary();
    sentinels.server(primary).wait_until_copied(2, "{dir}:copied");
    let old = sentinels.kill_primary();
    sentinels.wait_for_failover(old);
    goes_on(setting).await;
}
