//! A Redis as the store of the same handle.

use sluicegate_testkit::redis::{Engine, RedisLaunch};
use sluicegate_tower::Sluicegate;

use crate::{app, send};

#[tokio::test(flavor = "multi_thread")]
async fn processes_on_one_redis_share_accounts_keys_and_quotas() {
    let redis = RedisLaunch::new(Engine::Redis).password("s3cret").start();
    let policy = format!("{{store: '{}', tiers: {{free: {{rate: 1000, quota: 5}}}}}}", redis.url());
    let open = async || {
        let opening = Sluicegate::in_memory(policy.clone()).secret("the same for all nodes");
        opening.redis_login(None, "s3cret").await.unwrap()
    };
    let (one, other) = (open().await, open().await);
    one.accounts().ensure("acme", "free").await.unwrap();
    let (_, key) = one.accounts().create_key("acme", "main").await.unwrap();
    let apps = [app(one.layer()), app(other.layer())];
    let mut admitted = 0;
    for round in 0..10 {
        admitted += usize::from(send(&apps[round % 2], Some(key.expose())).await.status() == 200);
    }
    assert_eq!(admitted, 5);
    assert_eq!(other.accounts().find("acme").await.unwrap().unwrap().tier, "free");
}

#[tokio::test]
async fn a_redis_that_is_unreachable_is_named() {
    let policy = "{store: 'redis://127.0.0.1:1', tiers: {free: {rate: 1}}}";
    let error = Sluicegate::in_memory(policy).await.unwrap_err().to_string();
    assert!(error.contains("redis://127.0.0.1:1") && error.contains("cannot be reached"), "{error}");
}
