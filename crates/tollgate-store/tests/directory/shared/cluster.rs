//! The directory in a cluster: one slot has all of it, and news reach every node.

use std::time::Duration;

use tollgate_store::directory::Verified;
use tollgate_testkit::redis::{Cluster, Engine};

use crate::room::{account_of, at, make_account, make_key, open_shared, tier, verified};

#[tokio::test]
async fn a_cluster_keeps_the_directory_in_one_slot_and_tells_every_node() {
    let cluster = Cluster::start(Engine::Redis);
    let (one, two) = (open_shared(&cluster.url()).await, open_shared(&cluster.url()).await);
    make_account(&one, "acme").await;
    let (key, secret) = make_key(&one, "acme").await;
    assert_eq!(account_of(&two, secret.expose(), 0).await.as_deref(), Some("acme"));
    one.set_tier("acme", tier("pro"), &at(1)).await.unwrap();
    let obeyed = async {
        loop {
            let seen = verified(&two, secret.expose(), 0).await;
            if matches!(seen, Verified::Key(key) if key.account.standing.load().tier == tier("pro")) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(1), obeyed).await.expect("within a second");
    two.revoke_key(key.id, &at(2)).await.unwrap();
    assert_eq!(two.list_keys("acme", Default::default()).await.unwrap().items.len(), 1);
    assert_eq!(two.list_audit(Default::default()).await.unwrap().items.len(), 4);
    assert_eq!(one.counts().await.unwrap().keys, 0);
}
