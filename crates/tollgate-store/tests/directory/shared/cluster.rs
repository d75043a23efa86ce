//! The directory in a cluster: one slot has all of it, news reach every node, and another server takes over.

use std::time::Duration;

use tollgate_store::directory::{Directory, Verified};
use tollgate_store::key_text::SecretText;
use tollgate_testkit::redis::{Cluster, Engine};

use crate::room::{account_of, at, make_account, make_key, open_shared, tier, verified};

/// Waits for less than a second until this node sees the key in that tier.
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
    tokio::time::timeout(Duration::from_secs(1), seen).await.expect("within a second");
}

#[tokio::test]
async fn a_cluster_keeps_the_directory_in_one_slot_and_tells_every_node() {
    let mut cluster = Cluster::start(Engine::Redis);
    let (one, two) = (open_shared(&cluster.url()).await, open_shared(&cluster.url()).await);
    make_account(&one, "acme").await;
    let (key, secret) = make_key(&one, "acme").await;
    assert_eq!(account_of(&two, secret.expose(), 0).await.as_deref(), Some("acme"));
    one.set_tier("acme", tier("pro"), &at(1)).await.unwrap();
    obeyed(&two, &secret, "pro").await;
    // Another server takes over, and everything goes on.
    let slot = cluster.slot_of("{dir}");
    // What was not copied yet would be lost: a cluster promises no more.
    let primary = cluster.primary_of(slot);
    cluster.node(primary).ask(&["WAIT", "1", "1000"]);
    let old = cluster.kill_primary_of(slot);
    cluster.wait_for_failover(slot, old);
    let back = async {
        while one.find_account("acme").await.is_err() || two.find_account("acme").await.is_err() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), back).await.expect("the cluster serves again");
    one.set_tier("acme", tier("free"), &at(2)).await.unwrap();
    obeyed(&two, &secret, "free").await;
    two.revoke_key(key.id, &at(3)).await.unwrap();
    assert_eq!(two.list_keys("acme", Default::default()).await.unwrap().items.len(), 1);
    assert_eq!(two.list_audit(Default::default()).await.unwrap().items.len(), 5);
    assert_eq!(one.counts().await.unwrap().keys, 0);
}
